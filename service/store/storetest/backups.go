package storetest

import (
	"errors"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var backups = []behaviour{
	{"a restored backup keeps every key, winner, proof and history", restoredAnswers},
	{"on a restored backup what ran falls into doubt and what waited goes on", restoredGoesOn},
	{"schema: a restored backup has every guard", restoredGuards},
}

// restored hands every copy of what prepare leaves behind to check.
func restored(w *world, prepare func() map[string]store.Made, check func(copied *world, jobs map[string]store.Made)) {
	jobs := prepare()
	w.Expect(w.Copies).NotTo(BeEmpty())
	for _, copied := range w.Copies {
		w.t.Log(copied.Tool)
		check(&world{Gomega: w.Gomega, Backend: copied.Take(w.t), t: w.t, ctx: w.ctx}, jobs)
	}
}

// everyLife is a job in each state that a backup may meet.
func (w *world) everyLife() map[string]store.Made {
	jobs := map[string]store.Made{
		"waiting": w.attemptIn(job.Starting), "running": w.attemptIn(job.Running), "in doubt": w.attemptIn(job.Unknown),
		"released": w.attemptIn(job.Released), "won": w.attemptIn(job.Succeeded), "failed": w.attemptIn(job.Failed),
		"superseded": w.attemptIn(job.Superseded), "due": w.doubtDue(job.DueReconcile, -time.Second),
	}
	id := w.certify(fallback)
	moved := w.create()
	decision := sendAt(fallback, id)
	decision.Candidates = append(decision.Candidates, w.key(fallback))
	w.apply(failure(moved.Attempt.Ref, decision))
	jobs["fallen over"] = moved
	return jobs
}

func restoredAnswers(w *world) {
	restored(w, func() map[string]store.Made {
		jobs := w.everyLife()
		purged := w.attemptIn(job.Succeeded)
		w.Expect(w.raw("UPDATE jobs SET updated_at = '"+longAgo+"' WHERE id = ¿", purged.Job.ID)).To(Succeed())
		w.Expect(w.purge(10)).To(Equal(1))
		jobs["purged"] = purged
		return jobs
	}, func(copied *world, jobs map[string]store.Made) {
		for life, made := range jobs {
			again := made.Job
			again.ID = fresh("job")
			if life == "purged" {
				w.Expect(copied.tombstone(made)).To(Equal(w.tombstone(made)))
				_, err := copied.Store.CreateJob(w.ctx, createOf(again, sendAt(primary, "")))
				w.Expect(err).To(MatchError(store.ErrPurged))
				continue
			}
			w.Expect(copied.job(made)).To(Equal(w.job(made)), life)
			w.Expect(copied.attempts(made)).To(Equal(w.attempts(made)), life)
			w.Expect(copied.history(made)).To(Equal(w.history(made)), life)
			replayed, err := copied.Store.CreateJob(w.ctx, createOf(again, sendAt(primary, "")))
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(replayed.Created).To(BeFalse(), life)
			w.Expect(replayed.Job.ID).To(Equal(made.Job.ID), life)
		}
		w.Expect(copied.bells("attempt_turn")).To(Equal(w.bells("attempt_turn")), "doorbells come along")
		w.Expect(copied.bells("attempt_due")).To(Equal(w.bells("attempt_due")))
		w.Expect(copied.reasons(fallback)).To(BeEmpty(), "the proof stands")
		w.Expect(copied.apply(answer(jobs["won"].Attempt.Ref, `"again"`)).Moved).To(BeFalse())
		w.Expect(copied.job(jobs["won"]).Result).To(Equal(`1`))
	})
}

func restoredGoesOn(w *world) {
	restored(w, w.everyLife, func(copied *world, jobs map[string]store.Made) {
		for _, life := range []string{"running", "in doubt", "released", "due"} { // what its old replica may have sent
			made := jobs[life]
			w.Expect(copied.apply(orphan(made.Attempt.Ref)).Moved).To(BeFalse(), "%s: its lease lasts", life)
			w.Expect(copied.raw("UPDATE attempts SET lease_until = '"+longAgo+"' WHERE job_id = ¿", made.Job.ID)).To(Succeed())
		}
		overdue, err := copied.Store.Overdue(w.ctx, 100)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(overdue).To(HaveLen(4))
		for _, attempt := range overdue {
			change := orphan(attempt.Ref)
			change.Decision = stop()
			copied.apply(change)
		}
		lost := copied.attempts(jobs["running"])[0]
		w.Expect(lost.State).To(Equal(job.Unknown))
		w.Expect(lost.Reason).To(Equal("worker_lost"))
		w.Expect(copied.attempts(jobs["in doubt"])[0].State).To(Equal(job.Unknown))
		w.Expect(copied.attempts(jobs["released"])[0].State).To(Equal(job.Released))
		for _, life := range []string{"running", "in doubt", "due"} {
			_, err := copied.Store.AddAttempt(w.ctx, manual(jobs[life], fresh("key"), ""))
			var blocked *store.Blocked
			w.Expect(errors.As(err, &blocked)).To(BeTrue(), "%s: nothing is sent again: %v", life, err)
			_, err = copied.Store.Apply(w.ctx, store.Change{Ref: jobs[life].Attempt.Ref, Event: job.EventResend, BootID: "boot-2", Lease: time.Minute})
			var illegal *store.IllegalTransition
			w.Expect(errors.As(err, &illegal)).To(BeTrue(), "%s: %v", life, err)
			w.Expect(copied.attempts(jobs[life])[0].Sends).To(Equal(1), life)
		}
		turn := copied.apply(store.Change{Ref: jobs["waiting"].Attempt.Ref, Event: job.EventTurn, BootID: "boot-2", Lease: time.Minute})
		w.Expect(turn.Attempt.Sends).To(Equal(1), "what had never been sent is sent once")
		copied.apply(answer(jobs["waiting"].Attempt.Ref, `"restored"`))
		copied.apply(answer(jobs["running"].Attempt.Ref, `"late"`))
		w.Expect(copied.job(jobs["running"]).Result).To(Equal(`"late"`), "doubt ends as it always does")
		w.Expect(w.job(jobs["running"]).State).To(Equal(job.JobRunning), "the original knows nothing of its copy")
	})
}

func restoredGuards(w *world) {
	restored(w, w.everyLife, func(copied *world, _ map[string]store.Made) {
		for _, guard := range append([]behaviour{{"an attempt is sent once", schemaSentOnce}, {"only a purge empties a job", schemaPurge}}, guards...) {
			w.t.Log(guard.name)
			guard.test(copied)
		}
	})
}
