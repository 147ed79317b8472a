package dispatch_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

func (w *world) release(target providers.Target) {
	w.t.Helper()
	w.Expect(w.sim.Release(simulator.Filter{Model: target.Model})).To(gomega.BeNumerically(">", 0))
}

// inDoubt is a job whose first attempt has passed its soft deadline and is still heard.
func (w *world) inDoubt() store.Made {
	w.t.Helper()
	w.behave(alpha, "hold")
	made := w.submit()
	w.becomes(made.Attempt.Ref, job.Unknown)
	return made
}

var impatient = settings{Timeout: "60ms"}

func TestSilenceIsDoubtAndBlocks(t *testing.T) {
	w := newWorld(t, impatient)
	w.certify(beta)
	w.behave(alpha, "hold")
	made := w.submit()
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobUnknown))
	attempt := w.attempts(made)[0]
	w.Expect(attempt.Reason).To(gomega.Equal("timeout"))
	w.Expect(attempt.Heard).To(gomega.BeTrue())
	w.Expect(attempt.Usage).To(gomega.BeNil(), "what it cost is not known, which is not zero")

	_, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	w.Expect(is[*store.Blocked](w, err).By.Number).To(gomega.Equal(1))
	w.ledgerMatches(made)

	w.release(alpha) // with no rival the late answer wins
	w.becomes(attempt.Ref, job.Succeeded)
	w.Expect(w.job(made).State).To(gomega.Equal(job.JobSucceeded))
	w.ledgerMatches(made)
}

func TestHardDeadlineHangsUpAndLeavesTheDoubt(t *testing.T) {
	w := newWorld(t, settings{Timeout: "60ms", GiveUp: "200ms"})
	w.certify(beta)
	w.behave(alpha, "silent")
	made := w.submit()
	attempt := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.State == job.Unknown && !a.Heard })
	w.Expect(attempt.Reason).To(gomega.Equal("timeout"))
	w.Expect(attempt.LeaseUntil.IsZero()).To(gomega.BeTrue())
	w.Expect(w.history(made, job.HistoryUnheard)).To(gomega.HaveLen(1))
	w.Expect(w.job(made).State).To(gomega.Equal(job.JobUnknown))
	_, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	is[*store.Blocked](w, err)
	w.ledgerMatches(made)
}

func TestLostConnectionIsDoubtNotFailure(t *testing.T) {
	for _, personality := range []string{"dropping", "dropping:reset", "half-body", "overloaded", "overloaded:502"} {
		t.Run(personality, func(t *testing.T) {
			w := newWorld(t, settings{})
			w.certify(beta)
			w.behave(alpha, personality)
			made := w.submit()
			w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobUnknown))
			w.Expect(w.attempts(made)).To(gomega.HaveLen(1))
			w.Expect(w.attempts(made)[0].Heard).To(gomega.BeFalse())
			w.ledgerMatches(made)
		})
	}
}

func TestReleasedAttemptRacesACertifiedFallback(t *testing.T) {
	w := newWorld(t, impatient)
	w.certify(beta)
	made := w.inDoubt()
	w.behave(beta, "faithful")
	_, err := w.d.Release(w.ctx, made.Attempt.Ref, "operator", "tired of waiting")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.outcome(made)
	w.Eventually(func() job.JobState { return w.job(made).State }).Should(gomega.Equal(job.JobSucceeded))
	j := w.job(made)
	w.Expect(j.CompletedBy).To(gomega.Equal(2))

	w.release(alpha) // the first to be asked is the last to answer
	loser := w.becomes(made.Attempt.Ref, job.Superseded)
	w.Expect(loser.Usage).NotTo(gomega.BeNil(), "what the loser cost is known")
	w.Expect(w.history(made, job.HistoryRace)).To(gomega.HaveLen(1))
	w.Expect(w.job(made).Result).To(gomega.Equal(j.Result))
	w.Expect(w.job(made).CompletedBy).To(gomega.Equal(2))
	w.Expect(w.attempts(made)[1].Role).To(gomega.Equal(job.RoleFallback))
	w.Expect(w.attempts(made)[1].CertificationID).To(gomega.Equal("cert-beta"))
	w.ledgerMatches(made)
}

func TestReleasedAttemptStaysInTheRaceAlone(t *testing.T) {
	w := newWorld(t, impatient)
	made := w.inDoubt()
	_, err := w.d.Release(w.ctx, made.Attempt.Ref, "operator", "")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.job(made).State).To(gomega.Equal(job.JobUnknown))
	w.release(alpha)
	w.becomes(made.Attempt.Ref, job.Succeeded)
	w.ledgerMatches(made)
}

func TestCancelledAttemptNeverWinsButIsHeard(t *testing.T) {
	w := newWorld(t, settings{})
	w.behave(alpha, "hold")
	made := w.submit()
	w.heard(alpha, 1)
	cancelled, err := w.d.CancelAttempt(w.ctx, made.Attempt.Ref, "operator", "wrong customer")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(cancelled.State).To(gomega.Equal(job.Cancelled))
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobFailed))

	w.release(alpha)
	w.Eventually(func() []job.EventRecord { return w.history(made, job.HistoryLateAnswer) }).Should(gomega.HaveLen(1))
	attempt := w.attempts(made)[0]
	w.Expect(attempt.State).To(gomega.Equal(job.Cancelled))
	w.Expect(attempt.Usage).NotTo(gomega.BeNil())
	w.Expect(w.job(made).Result).To(gomega.BeEmpty())
	w.ledgerMatches(made)
}

func TestCancelledJobStaysCancelled(t *testing.T) {
	w := newWorld(t, impatient)
	w.certify(beta)
	made := w.inDoubt()
	j, err := w.d.CancelJob(w.ctx, owner, made.Job.ID, "client")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(j.State).To(gomega.Equal(job.JobCancelled))
	w.release(alpha)
	w.Eventually(func() []job.EventRecord { return w.history(made, job.HistoryLateAnswer) }).Should(gomega.HaveLen(1))
	w.Expect(w.job(made).State).To(gomega.Equal(job.JobCancelled))
	_, err = w.d.CancelJob(w.ctx, owner, made.Job.ID, "client")
	w.Expect(err).To(gomega.MatchError(store.ErrJobFinal))
	_, err = w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	w.Expect(err).To(gomega.MatchError(store.ErrJobFinal))
	w.ledgerMatches(made)
}

func TestResolvedAsFailedLetsAFallbackFollow(t *testing.T) {
	w := newWorld(t, impatient)
	w.certify(beta)
	made := w.inDoubt()
	resolved, err := w.d.Resolve(w.ctx, made.Attempt.Ref, dispatch.Resolution{Outcome: "failed", Note: "not in the provider's log", By: "operator"})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(resolved.State).To(gomega.Equal(job.Failed))
	w.Expect(w.outcome(made).CompletedBy).To(gomega.Equal(2))
	w.release(alpha)
	w.Eventually(func() []job.EventRecord { return w.history(made, job.HistoryLateAnswer) }).Should(gomega.HaveLen(1))
	w.Expect(w.job(made).CompletedBy).To(gomega.Equal(2))
	w.ledgerMatches(made)
}

func TestResolvedAsFailedDoesNotAskTheSameTargetAgain(t *testing.T) {
	w := newWorld(t, impatient)
	made := w.inDoubt()
	_, err := w.d.Resolve(w.ctx, made.Attempt.Ref, dispatch.Resolution{Outcome: "failed", By: "operator"})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	j := w.job(made)
	w.Expect(j.State).To(gomega.Equal(job.JobFailed))
	w.Expect(j.Error.Reason).To(gomega.Equal("resolved_failed"))
	w.Expect(j.Error.Targets).To(gomega.Equal([]job.TargetRefusal{{Target: beta, Reasons: []string{"no_certification"}}}))
	w.ledgerMatches(made)
}

func TestResolvedAsSucceededMustMeetTheContract(t *testing.T) {
	w := newWorld(t, impatient)
	made := w.inDoubt()
	const whole = `{"category": "billing", "urgency": "normal", "language": "en", "legal_threat": false, "safety_hazard": false, "reference": "SO-48213"}`
	bad := map[string]string{
		"not JSON":      `{"category"`,
		"not at all":    ``,
		"of the schema": `{"category": "gossip", "urgency": "normal", "language": "en", "legal_threat": false, "safety_hazard": false, "reference": null}`,
		"of a check":    `{"category": "billing", "urgency": "low", "language": "en", "legal_threat": true, "safety_hazard": false, "reference": null}`,
	}
	for name, result := range bad {
		_, err := w.d.Resolve(w.ctx, made.Attempt.Ref, dispatch.Resolution{Outcome: "succeeded", Result: result, By: "operator"})
		invalid := is[*dispatch.InvalidInput](w, err)
		w.Expect(invalid.Pointers).To(gomega.ContainElement(gomega.HavePrefix("/result")), name)
		w.Expect(invalid.Detail).NotTo(gomega.BeEmpty())
	}
	for _, each := range []dispatch.Resolution{{Outcome: "maybe"}, {Outcome: "failed", Result: whole}} {
		_, err := w.d.Resolve(w.ctx, made.Attempt.Ref, each)
		w.Expect(err).To(gomega.BeAssignableToTypeOf(&dispatch.InvalidInput{}))
	}
	w.Expect(w.attempts(made)[0].State).To(gomega.Equal(job.Unknown), "what was refused changed nothing")

	_, err := w.d.Resolve(w.ctx, made.Attempt.Ref, dispatch.Resolution{Outcome: "succeeded", Result: whole, By: "operator"})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.job(made).Result).To(gomega.MatchJSON(whole))
}

func TestWhatHasEndedCannotBeResolvedReleasedOrCancelled(t *testing.T) {
	w := newWorld(t, settings{})
	made := w.submit()
	w.outcome(made)
	ref := made.Attempt.Ref
	_, err := w.d.Resolve(w.ctx, ref, dispatch.Resolution{Outcome: "failed"})
	is[*store.IllegalTransition](w, err)
	_, err = w.d.Release(w.ctx, ref, "operator", "")
	is[*store.IllegalTransition](w, err)
	_, err = w.d.CancelAttempt(w.ctx, ref, "operator", "")
	is[*store.IllegalTransition](w, err)
	w.Expect(w.attempts(made)[0].State).To(gomega.Equal(job.Succeeded))

	nobody := job.Ref{Owner: "rival", JobID: ref.JobID, Number: 1}
	_, err = w.d.Release(w.ctx, nobody, "operator", "")
	w.Expect(err).To(gomega.MatchError(store.ErrNotFound))
	_, err = w.d.Wait(w.ctx, "rival", ref.JobID)
	w.Expect(err).To(gomega.MatchError(store.ErrNotFound))
}
