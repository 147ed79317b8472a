package deployment

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/gomega"
)

// leaseAndSweep is after how long at most a lost replica's attempt is known to be in doubt, with some patience on top.
const leaseAndSweep = 45 * time.Second

// lostReplica is the story of a replica that is killed while it waits for a provider.
type lostReplica struct {
	*stage
	key string
	job jobView
}

func (l *lostReplica) loses(ctx context.Context) {
	l.key = newKey()
	l.job = read[jobView](l.click(ctx, l.key, held), http.StatusCreated)
	attempt := l.only(ctx, l.job.ID)
	killed := l.at(l.nginx.logged(ctx, 1, with(l.key))[0].asked()[0])
	killed.kill()

	again := replayed(l.click(ctx, l.key, held))
	Expect(again.ID).To(Equal(l.job.ID))
	Expect(again.State).To(Equal("running"), "until its lease is over")
	asked := l.nginx.logged(ctx, 2, with(l.key))[1].asked()
	Expect(asked).To(HaveLen(2), "nothing could be sent to the dead one, so the click went on")
	Expect(asked[0]).To(Equal(killed.address))

	l.leftAlone(ctx, asked[1])
	Expect(l.only(ctx, l.job.ID)).To(Equal(attempt), "nothing was called again")
	l.returns(ctx, killed, l.key)
}

// leftAlone sees that the dead replica is not asked any more: the lost key has one other in its place. Once more where
// the machine was so slow that it has been tried again meanwhile.
func (l *lostReplica) leftAlone(ctx context.Context, substitute string) {
	Eventually(func(ctx context.Context) []string {
		before := len(l.nginx.log(Default, with(l.key)))
		Expect(replayed(l.click(ctx, l.key, held)).ID).To(Equal(l.job.ID))
		return l.nginx.logged(ctx, before+1, with(l.key))[before].asked()
	}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal([]string{substitute}))
}

// settled ends the doubt through nginx, when everything else was done.
func (l *lostReplica) settled(ctx context.Context) {
	Eventually(func(ctx context.Context) string {
		return read[jobView](l.nginx.get(ctx, "/v1/jobs/"+l.job.ID), http.StatusOK).State
	}).WithContext(ctx).WithTimeout(leaseAndSweep).WithPolling(poll).Should(Equal("unknown"))
	attempt := l.only(ctx, l.job.ID)
	Expect(attempt.State).To(Equal("unknown"))
	Expect(attempt.Reason).To(HaveValue(Equal("worker_lost")))
	Expect(replayed(l.click(ctx, l.key, held)).State).To(Equal("unknown"))

	good := read[jobView](l.click(ctx, newKey(), faithful, wait(30)), http.StatusCreated)
	Expect(good.State).To(Equal("succeeded"))
	resolution := `{"outcome": "succeeded", "note": "found in the provider's log", "result": ` + string(good.Result) + `}`
	got := l.nginx.send(ctx, http.MethodPost, attemptPath(l.job.ID, 1)+"/resolve", resolution)
	Expect(read[attemptView](got, http.StatusOK).State).To(Equal("succeeded"))
	done := replayed(l.click(ctx, l.key, held))
	Expect(done.State).To(Equal("succeeded"))
	Expect(done.CompletedBy).To(HaveValue(Equal(1)))
	Expect(done.Result).To(MatchJSON(good.Result))
	l.only(ctx, l.job.ID)
}
