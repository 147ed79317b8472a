package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
)

// A target that fails at once is left alone instead of attracting the traffic.
func TestInstantFailuresOpenTheCircuit(t *testing.T) {
	w := newWorld(t, settings{Alpha: ", server_errors: failed, circuit: {failures: 3, cool_down: 1h}"})
	w.certify(beta)
	w.behave(alpha, "overloaded:500")
	for range 3 {
		w.Expect(w.outcome(w.submit()).CompletedBy).To(gomega.Equal(2))
	}
	made := w.submit()
	w.Expect(w.outcome(made).CompletedBy).To(gomega.Equal(1))
	w.Expect(w.attempts(made)[0].Target).To(gomega.Equal(beta))
	w.Expect(w.sim.Select(simulator.Filter{Model: alpha.Model})).To(gomega.HaveLen(3), "nobody asks it any more")

	targets, err := w.d.Targets(w.ctx, contract)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(targets[0].Target).To(gomega.Equal(alpha))
	w.Expect(targets[0].Reasons).To(gomega.ContainElement(certification.CircuitOpen))
}

// When everything cools down the job waits, and says until when.
func TestWhenEverythingCoolsDownTheJobWaits(t *testing.T) {
	w := newWorld(t, settings{Timeout: "20s"})
	w.behave(alpha, "rate-limited:60s")
	first := w.submit()
	retried := w.until(job.Ref{Owner: owner, JobID: first.Job.ID, Number: 2}, func(job.Attempt) bool { return true })
	w.Expect(retried.State).To(gomega.Equal(job.Starting))

	// Another job of this replica does not come sooner than the provider asked for either.
	second := w.submit()
	waiting := w.attempts(second)[0]
	w.Expect(waiting.State).To(gomega.Equal(job.Starting))
	w.Expect(waiting.NotBefore.Sub(waiting.CreatedAt)).To(gomega.BeNumerically("~", time.Minute, 5*time.Second))
	w.Expect(w.job(second).State).To(gomega.Equal(job.JobRunning))

	// A shorter pause never replaces a longer one, and an explicit attempt waits as well.
	_, err := w.d.CancelAttempt(w.ctx, waiting.Ref, "ann", "")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	added, err := w.d.AddAttempt(w.ctx, owner, second.Job.ID, "now", "")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(added.Attempt.NotBefore.Sub(added.Attempt.CreatedAt)).To(gomega.BeNumerically(">", 50*time.Second))
	w.ledgerMatches(first, second)
}

// One probe decides whether a target is back, and then everybody goes.
func TestACircuitClosesAfterAProbe(t *testing.T) {
	w := newWorld(t, settings{Alpha: ", server_errors: failed, circuit: {failures: 1, cool_down: 300ms}", Concurrency: 4})
	w.behave(alpha, "overloaded:500")
	w.submit()
	w.heard(alpha, 1)
	w.behave(alpha, "faithful")
	made := w.submit()
	w.Eventually(w.ctx, func() job.JobState { return w.job(made).State }).Should(gomega.Equal(job.JobSucceeded))
	w.Expect(w.attempts(made)[0].Role).To(gomega.Equal(job.RolePrimary))
}

// Nothing automatic begins after the job's deadline, and no wait passes it.
func TestAJobHasADeadline(t *testing.T) {
	w := newWorld(t, settings{Route: "    deadline: 10s\n"})
	w.behave(alpha, "rate-limited:60s")
	made := w.submit()
	j := w.outcome(made)
	w.Expect(j.State).To(gomega.Equal(job.JobFailed))
	w.Expect(j.Error.Reason).To(gomega.Equal("deadline_exceeded"))
	w.Expect(w.attempts(made)).To(gomega.HaveLen(1), "the retry would have come too late")

	w = newWorld(t, settings{Route: "    deadline: 300ms\n"})
	w.certify(beta)
	w.behave(alpha, "silent")
	made = w.submit()
	doubtful := w.becomes(made.Attempt.Ref, job.Unknown)
	w.Expect(doubtful.UnknownAt.Sub(doubtful.StartedAt)).To(gomega.BeNumerically("<", 15*time.Second), "long before the provider's own")
	_, err := w.d.Resolve(w.ctx, made.Attempt.Ref, dispatch.Resolution{Outcome: dispatch.OutcomeFailed, Note: "n", By: "ann"})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.job(made).State).To(gomega.Equal(job.JobFailed))
	w.Expect(w.job(made).Error.Reason).To(gomega.Equal("deadline_exceeded"))
}

// A fallback whose window is too small is excluded before anything is sent to it.
func TestAFallbackWithASmallWindowIsExcluded(t *testing.T) {
	w := newWorld(t, settings{Window: 700})
	w.certify(beta)
	w.behave(alpha, "unauthorized")
	made := w.submit()
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobFailed))
	w.Expect(w.job(made).Error.Targets).To(gomega.ContainElement(job.TargetRefusal{Target: beta, Reasons: []string{"context_too_small"}}))
	w.Expect(w.sim.Select(simulator.Filter{Model: beta.Model})).To(gomega.BeEmpty())
	w.ledgerMatches(made)
}

// An input that fits takes the same fallback.
func TestAFallbackWithALargeWindowIsTaken(t *testing.T) {
	w := newWorld(t, settings{Window: 4000})
	w.certify(beta)
	w.behave(alpha, "unauthorized")
	w.Expect(w.outcome(w.submit()).CompletedBy).To(gomega.Equal(2))
	long := w.submission()
	long.Input["message"] = strings.Repeat("where is my parcel? ", 4000)
	long.InputText = fmt.Sprintf(`{"message": %q}`, long.Input["message"])
	made, err := w.d.Submit(context.WithoutCancel(w.ctx), long)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobFailed))
	w.Expect(w.attempts(made)).To(gomega.HaveLen(1))
}
