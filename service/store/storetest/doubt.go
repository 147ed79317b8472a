package storetest

import (
	"errors"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var doubt = []behaviour{
	{"an attempt in doubt blocks and keeps the job unknown until a late answer wins", lateAnswerWins},
	{"a released attempt keeps the job unknown while it is heard and may still win", releasedMayWin},
	{"time alone never turns doubt into failure", unheardStays},
	{"nothing more heard under a final job supersedes", unheardAfterWinner},
	{"a doubt resolved as succeeded takes the slot", resolvedAsSucceeded},
	{"a cancelled attempt is fenced without fencing its rivals", cancelledIsFenced},
	{"the sweep changes only what is overdue by the database's clock", sweepGuard},
	{"a lease of no time, or of less, is overdue at once", overdueAtOnce},
	{"times that a caller brings along decide nothing", callersTimes},
	{"a swept lease is not renewed, another incarnation's neither", leases},
}

func lateAnswerWins(w *world) {
	made := w.create()
	doubtful := w.doubt(made.Attempt.Ref)
	w.Expect(doubtful.Job.State).To(Equal(job.JobUnknown))
	w.Expect(doubtful.Attempt.Reason).To(Equal("timeout"))
	w.Expect(doubtful.Attempt.Heard).To(BeTrue())
	w.Expect(doubtful.Job.Version).To(BeEquivalentTo(1), "doubt moves no version")
	late := w.apply(answer(made.Attempt.Ref, `"late"`))
	w.Expect(late.Attempt.State).To(Equal(job.Succeeded))
	w.Expect(w.job(made).Result).To(Equal(`"late"`))
}

func releasedMayWin(w *world) {
	made := w.attemptIn(job.Released)
	w.Expect(w.job(made).State).To(Equal(job.JobUnknown))
	w.Expect(w.attempts(made)[0].Reason).To(Equal("timeout"), "why it was in doubt stays")
	w.apply(answer(made.Attempt.Ref, `"late"`))
	w.Expect(w.job(made).Result).To(Equal(`"late"`))
}

func unheardStays(w *world) {
	inDoubt := w.attemptIn(job.Unknown)
	applied := w.apply(store.Change{Ref: inDoubt.Attempt.Ref, Event: job.EventUnheard, Reason: "give_up", Decision: stop()})
	w.Expect(applied.Attempt.State).To(Equal(job.Unknown))
	w.Expect(applied.Attempt.Heard).To(BeFalse())
	w.Expect(w.job(inDoubt).State).To(Equal(job.JobUnknown), "unknown blocks whether heard or not")

	released := w.attemptIn(job.Released)
	applied = w.apply(store.Change{Ref: released.Attempt.Ref, Event: job.EventUnheard, Reason: "give_up", Decision: stop()})
	w.Expect(applied.Attempt.State).To(Equal(job.Released))
	w.Expect(w.job(released).State).To(Equal(job.JobFailed), "nothing is heard and no step is left")
	again := w.apply(store.Change{Ref: released.Attempt.Ref, Event: job.EventUnheard, Reason: "give_up", Decision: stop()})
	w.Expect(again.Moved).To(BeFalse())
	w.Expect(w.history(released)).To(HaveKeyWithValue(job.HistoryUnheard, 1))

	w.apply(answer(released.Attempt.Ref, `"after all"`))
	w.Expect(w.job(released).State).To(Equal(job.JobSucceeded), "a late winner may still succeed a failed job")
}

func unheardAfterWinner(w *world) {
	made := w.create()
	w.doubt(made.Attempt.Ref)
	released := w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventRelease, Decision: sendAt(primary, "")})
	w.apply(answer(released.Next.Ref, `"second"`))
	w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventUnheard, Reason: "give_up"})
	first := w.attempts(made)[0]
	w.Expect(first.State).To(Equal(job.Superseded))
	w.Expect(first.Reason).To(Equal("unheard"))
}

func resolvedAsSucceeded(w *world) {
	made := w.attemptIn(job.Unknown)
	change := store.Change{Ref: made.Attempt.Ref, Event: job.EventResolveSucceeded, By: "operator", Note: "seen in the provider's log",
		Answer: &store.Answer{Result: `"by hand"`}}
	w.apply(change)
	w.Expect(w.job(made).Result).To(Equal(`"by hand"`))
	w.Expect(w.detail(made, job.HistoryJobSucceeded)).To(HaveKeyWithValue("note", "seen in the provider's log"))
	w.Expect(w.apply(change).Moved).To(BeFalse(), "a repeated resolution is no second winner")
	change.Answer.Result = ` "by h\u0061nd" `
	w.Expect(w.apply(change).Moved).To(BeFalse(), "nor is the same in other letters")

	change.Answer.Result = `"another"`
	_, err := w.Store.Apply(w.ctx, change)
	var illegal *store.IllegalTransition
	w.Expect(errors.As(err, &illegal)).To(BeTrue(), "what contradicts the winner is refused, and not dropped in silence: %v", err)
	w.Expect(w.apply(answer(made.Attempt.Ref, `"another"`)).Moved).To(BeFalse())
	w.Expect(w.history(made)).To(HaveKeyWithValue(job.HistoryLateAnswer, 1), "what the provider said after all is kept")
	w.Expect(w.job(made).Result).To(Equal(`"by hand"`))
}

func cancelledIsFenced(w *world) {
	made := w.create()
	w.doubt(made.Attempt.Ref)
	cancelled := w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventCancel, By: "operator", Decision: sendAt(primary, "")})
	w.Expect(cancelled.Next).NotTo(BeNil())
	late := w.apply(answer(made.Attempt.Ref, `"fenced"`))
	w.Expect(late.Moved).To(BeFalse())
	w.Expect(w.job(made).State).To(Equal(job.JobRunning))
	w.apply(answer(cancelled.Next.Ref, `"rival"`))
	w.Expect(w.job(made).Result).To(Equal(`"rival"`))
	w.Expect(w.history(made)).To(HaveKeyWithValue(job.HistoryLateAnswer, 1))
}

func orphan(ref job.Ref) store.Change {
	return store.Change{Ref: ref, Event: job.EventDoubt, Reason: "worker_lost", OnlyIfOverdue: true}
}

func sweepGuard(w *world) {
	alive := w.create()
	w.Expect(w.apply(orphan(alive.Attempt.Ref)).Moved).To(BeFalse(), "a live lease is left alone")
	w.Expect(w.attempts(alive)[0].State).To(Equal(job.Running))

	dead := w.attemptWithLease(-time.Second)
	overdue, err := w.Store.Overdue(w.ctx, 10)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(overdue).To(HaveExactElements(HaveField("ID", dead.Attempt.ID)))
	swept := w.apply(orphan(dead.Attempt.Ref))
	w.Expect(swept.Attempt.State).To(Equal(job.Unknown))
	w.Expect(swept.Attempt.Reason).To(Equal("worker_lost"))
	w.Expect(swept.Attempt.Heard).To(BeFalse())
	overdue, err = w.Store.Overdue(w.ctx, 10)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(overdue).To(BeEmpty())

	finished := w.attemptWithLease(-time.Second)
	w.apply(answer(finished.Attempt.Ref, `1`))
	w.Expect(w.apply(orphan(finished.Attempt.Ref)).Moved).To(BeFalse(), "the sweep read before the answer came")
	w.Expect(w.job(finished).State).To(Equal(job.JobSucceeded))
}

func overdueAtOnce(w *world) {
	for _, lease := range []time.Duration{0, -time.Nanosecond, -time.Hour} {
		made := w.attemptWithLease(lease)
		overdue, err := w.Store.Overdue(w.ctx, 10)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(overdue).To(HaveExactElements(HaveField("ID", made.Attempt.ID)), "a lease of %s", lease)
		w.Expect(w.apply(orphan(made.Attempt.Ref)).Attempt.State).To(Equal(job.Unknown))
	}
}

// callersTimes: a replica whose clock is wrong changes nothing, because the store is told how long and never
// until when, and takes no time from a job that it is handed.
func callersTimes(w *world) {
	for _, off := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		wrong := time.Now().Add(off)
		intent := newJob("acme")
		intent.CreatedAt, intent.UpdatedAt, intent.CompletedAt, intent.UnknownSince = wrong, wrong, wrong, wrong
		made, err := w.Store.CreateJob(w.ctx, createOf(intent, sendAt(primary, "")))
		w.Expect(err).NotTo(HaveOccurred())
		doubts, err := w.Store.Doubts(w.ctx, "acme")
		w.Expect(err).NotTo(HaveOccurred())
		near := BeTemporally("~", doubts.Now, time.Minute)
		stored, attempt := w.job(made), w.attempts(made)[0]
		w.Expect(stored.CreatedAt).To(near)
		w.Expect(stored.UpdatedAt).To(near)
		w.Expect(stored.CompletedAt.IsZero() && stored.UnknownSince.IsZero()).To(BeTrue())
		w.Expect(attempt.StartedAt).To(near)
		w.Expect(attempt.LeaseUntil.Sub(attempt.StartedAt)).To(Equal(time.Minute), "counted from the database's now")
		w.Expect(w.apply(orphan(made.Attempt.Ref)).Moved).To(BeFalse(), "its lease is not over")
	}
}

func (w *world) attemptWithLease(lease time.Duration) store.Made {
	w.t.Helper()
	made, err := w.Store.CreateJob(w.ctx, createOf(newJob("acme"), decide(func(store.View) store.Step {
		attempt := running(primary, "")
		attempt.Lease = lease
		return store.Step{Attempt: attempt}
	})))
	w.Expect(err).NotTo(HaveOccurred())
	return made
}

func leases(w *world) {
	mine := w.attemptWithLease(-time.Second)
	held, err := w.Store.RenewLeases(w.ctx, "boot-2", time.Minute)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(held).To(BeEmpty())
	held, err = w.Store.RenewLeases(w.ctx, bootID, -time.Second)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(held).To(HaveExactElements(mine.Attempt.Ref))
	w.apply(orphan(mine.Attempt.Ref))
	held, err = w.Store.RenewLeases(w.ctx, bootID, time.Minute)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(held).To(BeEmpty(), "what was swept is not taken back")

	var illegal *store.IllegalTransition
	_, err = w.Store.Apply(w.ctx, store.Change{Ref: mine.Attempt.Ref, Event: job.EventTurn, BootID: bootID, Lease: time.Minute})
	w.Expect(errors.As(err, &illegal)).To(BeTrue())
}
