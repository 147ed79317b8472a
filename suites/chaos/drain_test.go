package chaos

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// settling is how long everything may take to come to rest when nothing is disturbed any more.
const settling = 90 * time.Second

// recover has everything back: every replica serves, and every provider answers well from now on.
func (w *world) recover(ctx context.Context) {
	GinkgoHelper()
	w.provider.settle()
	for _, r := range w.replicas {
		r.awaken()
		r.ready(ctx)
	}
	Expect(w.book.broken).To(BeEmpty(), "what the script could not do")
}

// unsettled is what of the store has not come to rest.
type unsettled struct {
	underWay int // attempts that are starting or running
	heard    int // attempts whose connection is still open, or whose lease runs
	doubtful int
	open     int // jobs in a state that only passes
}

func (w *world) unsettled(ctx context.Context) (u unsettled, err error) {
	err = w.db.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state IN ('starting', 'running')),
		count(*) FILTER (WHERE heard OR lease_until IS NOT NULL), count(*) FILTER (WHERE state = 'unknown'),
		(SELECT count(*) FROM jobs WHERE state IN ('pending', 'running', 'unknown')) FROM attempts`).
		Scan(&u.underWay, &u.heard, &u.doubtful, &u.open)
	return u, err
}

// drain waits until nothing moves by itself any more, and then ends what doubt is left as an operator
// would, until there is none.
func (w *world) drain(ctx context.Context) {
	GinkgoHelper()
	draw := chance(w.seed, "the last doubts")
	began := time.Now()
	Eventually(func(g Gomega, ctx context.Context) {
		w.provider.release() // what had been held before the providers settled
		u, err := w.unsettled(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		if u.underWay == 0 && u.heard == 0 {
			for _, each := range w.doubts(ctx, g) {
				w.endFor(ctx, g, each.job, each.attempt, pick(draw, endings), draw.Uint64())
			}
		}
		g.Expect(u).To(Equal(unsettled{}))
	}).WithContext(ctx).WithTimeout(settling).WithPolling(poll).Should(Succeed())
	w.book.count("seconds until all was at rest", int(time.Since(began).Seconds()))
}

// doubt is an attempt of which nobody knows what became.
type doubt struct {
	job     string
	attempt attemptView
}

func (w *world) doubts(ctx context.Context, g Gomega) []doubt {
	rows, err := w.db.Query(ctx, "SELECT job_id, number, id, state FROM attempts WHERE state = 'unknown' ORDER BY job_id, number")
	g.Expect(err).NotTo(HaveOccurred())
	found, err := gather(rows, func(d *doubt) []any { return []any{&d.job, &d.attempt.Number, &d.attempt.ID, &d.attempt.State} })
	g.Expect(err).NotTo(HaveOccurred())
	return found
}

// endFor ends a doubt, which nothing stands against now.
func (w *world) endFor(ctx context.Context, g Gomega, job string, attempt attemptView, how ending, n uint64) {
	draw := chance(n, attempt.ID)
	before := w.book.counted("doubts that an operator ended")
	w.end(ctx, draw, job, attempt, how)
	g.Expect(w.book.counted("doubts that an operator ended")).To(Equal(before+1), "%s of attempt %d of job %s", how.verb, attempt.Number, job)
}

// footprint is what a process holds.
type footprint struct {
	goroutines int
	files      int
}

// untouched measures a replica that has had nothing to do.
func (w *world) untouched(ctx context.Context, address string) footprint {
	GinkgoHelper()
	r := w.newReplica(len(w.replicas), address)
	r.name = "the untouched replica"
	r.supervise()
	r.ready(ctx)
	return w.measure(ctx, r)
}

// measure looks at what a replica holds, which ends it.
func (w *world) measure(ctx context.Context, r *replica) footprint {
	GinkgoHelper()
	clients.CloseIdleConnections()
	Eventually(func() error {
		got, err := call(ctx, http.MethodGet, r.address()+"/healthz", "", nil, "Connection", "close")
		if err == nil && got.status != http.StatusOK {
			err = fmt.Errorf("%s", got)
		}
		return err
	}).WithTimeout(patience).WithPolling(poll).Should(Succeed())
	files, err := filesOf(r.pid())
	Expect(err).NotTo(HaveOccurred())
	dump := r.dump()
	return footprint{goroutines: dump, files: files}
}
