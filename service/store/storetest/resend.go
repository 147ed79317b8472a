package storetest

import (
	"errors"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// resend is what holds where one attempt may be sent more than once, and where several may win.
var resend = []behaviour{
	{"what an earlier send heard last changes nothing after a resend", earlierSendIsOutdated},
	{"a valid answer to an earlier send wins after a resend", earlierSendMayWin},
	{"a resend that did not leave the machine is doubt about the send before", unsentResendIsDoubt},
	{"an absence that was found out before a resend says nothing of it", earlierAbsenceIsOutdated},
	{"what was found out about an earlier send is forgotten at a resend", findingsAreOfOneSend},
	{"an attempt without a key of its own is sent once", sentOnce},
	{"schema: an attempt is sent once unless it was sent with its own key", schemaSentOnce},
	{"a winner supersedes the rivals that nobody hears and leaves those that are heard", supersedesUnheard},
}

var ownKey = job.Settling{SentTo: "https://alpha.example/v1", IdempotencyHeader: "Idempotency-Key"}

// resent leaves a job whose attempt was sent with its own key, fell into doubt, and was sent again.
func (w *world) resent() store.Made {
	w.t.Helper()
	made, err := w.Store.CreateJob(w.ctx, createOf(newJob("acme"), decide(func(store.View) store.Step {
		attempt := running(primary, "")
		attempt.Settling = ownKey
		return store.Step{Attempt: attempt}
	})))
	w.Expect(err).NotTo(HaveOccurred())
	w.doubt(made.Attempt.Ref)
	again := w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventResend, BootID: "boot-2", Lease: time.Minute, Settling: ownKey})
	w.Expect(again.Attempt.State).To(Equal(job.Running))
	w.Expect(again.Attempt.Sends).To(Equal(2))
	w.Expect(again.Attempt.BootID).To(Equal("boot-2"))
	w.Expect(again.Attempt.ID).To(Equal(made.Attempt.ID), "it is the same attempt")
	return made
}

func earlierSendIsOutdated(w *world) {
	made := w.resent()
	for _, event := range []job.Event{job.EventDoubt, job.EventFailure} {
		change := store.Change{Ref: made.Attempt.Ref, Event: event, Reason: "connection_lost", Send: 1, Decision: stop()}
		w.unchanged(made, func() { w.Expect(w.apply(change).Moved).To(BeFalse(), string(event)) })
	}
	second := store.Change{Ref: made.Attempt.Ref, Event: job.EventDoubt, Reason: "timeout", Send: 2, Heard: true}
	w.Expect(w.apply(second).Attempt.State).To(Equal(job.Unknown), "the send that counts is heard")
}

func earlierSendMayWin(w *world) {
	made := w.resent()
	change := answer(made.Attempt.Ref, `"of the first send"`)
	change.Send = 1
	w.Expect(w.apply(change).Attempt.State).To(Equal(job.Succeeded))
	w.Expect(w.job(made).Result).To(Equal(`"of the first send"`))
}

func unsentResendIsDoubt(w *world) {
	made := w.resent()
	after := w.apply(store.Change{
		Ref: made.Attempt.Ref, Event: job.EventFailure, Reason: "not_sent", Retryable: true, NotSent: true, Send: 2, By: "boot-2", Decision: stop(),
	}).Attempt
	w.Expect(after.State).To(Equal(job.Unknown))
	w.Expect(after.Sends).To(Equal(1))
	w.Expect(after.LeaseUntil.IsZero()).To(BeTrue())
}

func earlierAbsenceIsOutdated(w *world) {
	made := w.resent()
	w.doubt(made.Attempt.Ref)
	absence := store.Change{Ref: made.Attempt.Ref, Event: job.EventResolveFailed, Reason: "not_executed", Send: 1, Decision: stop()}
	w.unchanged(made, func() { w.Expect(w.apply(absence).Moved).To(BeFalse()) })
	absence.Send = 2
	w.Expect(w.apply(absence).Attempt.State).To(Equal(job.Failed))
}

func findingsAreOfOneSend(w *world) {
	made, err := w.Store.CreateJob(w.ctx, createOf(newJob("acme"), decide(func(store.View) store.Step {
		attempt := running(primary, "")
		attempt.Settling = ownKey
		return store.Step{Attempt: attempt}
	})))
	w.Expect(err).NotTo(HaveOccurred())
	w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventDoubt, Reason: "timeout", Decision: planned(job.DueReconcile, 0)})
	asked, err := w.Store.Postpone(w.ctx, store.Postpone{
		Ref: made.Attempt.Ref, Step: job.DueReconcile, Finding: "unreachable", Decision: planned(job.DueReconcile, time.Minute),
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(asked.Asked).To(Equal(1))
	w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventResend, BootID: bootID, Lease: time.Minute, Settling: ownKey})
	again := w.attempts(made)[0]
	w.Expect(again.Asked).To(BeZero())
	w.Expect(again.Finding).To(BeEmpty())
}

func sentOnce(w *world) {
	made := w.attemptIn(job.Unknown)
	w.unchanged(made, func() {
		_, err := w.Store.Apply(w.ctx, store.Change{
			Ref: made.Attempt.Ref, Event: job.EventResend, BootID: bootID, Lease: time.Minute, Settling: ownKey,
		})
		var illegal *store.IllegalTransition
		w.Expect(errors.As(err, &illegal)).To(BeTrue(), "a key that comes with the resend was not in the first send: %v", err)
	})
}

func schemaSentOnce(w *world) {
	made := w.attemptIn(job.Unknown)
	for _, change := range []string{"sends = 2", "sends = sends + 1, state = 'running'", "sends = 2, idempotency_header = 'Idempotency-Key'"} {
		w.unchanged(made, func() {
			w.Expect(w.raw("UPDATE attempts SET "+change+" WHERE job_id = ¿", made.Job.ID)).To(MatchError(ContainSubstring("sent once")), change)
		})
	}
	waits := w.attemptIn(job.Starting)
	w.Expect(w.raw("UPDATE attempts SET sends = 1 WHERE job_id = ¿", waits.Job.ID)).To(Succeed(), "the first send")
	keyed := w.resent()
	w.Expect(w.raw("UPDATE attempts SET sends = 3 WHERE job_id = ¿", keyed.Job.ID)).To(Succeed(), "sent with its own key")
}

func supersedesUnheard(w *world) {
	made, second := w.race()
	w.apply(answer(second.Ref, `"second"`))
	w.Expect(w.attempts(made)[0].State).To(Equal(job.Released), "it is heard and may yet say what it cost")

	made, second = w.race()
	w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventUnheard, Reason: "give_up", Decision: stop()})
	w.apply(answer(second.Ref, `"second"`))
	rival := w.attempts(made)[0]
	w.Expect(rival.State).To(Equal(job.Superseded))
	w.Expect(rival.Reason).To(Equal("unheard"))
	w.Expect(rival.FinishedAt.IsZero()).To(BeFalse())

	made, second = w.race()
	w.apply(failure(second.Ref, stop()))
	w.apply(answer(made.Attempt.Ref, `"first"`))
	w.Expect(w.attempts(made)[1].State).To(Equal(job.Failed), "what had ended is left alone")
}
