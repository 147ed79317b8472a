package storetest

import (
	"errors"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// slips are about the two compare-and-swaps of a move. Under the job's row lock neither can miss; here a
// trigger of the test's own changes a row in the middle of the transaction, as whoever went round the lock would.
var slips = []behaviour{
	{"a version that moves in the middle of a completion leaves nothing of it", versionSlips},
	{"a winner that comes in the middle of a completion stays the only one", winnerSlips},
	{"a state that moves in the middle of a cancellation leaves nothing of it", stateSlips},
}

// meanwhile runs a statement after each change of a table that a condition holds for.
func (w *world) meanwhile(change, table, condition, statement string) {
	w.t.Helper()
	if w.Postgres {
		w.Expect(w.raw("CREATE FUNCTION meanwhile() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + statement + "; RETURN NEW; END $$")).To(Succeed())
		w.Expect(w.raw("CREATE TRIGGER meanwhile AFTER " + change + " ON " + table +
			" FOR EACH ROW WHEN (" + condition + ") EXECUTE FUNCTION meanwhile()")).To(Succeed())
		return
	}
	w.Expect(w.raw("CREATE TRIGGER meanwhile AFTER " + change + " ON " + table + " WHEN " + condition + " BEGIN " + statement + "; END")).To(Succeed())
}

func versionSlips(w *world) {
	made := w.create()
	w.meanwhile("UPDATE", "attempts", "NEW.state = 'succeeded'",
		"UPDATE jobs SET version = version + 1 WHERE owner_id = NEW.owner_id AND id = NEW.job_id")
	w.unchanged(made, func() {
		_, err := w.Store.Apply(w.ctx, answer(made.Attempt.Ref, `"x"`))
		w.Expect(err).To(MatchError(ContainSubstring("result slot")), "it is of another epoch than the attempt")
	})
}

func winnerSlips(w *world) {
	made := w.create()
	w.meanwhile("UPDATE", "attempts", "NEW.state = 'succeeded'",
		"UPDATE jobs SET state = 'succeeded', completed_by = 9, result = '9' WHERE owner_id = NEW.owner_id AND id = NEW.job_id")
	w.unchanged(made, func() {
		_, err := w.Store.Apply(w.ctx, answer(made.Attempt.Ref, `"x"`))
		w.Expect(err).To(MatchError(ContainSubstring("result slot")), "the statement itself finds the slot taken")
	})
}

func stateSlips(w *world) {
	made, second := w.race()
	w.meanwhile("INSERT", "events", "NEW.attempt = 1 AND NEW.type = 'attempt_moved'",
		"UPDATE attempts SET state = 'failed', reason = 'meanwhile' WHERE owner_id = NEW.owner_id AND job_id = NEW.job_id AND number = 2")
	w.unchanged(made, func() {
		_, err := w.Store.CancelJob(w.ctx, made.Job.Owner, made.Job.ID, "client")
		var illegal *store.IllegalTransition
		w.Expect(errors.As(err, &illegal)).To(BeTrue(), "%v", err)
		w.Expect(illegal.Attempt.ID).To(Equal(second.ID))
		w.Expect(illegal.Event).To(Equal(job.EventCancel))
	})
}
