package storetest

import (
	"encoding/json"
	"errors"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// due is what the store promises about automatic steps: each asks inside its write whether it is its turn.
var due = []behaviour{
	{"only the step that is due is postponed, and not before its time", postponesWhatIsDue},
	{"a new finding is kept in the history, the same one again is not", keepsFindings},
	{"a doorbell rings again only for a waiting attempt, and not before its time", ringsAgain},
	{"the first reference of an attempt stays", firstReference},
	{"an automatic step changes nothing unless it is the one that is due by now", onlyIfDue},
	{"due steps are proposed oldest first, after a grace", proposesDueSteps},
}

// planned plans one step for whatever is left in doubt.
func planned(step job.DueStep, in time.Duration) store.Decision {
	return store.Decision{
		Decide: func(store.View) store.Step { return store.Step{} },
		Doubt: func(view store.View, _ job.Attempt) job.Due {
			return job.Due{Step: step, At: view.Now.Add(in)}
		},
	}
}

// doubtDue leaves a fresh job's attempt in doubt, with an automatic step planned.
func (w *world) doubtDue(step job.DueStep, in time.Duration) store.Made {
	w.t.Helper()
	made := w.create()
	inDoubt := w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventDoubt, Reason: "timeout", Heard: true, Decision: planned(step, in)})
	w.Expect(inDoubt.Attempt.Due.Step).To(Equal(step))
	w.Expect(inDoubt.Attempt.Due.At.Sub(inDoubt.Attempt.UnknownAt)).To(Equal(in))
	w.Expect(w.attempts(made)).To(HaveExactElements(inDoubt.Attempt))
	return made
}

func (w *world) bells(kind string) int {
	w.t.Helper()
	var n int
	w.Expect(w.Raw.QueryRowContext(w.ctx, "SELECT count(*) FROM river_job WHERE kind = '"+kind+"'").Scan(&n)).To(Succeed())
	return n
}

// lastBell are the arguments of the latest one.
func (w *world) lastBell(kind string) string {
	w.t.Helper()
	args, text := "", "json(args)"
	if w.Postgres {
		text = "args::text"
	}
	w.Expect(w.Raw.QueryRowContext(w.ctx, "SELECT "+text+" FROM river_job WHERE kind = '"+kind+"' ORDER BY id DESC LIMIT 1").Scan(&args)).To(Succeed())
	return args
}

// unchanged says that do moved neither the attempt nor the job, wrote no history and rang no bell.
func (w *world) unchanged(made store.Made, do func()) {
	w.t.Helper()
	attempts, j, history := w.attempts(made), w.job(made), w.history(made)
	turns, steps := w.bells("attempt_turn"), w.bells("attempt_due")
	do()
	w.Expect(w.attempts(made)).To(Equal(attempts))
	w.Expect(w.job(made)).To(Equal(j))
	w.Expect(w.history(made)).To(Equal(history))
	w.Expect(w.bells("attempt_turn")).To(Equal(turns))
	w.Expect(w.bells("attempt_due")).To(Equal(steps))
}

func (w *world) postpone(made store.Made, step job.DueStep, finding string, next store.Decision, in time.Duration) job.Attempt {
	w.t.Helper()
	attempt, err := w.Store.Postpone(w.ctx, store.Postpone{
		Ref: made.Attempt.Ref, Step: step, By: bootID, Finding: finding, In: in, Decision: next,
	})
	w.Expect(err).NotTo(HaveOccurred())
	return attempt
}

func postponesWhatIsDue(w *world) {
	made := w.doubtDue(job.DueReconcile, -time.Second)
	w.Expect(w.bells("attempt_due")).To(Equal(1), "the doorbell came with the doubt")
	w.unchanged(made, func() { w.postpone(made, job.DueRelease, "absent", planned(job.DueReconcile, time.Hour), 0) })

	early := w.doubtDue(job.DueReconcile, time.Hour)
	w.unchanged(early, func() { w.postpone(early, job.DueReconcile, "absent", planned(job.DueReconcile, 0), 0) })

	before := w.attempts(made)[0]
	postponed := w.postpone(made, job.DueReconcile, "unreachable", planned(job.DueReconcile, time.Minute), time.Hour+123*time.Nanosecond)
	w.Expect(w.attempts(made)).To(HaveExactElements(postponed))
	w.Expect(postponed.Asked).To(Equal(1))
	w.Expect(postponed.State).To(Equal(job.Unknown), "asking in vain ends no doubt")
	w.Expect(postponed.Due.Step).To(Equal(job.DueReconcile))
	w.Expect(postponed.Due.At).To(BeTemporally(">=", before.UnknownAt.Add(time.Hour)), "no sooner than the provider asked for")
	w.Expect(w.bells("attempt_due")).To(Equal(3))

	other := w.doubtDue(job.DueReconcile, -time.Second)
	released := w.postpone(other, job.DueReconcile, "absent", planned(job.DueRelease, time.Minute), time.Hour)
	w.Expect(released.Due.Step).To(Equal(job.DueRelease))
	w.Expect(released.Due.At).To(BeTemporally("<", before.UnknownAt.Add(time.Hour)), "another step does not wait for the provider")

	_, err := w.Store.Postpone(w.ctx, store.Postpone{Ref: job.Ref{Owner: "globex", JobID: made.Job.ID, Number: 1}, Step: job.DueReconcile})
	w.Expect(err).To(MatchError(store.ErrNotFound))
}

func keepsFindings(w *world) {
	made := w.doubtDue(job.DueReconcile, -time.Second)
	again := planned(job.DueReconcile, -time.Second)
	for i, row := range []struct {
		finding string
		kept    int
	}{{"unreachable", 1}, {"unreachable", 1}, {"absent \x00", 2}, {"unreachable", 3}} {
		postponed := w.postpone(made, job.DueReconcile, row.finding, again, 0)
		w.Expect(postponed.Asked).To(Equal(i + 1))
		w.Expect(w.history(made)).To(HaveKeyWithValue(job.HistoryAsked, row.kept), row.finding)
	}
	w.Expect(w.attempts(made)[0].Finding).To(Equal("unreachable"))
	w.Expect(w.detail(made, job.HistoryAsked)).To(And(
		HaveKeyWithValue("finding", "unreachable"), HaveKeyWithValue("by", bootID),
		HaveKeyWithValue("next_step", "reconcile"), HaveKey("next_at")))
}

func ringsAgain(w *world) {
	made := w.attemptIn(job.Starting)
	ring := func(ref job.Ref) { w.Expect(w.Store.RingAgain(w.ctx, ref)).To(Succeed()) }
	w.Expect(made.Attempt.Due.Step).To(Equal(job.DueRing))
	w.unchanged(made, func() { ring(made.Attempt.Ref) })

	overdue := func() { w.Expect(w.raw("UPDATE attempts SET due_step = 'ring', due_at = created_at")).To(Succeed()) }
	overdue()
	ring(made.Attempt.Ref)
	w.Expect(w.bells("attempt_turn")).To(Equal(2))
	rung := w.attempts(made)[0]
	w.Expect(rung.State).To(Equal(job.Starting))
	w.Expect(rung.Due.At).To(BeTemporally(">", rung.CreatedAt))
	bell, err := json.Marshal(store.TurnArgs{Ref: rung.Ref, AttemptID: rung.ID, Until: rung.Due.At})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.lastBell("attempt_turn")).To(MatchJSON(bell), "it names the ring that replaces it")
	w.unchanged(made, func() { ring(made.Attempt.Ref) })

	w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventTurn, BootID: bootID, Lease: time.Minute})
	w.Expect(w.attempts(made)[0].Due).To(BeZero(), "what runs waits for no bell")
	overdue()
	w.unchanged(made, func() { ring(made.Attempt.Ref) })
	w.Expect(w.Store.RingAgain(w.ctx, job.Ref{Owner: "globex", JobID: made.Job.ID, Number: 1})).To(MatchError(store.ErrNotFound))
	w.Expect(w.Store.RingAgain(w.ctx, job.Ref{Owner: "acme", JobID: made.Job.ID, Number: 2})).To(MatchError(store.ErrNotFound))
}

func firstReference(w *world) {
	made := w.create()
	w.Expect(w.Store.NoteReference(w.ctx, made.Attempt.Ref, "resp_1")).To(Succeed())
	w.Expect(w.Store.NoteReference(w.ctx, made.Attempt.Ref, "resp_2")).To(Succeed())
	w.Expect(w.attempts(made)[0].Reference).To(Equal("resp_1"))
	w.doubt(made.Attempt.Ref)
	w.Expect(w.attempts(made)[0].Reference).To(Equal("resp_1"), "doubt is when it is needed")
	w.Expect(w.Store.NoteReference(w.ctx, job.Ref{Owner: "globex", JobID: made.Job.ID, Number: 1}, "x")).To(MatchError(store.ErrNotFound))
}

func onlyIfDue(w *world) {
	release := func(made store.Made, step job.DueStep) (store.Applied, error) {
		return w.Store.Apply(w.ctx, store.Change{
			Ref: made.Attempt.Ref, Event: job.EventRelease, By: "policy", OnlyIfDue: step, Decision: stop(),
		})
	}
	made := w.doubtDue(job.DueReconcile, -time.Second)
	w.unchanged(made, func() {
		applied, err := release(made, job.DueRelease)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(applied.Moved).To(BeFalse(), "another step is due")
		w.Expect(applied.Attempt.State).To(Equal(job.Unknown))
	})
	early := w.doubtDue(job.DueRelease, time.Hour)
	w.unchanged(early, func() {
		_, err := release(early, job.DueRelease)
		var notYet *store.NotYet
		w.Expect(errors.As(err, &notYet)).To(BeTrue(), "%v", err)
		w.Expect(notYet.In).To(BeNumerically("~", time.Hour, 10*time.Minute))
	})
	now := w.doubtDue(job.DueRelease, -time.Second)
	applied, err := release(now, job.DueRelease)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(applied.Attempt.State).To(Equal(job.Released))
	w.Expect(applied.Attempt.Due).To(BeZero())
	w.unchanged(now, func() {
		applied, err := release(now, job.DueRelease)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(applied.Moved).To(BeFalse(), "a bell that rings twice releases once")
	})
}

func proposesDueSteps(w *world) {
	younger := w.doubtDue(job.DueReconcile, -time.Minute)
	older := w.doubtDue(job.DueRelease, -time.Hour)
	w.doubtDue(job.DueReconcile, time.Hour)
	proposed := func(grace time.Duration, limit int) []string {
		steps, err := w.Store.DueSteps(w.ctx, grace, limit)
		w.Expect(err).NotTo(HaveOccurred())
		ids := []string{}
		for _, each := range steps {
			ids = append(ids, each.ID)
		}
		return ids
	}
	w.Expect(proposed(0, 10)).To(HaveExactElements(older.Attempt.ID, younger.Attempt.ID))
	w.Expect(proposed(0, 1)).To(HaveExactElements(older.Attempt.ID))
	w.Expect(proposed(30*time.Minute, 10)).To(HaveExactElements(older.Attempt.ID))
	ringing := w.attemptIn(job.Starting)
	w.Expect(w.raw("UPDATE attempts SET due_at = created_at WHERE due_step = 'ring'")).To(Succeed())
	w.Expect(proposed(30*time.Minute, 10)).To(HaveExactElements(older.Attempt.ID, ringing.Attempt.ID), "a ring has no bell to be late")
	w.apply(store.Change{Ref: ringing.Attempt.Ref, Event: job.EventTurn, BootID: bootID, Lease: time.Minute})
	w.apply(answer(older.Attempt.Ref, `1`))
	w.Expect(proposed(0, 10)).To(HaveExactElements(younger.Attempt.ID), "what ended waits for no step")
}
