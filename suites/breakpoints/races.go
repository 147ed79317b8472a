package breakpoints

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/go-json-experiment/json"
)

func (s *scene) races() {
	It("is won by the first attempt to return, whichever it is: here the second", func(ctx context.Context) {
		s.behaves(ctx, s.Fallback, "hold")
		made, first := s.inDoubt(ctx)
		Expect(s.end(ctx, made.ID, 1, "release", "").Status).To(Equal(http.StatusOK))
		second := s.arrives(ctx, made.ID, 2)
		s.letGo(ctx, second.ID)
		done := s.becomes(ctx, made.ID, "succeeded")
		Expect(done.CompletedBy).To(HaveValue(Equal(2)))
		s.letGo(ctx, first.ID)
		s.lost(ctx, done, 1)
	})

	It("is won by the first attempt to return, whichever it is: here the released one", func(ctx context.Context) {
		s.behaves(ctx, s.Fallback, "hold")
		made, first := s.inDoubt(ctx)
		Expect(s.end(ctx, made.ID, 1, "release", "").Status).To(Equal(http.StatusOK))
		second := s.arrives(ctx, made.ID, 2)
		s.letGo(ctx, first.ID)
		done := s.becomes(ctx, made.ID, "succeeded")
		Expect(done.CompletedBy).To(HaveValue(Equal(1)))
		s.letGo(ctx, second.ID)
		s.lost(ctx, done, 2)
	})

	It("stays cancelled when an answer comes after the job was", func(ctx context.Context) {
		s.behaves(ctx, s.Fallback, "hold")
		made := s.newJob(ctx, s.Fallback)
		attempt := s.arrives(ctx, made.ID, 1)
		cancelled := find[jobView](s.send(ctx, http.MethodPost, "/v1/jobs/"+made.ID+"/cancel", ""))
		Expect(cancelled.State).To(Equal("cancelled"))
		Expect(cancelled.Version).To(BeNumerically(">", made.Version), "the epoch of the result slot moved")
		s.neverWins(ctx, made.ID, attempt, "cancelled")
		refused(s.send(ctx, http.MethodPost, "/v1/jobs/"+made.ID+"/cancel", ""), http.StatusConflict, "job-final")
		refused(s.tryAgain(ctx, made.ID, ""), http.StatusConflict, "job-final")
		Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
	})
}

// lost waits until the other attempt of a finished job has lost: the result is untouched, and the race is
// on record.
func (s *scene) lost(ctx context.Context, done jobView, loser int) {
	GinkgoHelper()
	attempt := s.attemptBecomes(ctx, done.ID, loser, "superseded")
	Expect(attempt.JobVersion).To(BeNumerically("<", done.Version))
	Expect(s.job(ctx, done.ID)).To(Equal(done), "the result is untouched")
	Expect(s.attempts(ctx, done.ID)).To(HaveLen(2))
	races := s.eventsOf(ctx, done.ID, "race")
	Expect(races).To(HaveLen(1))
	Expect(races[0].Attempt).To(HaveValue(Equal(loser)))
	var told struct {
		Winner   int        `json:"winner"`
		Loser    int        `json:"loser"`
		LateByMS *int64     `json:"late_by_ms"`
		Usage    *usageView `json:"usage"`
	}
	Expect(json.Unmarshal(races[0].Detail, &told)).To(Succeed())
	Expect(told.Winner).To(HaveValue(Equal(*done.CompletedBy)))
	Expect(told.Loser).To(Equal(loser))
	Expect(told.LateByMS).To(HaveValue(BeNumerically(">=", 0)))
	Expect(told.Usage).To(HaveValue(HaveField("TotalTokens", BeNumerically(">", 0))), "what the loser cost")
}
