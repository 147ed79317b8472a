package storetest

import (
	"errors"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var machine = []behaviour{
	{"a valid answer takes the slot and moves the version", succeeds},
	{"a definite failure makes the next step in the same transaction", failsOver},
	{"a definite failure without a next step fails the job with its reason", failsForGood},
	{"every event that the table does not list errs and changes nothing", illegalMoves},
	{"an explicit attempt reopens a failed job", reopens},
	{"an explicit attempt is refused beside a blocking one, past the maximum and under a final job", refusesAttempts},
	{"an attempt's own key replays it, and conflicts for another request", attemptKeys},
	{"cancelling a job fences its open attempts", cancelsJob},
	{"a send that provably never left is not counted", notSent},
}

func succeeds(w *world) {
	made := w.create()
	applied := w.apply(answer(made.Attempt.Ref, `{"a":1}`))
	w.Expect(applied.Moved).To(BeTrue())
	stored := w.job(made)
	w.Expect(stored).To(Equal(applied.Job))
	w.Expect(stored.State).To(Equal(job.JobSucceeded))
	w.Expect(stored.CompletedBy).To(Equal(1))
	w.Expect(stored.Result).To(Equal(`{"a":1}`))
	w.Expect(stored.Version).To(BeEquivalentTo(2))
	w.Expect(stored.CompletedAt.IsZero()).To(BeFalse())
	attempt := w.attempts(made)[0]
	w.Expect(attempt).To(Equal(applied.Attempt))
	w.Expect(attempt.State).To(Equal(job.Succeeded))
	w.Expect(attempt.Usage).To(Equal(&providers.Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5}))
	w.Expect(attempt.Latency).To(Equal(20 * time.Millisecond))
	w.Expect(attempt.LeaseUntil.IsZero()).To(BeTrue())
	w.Expect(w.history(made)).To(HaveKeyWithValue(job.HistoryJobSucceeded, 1))
}

func failsOver(w *world) {
	id := w.certify(fallback)
	made := w.create()
	decision := sendAt(fallback, id)
	decision.Candidates = append(decision.Candidates, w.key(fallback))
	seen := store.View{}
	inner := decision.Decide
	decision.Decide = func(view store.View) store.Step { seen = view; return inner(view) }
	applied := w.apply(failure(made.Attempt.Ref, decision))
	w.Expect(applied.Job.State).To(Equal(job.JobRunning))
	w.Expect(applied.Next).NotTo(BeNil())
	w.Expect(seen.Attempts).To(HaveExactElements(HaveField("State", job.Failed)), "the decision sees the failure")
	w.Expect(seen.Standings[fallback].Reasons(accepted)).To(BeEmpty())
	attempts := w.attempts(made)
	w.Expect(attempts).To(HaveLen(2))
	w.Expect(attempts[0].Reason).To(Equal("malformed"))
	w.Expect(attempts[0].Retryable).To(BeTrue())
	w.Expect(attempts[1].CertificationID).To(Equal(id))
	w.Expect(attempts[1].Target).To(Equal(fallback))
	w.Expect(attempts[1].JobVersion).To(BeEquivalentTo(1), "starting an attempt moves no version")
}

func failsForGood(w *world) {
	made := w.create()
	applied := w.apply(failure(made.Attempt.Ref, stop()))
	w.Expect(applied.Job.State).To(Equal(job.JobFailed))
	w.Expect(applied.Job.Error).To(Equal(&job.Failure{Reason: "malformed", Attempt: 1}))
	w.Expect(w.job(made)).To(Equal(applied.Job))
	w.Expect(w.history(made)).To(HaveKeyWithValue(job.HistoryJobFailed, 1))
}

// attemptIn brings a fresh job's first attempt into a state.
func (w *world) attemptIn(state job.State) store.Made {
	w.t.Helper()
	if state == job.Starting {
		made, err := w.Store.CreateJob(w.ctx, createOf(newJob("acme"), decide(func(store.View) store.Step {
			return store.Step{Attempt: waiting(primary, 0)}
		})))
		w.Expect(err).NotTo(HaveOccurred())
		return made
	}
	made := w.create()
	ref := made.Attempt.Ref
	switch state {
	case job.Unknown:
		w.doubt(ref)
	case job.Released:
		w.doubt(ref)
		w.apply(store.Change{Ref: ref, Event: job.EventRelease, Decision: stop()})
	case job.Succeeded:
		w.apply(answer(ref, `1`))
	case job.Failed:
		w.apply(failure(ref, stop()))
	case job.Cancelled:
		w.apply(store.Change{Ref: ref, Event: job.EventCancel, Decision: stop()})
	case job.Superseded:
		w.supersede(made)
	}
	w.Expect(w.attempts(made)[0].State).To(Equal(state))
	return made
}

// supersede lets a second attempt win while the first is released.
func (w *world) supersede(made store.Made) {
	w.t.Helper()
	w.doubt(made.Attempt.Ref)
	released := w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventRelease, Decision: sendAt(primary, "")})
	w.apply(answer(released.Next.Ref, `"second"`))
	w.apply(answer(made.Attempt.Ref, `"first"`))
}

var everyEvent = []job.Event{
	job.EventTurn, job.EventNotSent, job.EventAnswer, job.EventFailure, job.EventDoubt, job.EventResolveFailed,
	job.EventResolveSucceeded, job.EventRelease, job.EventResend, job.EventCancel, job.EventUnheard,
}

func illegalMoves(w *world) {
	for _, state := range job.States {
		for _, event := range everyEvent {
			w.tryMove(state, event)
		}
	}
}

// tryMove compares what the store does with what the table says.
func (w *world) tryMove(state job.State, event job.Event) {
	w.t.Helper()
	made := w.attemptIn(state)
	before, history := w.attempts(made)[0], w.history(made)
	jobBefore := w.job(made)
	change := answer(made.Attempt.Ref, `"x"`)
	change.Event, change.Reason, change.Heard, change.Decision = event, "test", true, stop()
	change.BootID, change.Lease = bootID, time.Minute
	_, err := w.Store.Apply(w.ctx, change)
	after := w.attempts(made)[0]

	to, legal := job.Next(state, event, job.Facts{
		SlotTaken: jobBefore.CompletedBy != 0, Final: jobBefore.State.Final(), HasOwnKey: before.IdempotencyHeader != "",
	})
	if legal {
		w.Expect(err).NotTo(HaveOccurred(), "%s + %s", state, event)
		w.Expect(after.State).To(Equal(to), "%s + %s", state, event)
		return
	}
	w.Expect(after.State).To(Equal(state), "%s + %s", state, event)
	w.Expect(w.job(made).CompletedBy).To(Equal(jobBefore.CompletedBy))
	w.Expect(w.job(made).Result).To(Equal(jobBefore.Result))
	var illegal *store.IllegalTransition
	if errors.As(err, &illegal) {
		w.Expect(illegal.Attempt.State).To(Equal(state))
		w.Expect(after).To(Equal(before), "%s + %s", state, event)
		w.Expect(w.job(made)).To(Equal(jobBefore))
		w.Expect(w.history(made)).To(Equal(history), "%s + %s", state, event)
		return
	}
	w.Expect(err).NotTo(HaveOccurred())
	answered := event == job.EventAnswer || event == job.EventFailure
	repeated := state == job.Succeeded && event == job.EventResolveSucceeded
	listening := event == job.EventUnheard && (state == job.Unknown || state == job.Released)
	w.Expect(answered || repeated || listening).To(BeTrue(), "%s + %s must be refused", state, event)
}

func reopens(w *world) {
	made := w.create()
	w.apply(failure(made.Attempt.Ref, stop()))
	added, err := w.Store.AddAttempt(w.ctx, manual(made, "again", ""))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(added.Attempt.Number).To(Equal(2))
	w.Expect(added.Attempt.Target).To(Equal(primary))
	reopened := w.job(made)
	w.Expect(reopened.State).To(Equal(job.JobRunning))
	w.Expect(reopened.Error).To(BeNil())
}

func manual(made store.Made, key, fingerprint string) store.AddAttempt {
	return store.AddAttempt{Owner: made.Job.Owner, JobID: made.Job.ID, Accepted: accepted, Attempt: store.NewAttempt{
		ID: fresh("att"), IdempotencyKey: key, Fingerprint: fingerprint, Role: job.RoleManual, BootID: bootID, Lease: time.Minute,
	}}
}

func refusesAttempts(w *world) {
	made := w.create()
	_, err := w.Store.AddAttempt(w.ctx, manual(made, "a", ""))
	var blocked *store.Blocked
	w.Expect(errors.As(err, &blocked)).To(BeTrue())
	w.Expect(blocked.By.State).To(Equal(job.Running))
	w.doubt(made.Attempt.Ref)
	_, err = w.Store.AddAttempt(w.ctx, manual(made, "b", ""))
	w.Expect(errors.As(err, &blocked)).To(BeTrue())
	w.Expect(blocked.By.State).To(Equal(job.Unknown))
	w.Expect(blocked.By.ID).To(Equal(made.Attempt.ID))
	w.Expect(w.attempts(made)).To(HaveLen(1))

	w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventResolveFailed, Reason: "resolved", Decision: stop()})
	for number := 2; number <= 3; number++ {
		added, err := w.Store.AddAttempt(w.ctx, manual(made, fresh("key"), ""))
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(added.Attempt.Number).To(Equal(number))
		w.apply(failure(added.Attempt.Ref, stop()))
	}
	_, err = w.Store.AddAttempt(w.ctx, manual(made, "late", ""))
	w.Expect(err).To(MatchError(store.ErrAttemptsExhausted))

	done := w.create()
	w.apply(answer(done.Attempt.Ref, `1`))
	_, err = w.Store.AddAttempt(w.ctx, manual(done, "a", ""))
	w.Expect(err).To(MatchError(store.ErrJobFinal))
	_, err = w.Store.AddAttempt(w.ctx, manual(store.Made{Job: job.Job{Owner: "globex", ID: done.Job.ID}}, "a", ""))
	w.Expect(err).To(MatchError(store.ErrNotFound))
}

func attemptKeys(w *world) {
	made := w.create()
	w.apply(failure(made.Attempt.Ref, stop()))
	first, err := w.Store.AddAttempt(w.ctx, manual(made, "mine", "f1"))
	w.Expect(err).NotTo(HaveOccurred())
	again, err := w.Store.AddAttempt(w.ctx, manual(made, "mine", "f1"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(again.Created).To(BeFalse())
	w.Expect(again.Attempt.ID).To(Equal(first.Attempt.ID))
	_, err = w.Store.AddAttempt(w.ctx, manual(made, "mine", "f2"))
	var conflict *store.KeyConflict
	w.Expect(errors.As(err, &conflict)).To(BeTrue())
	w.Expect(w.attempts(made)).To(HaveLen(2))
}

func cancelsJob(w *world) {
	made := w.create()
	cancelled, err := w.Store.CancelJob(w.ctx, made.Job.Owner, made.Job.ID, "key-1")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(cancelled.State).To(Equal(job.JobCancelled))
	w.Expect(cancelled.Version).To(BeEquivalentTo(2))
	w.Expect(w.job(made)).To(Equal(cancelled))
	w.Expect(w.attempts(made)[0].State).To(Equal(job.Cancelled))
	_, err = w.Store.CancelJob(w.ctx, made.Job.Owner, made.Job.ID, "key-1")
	w.Expect(err).To(MatchError(store.ErrJobFinal))

	late := w.apply(answer(made.Attempt.Ref, `"late"`))
	w.Expect(late.Moved).To(BeFalse())
	w.Expect(w.job(made)).To(Equal(cancelled))
	w.Expect(w.history(made)).To(HaveKeyWithValue(job.HistoryLateAnswer, 1))
	w.Expect(w.attempts(made)[0].Usage).NotTo(BeNil(), "what the late answer cost is kept")
}

func notSent(w *world) {
	made := w.create()
	change := failure(made.Attempt.Ref, stop())
	change.Reason, change.NotSent = "not_sent", true
	w.apply(change)
	w.Expect(w.attempts(made)[0].Sends).To(BeZero())
}
