package dispatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

func TestBeyondItsSlotsAnAttemptWaitsForItsTurn(t *testing.T) {
	w := newWorld(t, settings{Concurrency: 1})
	w.behave(alpha, "hold")
	first := w.submit()
	w.heard(alpha, 1)
	second := w.submit()
	w.Expect(second.Attempt.State).To(gomega.Equal(job.Starting))
	w.Expect(second.Job.State).To(gomega.Equal(job.JobRunning))
	w.Expect(second.Attempt.Sends).To(gomega.BeZero())
	w.Expect(w.heard(alpha, 0)).To(gomega.HaveLen(1))

	w.release(alpha)
	w.Expect(w.outcome(first).State).To(gomega.Equal(job.JobSucceeded))
	w.heard(alpha, 2)
	w.release(alpha)
	w.Expect(w.outcome(second).State).To(gomega.Equal(job.JobSucceeded))
	w.Expect(w.attempts(second)).To(gomega.HaveLen(1))
	w.ledgerMatches(first, second)
}

func TestTheSoftDeadlineFreesTheSlot(t *testing.T) {
	w := newWorld(t, settings{Concurrency: 1, Timeout: "60ms"})
	first := w.inDoubt()
	w.behave(alpha, "faithful")
	w.becomes(w.submit().Attempt.Ref, job.Succeeded)
	w.Expect(w.attempts(first)[0].Heard).To(gomega.BeTrue(), "the first is listened to meanwhile")
	w.release(alpha)
	w.becomes(first.Attempt.Ref, job.Succeeded)
}

func TestWaitingIsGivenUpWithoutSending(t *testing.T) {
	w := newWorld(t, settings{Concurrency: 1, QueueTimeout: "100ms", Idle: true}) // nothing sweeps
	w.certify(beta)
	w.behave(alpha, "hold")
	first := w.submit()
	w.heard(alpha, 1)
	second := w.submit()
	w.Expect(w.d.AnswerDoorbell(w.ctx, store.TurnArgs{Ref: second.Attempt.Ref, AttemptID: second.Attempt.ID})).To(gomega.Succeed())
	j := w.outcome(second)
	w.Expect(j.State).To(gomega.Equal(job.JobSucceeded))
	attempts := w.attempts(second)
	w.Expect(attempts[0].Reason).To(gomega.Equal("queue_timeout"))
	w.Expect(attempts[0].Sends).To(gomega.BeZero())
	w.Expect(attempts[1].Target).To(gomega.Equal(beta))
	w.ledgerMatches(first, second)
	w.release(alpha)
	w.Expect(w.outcome(first).State).To(gomega.Equal(job.JobSucceeded))
}

func TestACancelledAttemptDoesNotTakeItsTurn(t *testing.T) {
	w := newWorld(t, settings{Concurrency: 1})
	w.behave(alpha, "hold")
	first := w.submit()
	w.heard(alpha, 1)
	second := w.submit()
	_, err := w.d.CancelJob(w.ctx, owner, second.Job.ID, "client")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	third := w.submit()
	w.release(alpha)
	w.outcome(first)
	w.heard(alpha, 2)
	w.release(alpha)
	w.Expect(w.outcome(third).State).To(gomega.Equal(job.JobSucceeded))
	w.Expect(w.attempts(second)[0].State).To(gomega.Equal(job.Cancelled))
	w.ledgerMatches(first, second, third)
}

// River delivers at least once. However often a doorbell rings, its attempt is sent once.
func TestADoorbellMayRingAgain(t *testing.T) {
	w := newWorld(t, settings{Idle: true, Concurrency: 8})
	made := w.stored(store.NewAttempt{Wait: time.Minute, Queue: store.QueueName("alpha")})
	args := store.TurnArgs{Ref: made.Attempt.Ref, AttemptID: made.Attempt.ID}
	wrong := store.TurnArgs{Ref: made.Attempt.Ref, AttemptID: "another"}
	nobody := store.TurnArgs{Ref: job.Ref{Owner: owner, JobID: "nobody", Number: 1}, AttemptID: made.Attempt.ID}
	w.Expect(w.d.AnswerDoorbell(w.ctx, wrong)).To(gomega.Succeed())
	w.Expect(w.d.AnswerDoorbell(w.ctx, nobody)).To(gomega.Succeed())
	w.Expect(w.attempts(made)[0].State).To(gomega.Equal(job.Starting))

	var rings sync.WaitGroup
	for range 20 {
		rings.Go(func() {
			if err := w.d.AnswerDoorbell(w.ctx, args); err != nil {
				t.Error(err)
			}
		})
	}
	rings.Wait()
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded))
	w.Expect(w.d.AnswerDoorbell(w.ctx, args)).To(gomega.Succeed())
	w.ledgerMatches(made)
}

// Who heard a bell first may be gone or have no slot free, so it rings again; of that bell a busy replica
// keeps its hands off.
func TestABellThatRingsAgainGoesToWhoHasASlot(t *testing.T) {
	w := newWorld(t, settings{Concurrency: 1, Idle: true})
	w.behave(alpha, "hold")
	first := w.submit()
	w.heard(alpha, 1)
	second := w.submit()
	attempt := second.Attempt
	again := store.TurnArgs{Ref: attempt.Ref, AttemptID: attempt.ID, Until: attempt.Due.At}
	free := w.replica(settings{Idle: true})

	waited := make(chan error, 1)
	go func() { waited <- w.d.AnswerDoorbell(w.ctx, store.TurnArgs{Ref: attempt.Ref, AttemptID: attempt.ID}) }()
	var snooze *river.JobSnoozeError
	w.Expect(errors.As(w.d.AnswerDoorbell(w.ctx, again), &snooze)).To(gomega.BeTrue())
	replaced := again
	replaced.Until = attempt.Due.At.Add(time.Second)
	w.Expect(free.AnswerDoorbell(w.ctx, replaced)).To(gomega.Succeed())
	w.Expect(w.attempts(second)[0].State).To(gomega.Equal(job.Starting), "a bell that was replaced is silent")

	w.Expect(free.AnswerDoorbell(w.ctx, again)).To(gomega.Succeed())
	w.heard(alpha, 2)
	w.Expect(w.d.AnswerDoorbell(w.ctx, again)).To(gomega.Succeed(), "there is nothing to answer any more")
	w.release(alpha)
	for _, made := range []store.Made{first, second} {
		w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded))
	}
	w.Expect(<-waited).NotTo(gomega.HaveOccurred())
	w.ledgerMatches(first, second)
}

// stored is a job as another replica may have left it behind.
func (w *world) stored(attempt store.NewAttempt) store.Made {
	w.t.Helper()
	served, _ := w.config.Catalog.Get(contract)
	id := w.submission().IdempotencyKey
	attempt.ID, attempt.IdempotencyKey, attempt.Role, attempt.Target = "attempt-"+id, "attempt-"+id, job.RolePrimary, alpha
	made, err := w.store.CreateJob(w.ctx, store.CreateJob{
		ContractContent: served.Archive(),
		Job: job.Job{
			ID: "job-" + id, Owner: owner, IdempotencyKey: id, Fingerprint: "f", Contract: contract, ContractDigest: served.Digest(),
			Input: input, Target: alpha, Plan: w.config.Plan(served),
		},
		Decision: store.Decision{Decide: func(store.View) store.Step { return store.Step{Attempt: &attempt} }},
	})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return made
}

func TestADoorbellOfAReplicaThatStopsRingsElsewhere(t *testing.T) {
	w := newWorld(t, settings{Concurrency: 1})
	w.behave(alpha, "hold")
	first := w.submit()
	w.heard(alpha, 1)
	second := w.submit()
	over, cancel := context.WithCancel(w.ctx)
	cancel()
	_ = w.d.Shutdown(over)
	var snooze *river.JobSnoozeError
	err := w.d.AnswerDoorbell(w.ctx, store.TurnArgs{Ref: second.Attempt.Ref, AttemptID: second.Attempt.ID})
	w.Expect(errors.As(err, &snooze)).To(gomega.BeTrue())
	w.Expect(w.attempts(first)[0].Reason).To(gomega.Equal("shutdown"))
	w.Expect(w.attempts(second)[0].State).To(gomega.Equal(job.Starting))

	w.behave(alpha, "faithful")
	w.d = w.replica(settings{})
	w.Expect(w.outcome(second).State).To(gomega.Equal(job.JobSucceeded))
	w.Expect(w.attempts(second)[0].BootID).To(gomega.Equal(w.d.BootID()))
	w.ledgerMatches(first, second)
}

func TestOrphansFallIntoDoubtAndAreNeverSentAgain(t *testing.T) {
	w := newWorld(t, settings{Idle: true})
	w.certify(beta)
	running := w.stored(store.NewAttempt{BootID: "gone", Lease: -time.Second})
	alive := w.stored(store.NewAttempt{BootID: "elsewhere", Lease: time.Hour})
	released := w.stored(store.NewAttempt{BootID: "gone", Lease: -time.Second})
	for _, event := range []job.Event{job.EventDoubt, job.EventRelease} {
		_, err := w.store.Apply(w.ctx, store.Change{Ref: released.Attempt.Ref, Event: event, Reason: "timeout", Heard: true})
		w.Expect(err).NotTo(gomega.HaveOccurred())
	}
	waited := w.stored(store.NewAttempt{Wait: -time.Second, Queue: "nobody"})

	w.d = w.replica(settings{})
	orphan := w.becomes(running.Attempt.Ref, job.Unknown)
	w.Expect(orphan.Reason).To(gomega.Equal("worker_lost"))
	w.Expect(orphan.Heard).To(gomega.BeFalse())
	w.Expect(w.job(running).State).To(gomega.Equal(job.JobUnknown))
	w.Expect(w.attempts(alive)[0].State).To(gomega.Equal(job.Running))

	w.Expect(w.outcome(released).CompletedBy).To(gomega.Equal(2), "a proven fallback may race it")
	unheard := w.attempts(released)[0]
	w.Expect(unheard.State).To(gomega.Equal(job.Superseded), "time alone never turns doubt into failure; the winner ends it")
	w.Expect(unheard.Reason).To(gomega.Equal("unheard"))

	unsent := w.becomes(waited.Attempt.Ref, job.Failed)
	w.Expect(unsent.Reason).To(gomega.Equal("queue_timeout"))
	w.Expect(w.outcome(waited).CompletedBy).To(gomega.Equal(2))
	seen := map[string]int{}
	for _, entry := range w.sim.Ledger() {
		seen[entry.AttemptID]++
	}
	w.Expect(seen).To(gomega.Equal(map[string]int{w.attempts(released)[1].ID: 1, w.attempts(waited)[1].ID: 1}))
}

// A crash that leaves nothing to try again with is doubt all the same, after the first sweep.
func TestALostLastAttemptIsDoubtAndNotFailure(t *testing.T) {
	w := newWorld(t, settings{Idle: true, Route: "    max_attempts: 1\n"})
	w.certify(beta)
	lost := w.stored(store.NewAttempt{BootID: "gone", Lease: -time.Second})
	w.d = w.replica(settings{Options: dispatch.Options{Sweep: time.Hour}})
	w.Expect(w.becomes(lost.Attempt.Ref, job.Unknown).Reason).To(gomega.Equal("worker_lost"))
	w.Expect(w.job(lost).State).To(gomega.Equal(job.JobUnknown))
	w.Expect(w.history(lost, job.HistoryJobFailed)).To(gomega.BeEmpty())
	w.Expect(w.attempts(lost)).To(gomega.HaveLen(1))
	w.Expect(w.sim.Ledger()).To(gomega.BeEmpty())
}

func TestATargetThatLeftTheConfigurationIsNotRetried(t *testing.T) {
	w := newWorld(t, settings{Idle: true})
	waited := w.stored(store.NewAttempt{Wait: -time.Second, Queue: "nobody"})
	delete(w.config.Providers, "alpha")
	w.d = w.replica(settings{})
	j := w.outcome(waited)
	w.Expect(j.State).To(gomega.Equal(job.JobFailed))
	w.Expect(j.Error.Reason).To(gomega.Equal("queue_timeout"))
	w.Expect(w.attempts(waited)).To(gomega.HaveLen(1))
	w.ledgerMatches(waited)
}

// The sweep rings again and again, on whichever replica leads.
func TestTheSweepGoesOn(t *testing.T) {
	w := newWorld(t, settings{Options: dispatch.Options{Sweep: 20 * time.Millisecond}})
	orphan := w.stored(store.NewAttempt{BootID: "gone", Lease: 10 * time.Millisecond})
	w.Expect(w.becomes(orphan.Attempt.Ref, job.Unknown).Reason).To(gomega.Equal("worker_lost"))
}

func TestShutdownWaitsForWhatRuns(t *testing.T) {
	w := newWorld(t, settings{})
	w.behave(alpha, "hold")
	made := w.submit()
	w.heard(alpha, 1)
	stopped := make(chan error, 1)
	go func() { stopped <- w.d.Shutdown(w.ctx) }()
	w.Eventually(func() error {
		_, err := w.d.Submit(w.ctx, w.submission())
		return err
	}).Should(gomega.MatchError(dispatch.ErrShuttingDown))
	_, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	w.Expect(err).To(gomega.MatchError(dispatch.ErrShuttingDown))
	w.Consistently(stopped).WithTimeout(50 * time.Millisecond).ShouldNot(gomega.Receive())
	w.release(alpha)
	w.Eventually(stopped).WithTimeout(20 * time.Second).Should(gomega.Receive(gomega.BeNil()))
	w.Expect(w.job(made).State).To(gomega.Equal(job.JobSucceeded))
	w.ledgerMatches(made)
}

func TestShutdownLeavesTheRestInDoubt(t *testing.T) {
	w := newWorld(t, settings{})
	w.certify(beta)
	w.behave(alpha, "silent")
	made := w.submit()
	w.heard(alpha, 1)
	over, cancel := context.WithCancel(w.ctx)
	cancel()
	w.Expect(w.d.Shutdown(over)).To(gomega.MatchError(context.Canceled))
	attempt := w.attempts(made)[0]
	w.Expect(attempt.State).To(gomega.Equal(job.Unknown))
	w.Expect(attempt.Reason).To(gomega.Equal("shutdown"))
	w.Expect(attempt.Heard).To(gomega.BeFalse())
	w.Expect(w.attempts(made)).To(gomega.HaveLen(1))
	w.ledgerMatches(made)
}
