package dispatch_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/job"
)

const stored = ", reconcile: stored_completions, reconcile_horizon: "

func (w *world) candour(text string) {
	w.t.Helper()
	c, err := simulator.ParseCandour(text)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.sim.SetCandour(alpha.Model, c)
}

// asked waits until alpha was asked about its attempts n times.
func (w *world) asked(n int) {
	w.t.Helper()
	_, err := w.sim.WaitForQuestions(w.ctx, n, simulator.Filter{Model: alpha.Model})
	w.Expect(err).NotTo(gomega.HaveOccurred())
}

// The connection broke after the work was done: the provider has the answer, and it is not paid for twice.
func TestAnAnswerThatWasLostIsFetched(t *testing.T) {
	for name, row := range map[string]struct{ reconcile, personality string }{
		"stored completion":                {stored + "1m", "dropping"},
		"stored completion, half a body":   {stored + "1m", "half-body"},
		"background response, interrupted": {", reconcile: responses", "hold"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, settings{Timeout: "200ms", GiveUp: "400ms", Alpha: row.reconcile})
			w.behave(alpha, row.personality)
			made := w.submit()
			w.heard(alpha, 1)
			doubtful := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.State == job.Unknown && !a.Heard })
			w.Expect(doubtful.Due.Step).To(gomega.Equal(job.DueReconcile))
			w.sim.Release(simulator.Filter{Model: alpha.Model})

			won := w.becomes(made.Attempt.Ref, job.Succeeded)
			w.Expect(won.Sends).To(gomega.Equal(1))
			w.Expect(won.ServedModel).To(gomega.Equal(alpha.Model))
			w.Expect(won.Usage).NotTo(gomega.BeNil())
			w.Expect(won.Due).To(gomega.BeZero())
			w.Expect(w.job(made).CompletedBy).To(gomega.Equal(1))
			w.ledgerMatches(made)
		})
	}
}

// What the provider does not know after the horizon was not executed, and the job moves on.
func TestWhatIsAbsentAfterTheHorizonWasNotExecuted(t *testing.T) {
	w := newWorld(t, settings{Alpha: stored + "2s"})
	w.certify(beta)
	w.behave(alpha, "dropping:unexecuted")
	made := w.submit()
	w.asked(1)
	early := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.Asked > 0 || a.State == job.Failed })
	w.Expect(early.State).To(gomega.Equal(job.Unknown), "an absence before the horizon proves nothing")
	w.Expect(early.Finding).To(gomega.ContainSubstring("does not know it"))

	w.becomes(made.Attempt.Ref, job.Failed)
	w.Expect(w.outcome(made).CompletedBy).To(gomega.Equal(2))
	attempts := w.attempts(made)
	w.Expect(attempts[0].Reason).To(gomega.Equal("not_executed"))
	w.Expect(attempts[0].FinishedAt.Sub(attempts[0].StartedAt)).To(gomega.BeNumerically(">=", 2*time.Second))
	w.Expect(attempts[1].Target).To(gomega.Equal(beta))
	w.ledgerMatches(made)
}

// A provider that lies costs a second attempt, never a second winner.
func TestALyingProviderDeliversLateAndHasOneWinnerAllTheSame(t *testing.T) {
	w := newWorld(t, settings{Timeout: "100ms", Alpha: stored + "1s"})
	w.certify(beta)
	w.behave(alpha, "hold")
	w.candour("absent")
	made := w.submit()
	w.becomes(made.Attempt.Ref, job.Failed)
	w.Expect(w.outcome(made).CompletedBy).To(gomega.Equal(2))
	before := w.job(made)

	w.sim.Release(simulator.Filter{Model: alpha.Model})
	w.Eventually(w.ctx, func() int { return len(w.history(made, job.HistoryLateAnswer)) }).Should(gomega.Equal(1))
	w.Expect(w.job(made)).To(gomega.Equal(before))
	w.Expect(w.attempts(made)[0].Usage).NotTo(gomega.BeNil(), "what the late answer cost is known")
	w.ledgerMatches(made)
}

// A provider that cannot be asked proves nothing: the doubt stays, and it is asked again.
func TestAProviderThatCannotBeAskedLeavesTheDoubt(t *testing.T) {
	for _, candour := range []string{"failing:404", "garbled"} {
		t.Run(candour, func(t *testing.T) {
			w := newWorld(t, settings{Alpha: stored + "100ms"})
			w.certify(beta)
			w.behave(alpha, "dropping")
			w.candour(candour)
			made := w.submit()
			still := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.Asked >= 1 })
			w.Expect(still.State).To(gomega.Equal(job.Unknown))
			w.Expect(still.Finding).To(gomega.ContainSubstring("could not be asked"))
			w.Expect(still.Due.Step).To(gomega.Equal(job.DueReconcile))
			w.Expect(still.Due.At).To(gomega.BeTemporally(">", still.UnknownAt.Add(time.Second)), "with a pause")
			w.Expect(w.history(made, job.HistoryAsked)).To(gomega.HaveLen(1))
			w.candour("honest")
			w.becomes(made.Attempt.Ref, job.Succeeded)
			w.ledgerMatches(made)
		})
	}
}

// A listing that ignores what it was asked for is no proof of anybody else's absence, nor of their answer.
func TestAnotherAttemptsAnswerIsNotAdopted(t *testing.T) {
	w := newWorld(t, settings{Alpha: stored + "100ms"})
	other := w.submit()
	w.Expect(w.outcome(other).State).To(gomega.Equal(job.JobSucceeded))
	w.behave(alpha, "dropping:unexecuted")
	w.candour("unfiltered")
	made := w.submit()
	w.asked(1)
	ended := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.Asked > 0 || a.State != job.Unknown && a.State != job.Running })
	w.Expect(ended.State).To(gomega.Or(gomega.Equal(job.Failed), gomega.Equal(job.Unknown)))
	w.Expect(w.job(made).CompletedBy).To(gomega.BeZero())
}

// What is found is judged like any answer.
func TestWhatIsFoundHasToMeetTheContract(t *testing.T) {
	w := newWorld(t, settings{Timeout: "100ms", GiveUp: "300ms", Alpha: stored + "1m"})
	w.certify(beta)
	w.behave(alpha, "hold:chatty")
	made := w.submit()
	w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.State == job.Unknown && !a.Heard })
	w.sim.Release(simulator.Filter{Model: alpha.Model})
	w.Expect(w.becomes(made.Attempt.Ref, job.Failed).Reason).To(gomega.Equal("contract_violation"))
	w.Expect(w.outcome(made).CompletedBy).To(gomega.Equal(2))
	w.ledgerMatches(made)
}

// Only the endpoint that a request was sent to knows anything about it.
func TestAnotherEndpointIsNotAsked(t *testing.T) {
	w := newWorld(t, settings{Alpha: stored + "100ms"})
	w.behave(alpha, "dropping")
	w.candour("failing:503")
	made := w.submit()
	w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.Asked >= 1 })
	w.end(w.d)

	elsewhere, err := simulator.Listen("127.0.0.1:0", simulator.Config{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { _ = elsewhere.Close() })
	first := w.sim
	w.sim = elsewhere // a deploy has changed the base_url
	w.config = w.configure(settings{Alpha: stored + "100ms"})
	w.sim = first
	w.d = w.replica(settings{})
	moved := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.Asked >= 2 })
	w.Expect(moved.State).To(gomega.Equal(job.Unknown), "the other one's silence is no absence")
	w.Expect(moved.Finding).To(gomega.ContainSubstring("not the provider's base_url any more"))
	w.Expect(elsewhere.Questions(simulator.Filter{})).To(gomega.BeEmpty())
}

// Another replica goes on asking where the one that sent is gone.
func TestADeadReplicasBackgroundResponseIsFetchedByAnother(t *testing.T) {
	w := newWorld(t, settings{Alpha: ", reconcile: responses", Idle: true})
	first := w.replica(settings{})
	w.d = first
	w.behave(alpha, "hold")
	made := w.submit()
	noted := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.Reference != "" })
	w.Expect(noted.State).To(gomega.Equal(job.Running))
	w.end(first)
	w.becomes(made.Attempt.Ref, job.Unknown)

	w.d = w.replica(settings{})
	w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.Asked >= 1 })
	w.sim.Release(simulator.Filter{Model: alpha.Model})
	w.becomes(made.Attempt.Ref, job.Succeeded)
	w.ledgerMatches(made)
}
