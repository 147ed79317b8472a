package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var retention = []behaviour{
	{"a purge leaves a tombstone of every closed job and nothing else of it", leavesTombstones},
	{"a tombstone answers for its key: the same intent is gone, another one is a conflict", tombstoneAnswers},
	{"no method changes a tombstone", tombstoneStays},
	{"nothing is purged before its time, or while it may still move by itself", spares},
	{"purging goes in batches, oldest first, each job once", purgesInBatches},
	{"a purge passes over what another transaction holds", purgeSkipsLocked},
	{"a purge and a reopening of one job exclude each other", purgeAgainstReopening},
	{"schema: only a purge empties a job, and only a closed one", schemaPurge},
	{"schema: a tombstone never changes and never leaves", schemaTombstone},
	{"schema: attempts and events are deleted of a purged job only", schemaDelete},
}

const longAgo = "2020-02-02T02:02:02.000000Z"

// age makes every job old enough for purge.
func (w *world) age() {
	w.t.Helper()
	w.Expect(w.raw("UPDATE jobs SET updated_at = '" + longAgo + "' WHERE purged_at IS NULL")).To(Succeed())
}

// purge empties what is older than an hour.
func (w *world) purge(limit int) int {
	w.t.Helper()
	purged, err := w.Store.Purge(w.ctx, time.Hour, limit)
	w.Expect(err).NotTo(HaveOccurred())
	return purged
}

// purged makes a job, ends it and purges it.
func (w *world) purged(state job.State) store.Made {
	w.t.Helper()
	made := w.attemptIn(state)
	w.age()
	w.Expect(w.purge(10)).To(Equal(1))
	return made
}

// tombstone reads what is left of a purged job.
func (w *world) tombstone(made store.Made) job.Job {
	w.t.Helper()
	left, err := w.Store.Job(w.ctx, made.Job.Owner, made.Job.ID)
	w.Expect(err).To(MatchError(store.ErrPurged))
	return left
}

func (w *world) rows(table string, made store.Made) int {
	w.t.Helper()
	var n int
	w.Expect(w.Raw.QueryRowContext(w.ctx, "SELECT count(*) FROM "+table+" WHERE job_id = '"+made.Job.ID+"'").Scan(&n)).To(Succeed())
	return n
}

func leavesTombstones(w *world) {
	for _, state := range []job.State{job.Succeeded, job.Failed, job.Superseded} {
		made := w.attemptIn(state)
		w.age()
		was := w.job(made)
		w.Expect(w.purge(10)).To(Equal(1), string(state))
		left := w.tombstone(made)
		w.Expect(left.PurgedAt.IsZero()).To(BeFalse())
		want := job.Job{
			ID: was.ID, Owner: was.Owner, IdempotencyKey: was.IdempotencyKey, Fingerprint: was.Fingerprint,
			Contract: was.Contract, ContractDigest: was.ContractDigest, SentTarget: was.SentTarget, Target: was.Target,
			State: was.State, Version: was.Version + 1, CompletedBy: was.CompletedBy,
			CreatedAt: was.CreatedAt, UpdatedAt: was.UpdatedAt, CompletedAt: was.CompletedAt, PurgedAt: left.PurgedAt,
		}
		w.Expect(left).To(Equal(want))
		w.Expect(w.rows("attempts", made)).To(BeZero())
		w.Expect(w.rows("events", made)).To(BeZero())
		content, err := w.Store.ContractContent(w.ctx, was.ContractDigest)
		w.Expect(err).NotTo(HaveOccurred(), "what a job was created under may be wanted again")
		w.Expect(content).NotTo(BeEmpty())
	}
	cancelled := w.create()
	_, err := w.Store.CancelJob(w.ctx, cancelled.Job.Owner, cancelled.Job.ID, "test")
	w.Expect(err).NotTo(HaveOccurred())
	w.age()
	w.Expect(w.purge(10)).To(Equal(1))
	w.Expect(w.tombstone(cancelled).State).To(Equal(job.JobCancelled))
	w.Expect(w.purge(10)).To(BeZero(), "once")
}

func tombstoneAnswers(w *world) {
	for _, state := range []job.State{job.Succeeded, job.Failed} {
		made := w.purged(state)
		again := made.Job
		again.ID = fresh("job")
		_, err := w.Store.CreateJob(w.ctx, createOf(again, sendAt(primary, "")))
		w.Expect(err).To(MatchError(store.ErrPurged))
		other := again
		other.Input = `{"name":"Bob"}`
		_, err = w.Store.CreateJob(w.ctx, createOf(fingerprinted(other), sendAt(primary, "")))
		var conflict *store.KeyConflict
		w.Expect(errors.As(err, &conflict)).To(BeTrue(), "%v", err)
		w.Expect(conflict).To(Equal(&store.KeyConflict{Purged: true}))
		left, err := w.Store.JobByKey(w.ctx, "acme", made.Job.IdempotencyKey)
		w.Expect(err).To(MatchError(store.ErrPurged))
		w.Expect(left).To(Equal(w.tombstone(made)))
		w.Expect(left.ID).To(Equal(made.Job.ID), "never a second job")
	}
	items, _, err := w.Store.ListJobs(w.ctx, store.JobFilter{Owner: "acme"})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(items).To(BeEmpty(), "lists leave tombstones out")
}

func tombstoneStays(w *world) {
	made := w.purged(job.Failed)
	before := w.tombstone(made)
	for name, try := range map[string]func() error{
		"Attempts":      func() error { _, err := w.Store.Attempts(w.ctx, "acme", made.Job.ID); return err },
		"Attempt":       func() error { _, err := w.Store.Attempt(w.ctx, made.Attempt.Ref); return err },
		"Events":        func() error { _, err := w.Store.Events(w.ctx, "acme", made.Job.ID, 0); return err },
		"AddAttempt":    func() error { _, err := w.Store.AddAttempt(w.ctx, manual(made, fresh("key"), "")); return err },
		"CancelJob":     func() error { _, err := w.Store.CancelJob(w.ctx, "acme", made.Job.ID, "test"); return err },
		"NoteReference": func() error { return w.Store.NoteReference(w.ctx, made.Attempt.Ref, "resp_1") },
		"RingAgain":     func() error { return w.Store.RingAgain(w.ctx, made.Attempt.Ref) },
		"Postpone": func() error {
			_, err := w.Store.Postpone(w.ctx, store.Postpone{Ref: made.Attempt.Ref, Step: job.DueReconcile})
			return err
		},
		"Apply": func() error { _, err := w.Store.Apply(w.ctx, answer(made.Attempt.Ref, `"late"`)); return err },
	} {
		err := try()
		w.Expect(err).To(MatchError(store.ErrPurged), name)
		w.Expect(err).To(MatchError(store.ErrNotFound), "%s: it is gone for whoever asks no further", name)
	}
	w.Expect(w.tombstone(made)).To(Equal(before))
	w.Expect(w.rows("attempts", made)).To(BeZero())
	w.Expect(w.rows("events", made)).To(BeZero())
	_, err := w.Store.Job(w.ctx, "globex", made.Job.ID)
	w.Expect(errors.Is(err, store.ErrPurged)).To(BeFalse(), "another owner learns nothing")
	w.Expect(err).To(MatchError(store.ErrNotFound))
	_, err = w.Store.Attempt(w.ctx, job.Ref{Owner: "globex", JobID: made.Job.ID, Number: 1})
	w.Expect(errors.Is(err, store.ErrPurged)).To(BeFalse())
}

func spares(w *world) {
	w.attemptIn(job.Succeeded)
	w.Expect(w.purge(10)).To(BeZero(), "it is younger than an hour")
	w.age()
	w.Expect(w.purge(10)).To(Equal(1))

	open := map[string]store.Made{
		"waits": w.attemptIn(job.Starting), "runs": w.attemptIn(job.Running), "is in doubt": w.attemptIn(job.Unknown),
		"is released and heard": w.attemptIn(job.Released),
	}
	won, second := w.race() // its rival is still heard
	w.apply(answer(second.Ref, `"second"`))
	open["won, and its rival is heard"] = won
	asked := w.doubtDue(job.DueReconcile, -time.Second) // its provider will be asked
	w.apply(store.Change{Ref: asked.Attempt.Ref, Event: job.EventRelease, Decision: planned(job.DueReconcile, time.Hour)})
	w.apply(store.Change{Ref: asked.Attempt.Ref, Event: job.EventUnheard, Reason: "give_up", Decision: planned(job.DueReconcile, time.Hour)})
	w.Expect(w.job(asked).State).To(Equal(job.JobFailed))
	open["waits for its provider's word"] = asked
	w.age()
	w.Expect(w.purge(100)).To(BeZero())
	for why, made := range open {
		w.Expect(w.job(made).PurgedAt.IsZero()).To(BeTrue(), why)
	}

	w.apply(answer(won.Attempt.Ref, `"first"`))
	w.apply(store.Change{Ref: open["is released and heard"].Attempt.Ref, Event: job.EventUnheard, Reason: "give_up", Decision: stop()})
	w.apply(store.Change{Ref: asked.Attempt.Ref, Event: job.EventResolveFailed, Reason: "absent", Decision: stop()})
	w.age()
	w.Expect(w.purge(100)).To(Equal(3), "nothing more is heard")
}

func purgesInBatches(w *world) {
	for range 5 {
		w.attemptIn(job.Succeeded)
	}
	w.age()
	oldest := w.attemptIn(job.Failed)
	w.Expect(w.raw("UPDATE jobs SET updated_at = '2019-01-01T00:00:00.000000Z' WHERE id = ¿", oldest.Job.ID)).To(Succeed())
	w.Expect(w.purge(1)).To(Equal(1))
	w.tombstone(oldest)
	w.Expect(w.purge(2)).To(Equal(2))
	w.Expect(w.purge(2)).To(Equal(2))
	w.Expect(w.purge(2)).To(Equal(1))
	w.Expect(w.purge(2)).To(BeZero())

	const jobs = 24
	for range jobs {
		w.attemptIn(job.Failed)
	}
	w.age()
	var total atomic.Int64
	together(4, func(int) { // replicas that purge at once
		for range jobs {
			purged, err := w.Store.Purge(w.ctx, time.Hour, 3)
			w.Expect(err).NotTo(HaveOccurred())
			total.Add(int64(purged))
		}
	})
	w.Expect(total.Load()).To(BeEquivalentTo(jobs))
}

// purgeSkipsLocked holds one job's row. With one writer, as SQLite has, nobody can hold a row beside a purge.
func purgeSkipsLocked(w *world) {
	held, free := w.attemptIn(job.Failed), w.attemptIn(job.Failed)
	w.age()
	if !w.Postgres {
		w.Expect(w.purge(10)).To(Equal(2))
		return
	}
	holder, err := w.Raw.BeginTx(w.ctx, nil)
	w.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = holder.Rollback() }() // done already unless the test fails
	_, err = holder.ExecContext(w.ctx, "SELECT 1 FROM jobs WHERE id = $1 FOR UPDATE", held.Job.ID)
	w.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(w.ctx, 20*time.Second)
	defer cancel()
	purged, err := w.Store.Purge(ctx, time.Hour, 10)
	w.Expect(err).NotTo(HaveOccurred(), "it does not wait")
	w.Expect(purged).To(Equal(1))
	w.tombstone(free)
	w.Expect(w.job(held).PurgedAt.IsZero()).To(BeTrue())
	w.Expect(holder.Rollback()).To(Succeed())
	w.Expect(w.purge(10)).To(Equal(1))
}

func purgeAgainstReopening(w *world) {
	for range 30 {
		made := w.attemptIn(job.Failed)
		w.age()
		var added, purged error
		emptied := 0
		together(2, func(i int) {
			if i == 0 {
				_, added = w.Store.AddAttempt(w.ctx, manual(made, "again", ""))
				return
			}
			emptied, purged = w.Store.Purge(w.ctx, time.Hour, 10)
		})
		w.Expect(purged).NotTo(HaveOccurred())
		if emptied == 1 {
			w.Expect(added).To(MatchError(store.ErrPurged))
			w.tombstone(made)
			continue
		}
		w.Expect(added).NotTo(HaveOccurred())
		w.Expect(w.job(made).State).To(Equal(job.JobRunning))
		w.Expect(w.attempts(made)).To(HaveLen(2))
	}
}
