package breakpoints

import (
	"context"
	"net/http"
	"sync/atomic"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// replicas are the scenarios with a second process on the same database.
func (g *stage) replicas(s *scene) {
	It("shares one truth with the first, and takes nothing over", func(ctx context.Context) {
		process := g.run("serve")
		second := client{base: address(process), key: g.Key}

		By("clicking at both")
		s.behaves(ctx, fallback, "hold")
		key, body := newKey(), []byte(s.body(fallback))
		made := s.clickAtBoth(ctx, second, key, body)
		attempt := s.arrives(ctx, made, 1)
		got, err := second.call(ctx, http.MethodPost, "/v1/jobs/"+made+"/attempts", nil, header{"Idempotency-Key", newKey()})
		Expect(err).NotTo(HaveOccurred())
		refused(got, http.StatusConflict, "attempt-in-flight")
		waited := make(chan outcome, 1)
		go func() {
			got, err := second.call(ctx, http.MethodGet, "/v1/jobs/"+made, nil, wait(60))
			waited <- outcome{got, err}
		}()
		s.letGo(ctx, attempt.ID)
		var told outcome
		Eventually(waited).WithContext(ctx).WithTimeout(patience).Should(Receive(&told))
		Expect(told.err).NotTo(HaveOccurred())
		Expect(find[jobView](told.answer).State).To(Equal("succeeded"))

		By("ending at one the doubt of the other")
		s.behaves(ctx, fallback, "faithful")
		doubted, first := s.inDoubt(ctx)
		got, err = second.call(ctx, http.MethodPost, attemptPath(doubted.ID, 1)+"/cancel", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(find[attemptView](got).State).To(Equal("cancelled"))
		s.wonByFallback(ctx, doubted.ID)
		s.neverWins(ctx, doubted.ID, first, "cancelled")

		Eventually(process.Signal(syscall.SIGTERM)).WithTimeout(patience).WithPolling(poll).Should(gexec.Exit(0))
	})
}

// clickAtBoth spreads simultaneous clicks of one intent over two replicas, and returns its one job.
func (s *scene) clickAtBoth(ctx context.Context, second client, key string, body []byte) string {
	GinkgoHelper()
	var clicks atomic.Int64
	answers := simultaneously(40, func() (answer, error) {
		at := s.api()
		if clicks.Add(1)%2 == 0 {
			at = second
		}
		return at.call(ctx, http.MethodPost, "/v1/jobs", body, header{"Idempotency-Key", key})
	})
	ids, statuses := map[string]int{}, map[int]int{}
	for _, got := range answers {
		Expect(got.err).NotTo(HaveOccurred())
		statuses[got.Status]++
		ids[read[jobView](got.answer).ID]++
	}
	Expect(statuses).To(Equal(map[int]int{http.StatusCreated: 1, http.StatusOK: 39}))
	Expect(ids).To(HaveLen(1))
	for id := range ids {
		s.keep(id)
		return id
	}
	return ""
}
