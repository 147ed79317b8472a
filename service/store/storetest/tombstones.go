package storetest

import (
	"regexp"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
)

// emptying is what a purge writes.
const emptying = "version = version + 1, input = '', metadata = '', plan = '{}', error = NULL, " +
	"result = CASE WHEN result IS NULL THEN NULL ELSE '' END"

func schemaPurge(w *world) {
	purge := func(id, changes string) error {
		return w.raw("UPDATE jobs SET purged_at = "+w.now()+", "+changes+" WHERE id = ¿", id)
	}
	for _, state := range []job.State{job.Starting, job.Running, job.Unknown, job.Released} {
		made := w.attemptIn(state)
		w.Expect(purge(made.Job.ID, emptying)).To(MatchError(ContainSubstring("may still move")), string(state))
		w.Expect(w.job(made).Input).To(Equal(made.Job.Input))
	}
	rival, second := w.race()
	w.apply(answer(second.Ref, `"second"`))
	w.Expect(purge(rival.Job.ID, emptying)).To(MatchError(ContainSubstring("may still move")), "a rival is heard")

	won, failed := w.attemptIn(job.Succeeded), w.attemptIn(job.Failed)
	for _, made := range []string{won.Job.ID, failed.Job.ID} {
		for _, wrong := range []string{
			"version = version", "version = version + 2", "input = input", "input = 'other'", "metadata = 'x'", "plan = 'x'", "error = 'x'",
			"state = 'cancelled', completed_by = NULL, result = NULL", "max_attempts = 9", "completed_at = '" + longAgo + "'",
		} {
			w.Expect(purge(made, overriding(wrong))).NotTo(Succeed(), wrong)
		}
	}
	w.Expect(purge(won.Job.ID, overriding("result = '2'"))).NotTo(Succeed(), "another result")
	w.Expect(purge(won.Job.ID, overriding("completed_by = 2"))).To(MatchError(ContainSubstring("has its winner")))
	w.Expect(purge(failed.Job.ID, overriding("fingerprint = 'other'"))).To(MatchError(ContainSubstring("immutable")))
	w.Expect(purge(failed.Job.ID, overriding("idempotency_key = 'other'"))).To(MatchError(ContainSubstring("immutable")))
	w.Expect(purge(won.Job.ID, emptying)).To(Succeed())
	w.Expect(purge(failed.Job.ID, emptying)).To(Succeed())

	open := w.attemptIn(job.Succeeded)
	w.Expect(w.raw("UPDATE jobs SET "+emptying+" WHERE id = ¿", open.Job.ID)).NotTo(Succeed(), "emptied without being purged")
	w.Expect(w.raw("UPDATE jobs SET result = '' WHERE id = ¿", open.Job.ID)).To(MatchError(ContainSubstring("has its winner")))
	w.Expect(w.raw("UPDATE jobs SET input = '' WHERE id = ¿", open.Job.ID)).To(MatchError(ContainSubstring("immutable")))
}

// overriding is what a purge writes, with one thing of it otherwise.
func overriding(wrong string) string {
	columns := []struct{ name, set string }{
		{"version", "version = version + 1"}, {"input", "input = ''"}, {"metadata", "metadata = ''"}, {"plan", "plan = '{}'"},
		{"error", "error = NULL"}, {"result", "result = CASE WHEN result IS NULL THEN NULL ELSE '' END"},
	}
	changes := wrong
	for _, column := range columns {
		if !regexp.MustCompile(`\b` + column.name + ` =`).MatchString(wrong) {
			changes += ", " + column.set
		}
	}
	return changes
}

func schemaTombstone(w *world) {
	for _, state := range []job.State{job.Succeeded, job.Failed} {
		made := w.purged(state)
		before := w.tombstone(made)
		for _, change := range []string{
			"purged_at = NULL", "purged_at = created_at", "input = '{\"name\":\"Ada\"}'", "fingerprint = 'other'", "idempotency_key = 'other'",
			"state = 'running'", "version = version + 1", "metadata = 'x'", "plan = 'x'", "error = 'x'", "updated_at = created_at",
			"purged_at = NULL, version = version + 1",
		} {
			w.Expect(w.raw("UPDATE jobs SET "+change+" WHERE id = ¿", made.Job.ID)).NotTo(Succeed(), change)
		}
		w.Expect(w.raw("DELETE FROM jobs WHERE id = ¿", made.Job.ID)).To(MatchError(ContainSubstring("append-only")))
		w.Expect(w.insertAttempt(made, 1, job.Running, primary, primary, nil, fresh("key"))).To(MatchError(ContainSubstring("final")))
		w.Expect(w.tombstone(made)).To(Equal(before))
	}
	w.Expect(w.raw("DELETE FROM jobs WHERE id = ¿", w.create().Job.ID)).NotTo(Succeed(), "no other job leaves either")
	if w.Postgres {
		w.Expect(w.raw("TRUNCATE jobs CASCADE")).To(MatchError(ContainSubstring("append-only")))
	}
}

func schemaDelete(w *world) {
	w.purged(job.Failed)
	standing := w.attemptIn(job.Succeeded)
	for _, table := range []string{"events", "attempts"} {
		before := w.rows(table, standing)
		w.Expect(w.raw("DELETE FROM " + table)).To(MatchError(ContainSubstring("append-only")))
		w.Expect(w.rows(table, standing)).To(Equal(before))
		if w.Postgres {
			w.Expect(w.raw("TRUNCATE " + table)).To(MatchError(ContainSubstring("append-only")))
		}
	}
	w.Expect(w.raw("UPDATE events SET detail = ''")).To(MatchError(ContainSubstring("append-only")))
}
