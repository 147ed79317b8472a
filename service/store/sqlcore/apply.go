package sqlcore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Apply implements store.Jobs.
func (c *Core) Apply(ctx context.Context, change store.Change) (store.Applied, error) {
	return write(ctx, c, func(tx Tx) (store.Applied, error) {
		j, now, err := c.lockJob(ctx, tx, change.Ref.Owner, change.Ref.JobID)
		if err != nil {
			return store.Applied{}, err
		}
		attempts, err := selectAttempts(ctx, tx, j.Owner, j.ID)
		if err != nil {
			return store.Applied{}, err
		}
		if change.Ref.Number < 1 || change.Ref.Number > len(attempts) {
			return store.Applied{}, store.ErrNotFound
		}
		m := move{core: c, tx: tx, job: j, attempts: attempts, attempt: attempts[change.Ref.Number-1], change: change, now: now}
		applied, err := m.apply(ctx)
		applied.Drift = m.drift
		return applied, err
	})
}

// move is one change on its way through a transaction that holds the job's row lock.
type move struct {
	core     *Core
	tx       Tx
	job      job.Job
	attempts []job.Attempt // in order of number, kept up to date
	attempt  job.Attempt   // as found
	change   store.Change
	now      time.Time
	drift    []certification.Event // what it brought upon its target's record
}

func (m *move) apply(ctx context.Context) (store.Applied, error) {
	if m.change.OnlyIfOverdue && !m.overdue() {
		return m.unchanged(), nil
	}
	if m.hadHappened() {
		return m.unchanged(), nil
	}
	if m.outdated() {
		return m.unchanged(), nil
	}
	if due, early := m.due(); early > 0 {
		return store.Applied{}, &store.NotYet{In: early}
	} else if !due {
		return m.unchanged(), nil
	}
	if m.change.Event == job.EventTurn && m.attempt.State == job.Starting && m.now.Before(m.attempt.NotBefore) {
		return store.Applied{}, &store.NotYet{In: m.attempt.NotBefore.Sub(m.now)}
	}
	if err := m.stillProven(ctx); err != nil {
		return store.Applied{}, err
	}
	to, ok := job.Next(m.attempt.State, m.event(), m.facts())
	switch {
	case ok && to == job.Succeeded:
		return m.win(ctx)
	case ok && to == job.Superseded && m.event() != job.EventUnheard:
		return m.lose(ctx)
	case ok:
		return m.end(ctx, to)
	case m.event() == job.EventUnheard && m.inDoubt():
		return m.unheard(ctx)
	case m.heardSomething():
		return m.lateAnswer(ctx)
	default:
		return store.Applied{}, &store.IllegalTransition{Attempt: m.attempt, Event: m.change.Event}
	}
}

// event reads a lost connection of an attempt that is already in doubt as what it is: nothing more can
// be heard of it. And where only the last of several sends provably did not leave the machine, the earlier
// ones did: that is no failure.
func (m *move) event() job.Event {
	if m.change.Event == job.EventFailure && m.change.NotSent && m.attempt.Sends > 1 {
		return job.EventDoubt
	}
	if m.change.Event == job.EventDoubt && !m.change.Heard && m.inDoubt() {
		return job.EventUnheard
	}
	return m.change.Event
}

func (m *move) inDoubt() bool {
	return m.attempt.State == job.Unknown || m.attempt.State == job.Released
}

func (m *move) facts() job.Facts {
	return job.Facts{SlotTaken: m.slotTaken(), Final: m.job.State.Final(), HasOwnKey: m.attempt.IdempotencyHeader != ""}
}

// slotTaken is the second guard of completion, read under the lock: the statement that takes the slot
// asks the same again.
func (m *move) slotTaken() bool {
	return m.job.CompletedBy != 0 || m.job.Version != m.attempt.JobVersion
}

// hadHappened: a repeated delivery, or a COMMIT whose answer was lost.
func (m *move) hadHappened() bool {
	failedHere := m.attempt.State == job.Failed && m.attempt.BootID == m.change.By && m.attempt.Reason == plain(m.change.Reason)
	if failedHere && m.change.Event == job.EventFailure {
		return true
	}
	won := m.attempt.State == job.Succeeded && m.job.CompletedBy == m.attempt.Number
	same := m.change.Answer != nil && sameResult(m.job.Result, m.change.Answer.Result)
	return won && same && (m.change.Event == job.EventAnswer || m.change.Event == job.EventResolveSucceeded)
}

// sameResult compares by value: the one who repeats himself need not spell it as before.
func sameResult(kept, said string) bool {
	if kept == plain(said) {
		return true
	}
	a, errA := value.Decode([]byte(kept))
	b, errB := value.Decode([]byte(said))
	return errA == nil && errB == nil && len(value.Diff(a, b)) == 0
}

func (m *move) heardSomething() bool {
	return (m.change.Event == job.EventAnswer || m.change.Event == job.EventFailure) && m.attempt.State != job.Starting
}

func (m *move) overdue() bool {
	if m.attempt.State == job.Starting {
		return !m.attempt.StartBy.IsZero() && !m.now.Before(m.attempt.StartBy)
	}
	return !m.attempt.LeaseUntil.IsZero() && !m.now.Before(m.attempt.LeaseUntil)
}

// stillProven asks for the proof of a waiting attempt once more when its turn comes: it may have been
// revoked meanwhile. A later record of the same proof digest counts as well.
func (m *move) stillProven(ctx context.Context) error {
	if m.change.Event != job.EventTurn || m.attempt.State != job.Starting || m.attempt.CertificationID == "" {
		return nil
	}
	standing, err := one(ctx, m.tx, scanProof, "SELECT "+proofColumns+` FROM proofs
		WHERE proof_digest = (SELECT proof_digest FROM certification_records WHERE id = $1) AND target = $2`+m.core.engine.Dialect().ForShare, m.attempt.CertificationID, m.attempt.Target.String())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	proof := certification.Standing{Now: m.now}
	if err == nil {
		proof.Proof = &standing
	}
	if reasons := proof.Reasons([]providers.Source{standing.Source}); len(reasons) > 0 {
		return notCertified(m.attempt.Target, reasons)
	}
	return nil
}

// outdated: an earlier send of the attempt ended somehow, and it has been sent again since.
func (m *move) outdated() bool {
	ended := m.change.Event == job.EventDoubt || m.change.Event == job.EventFailure || m.change.Event == job.EventResolveFailed
	return ended && m.change.Send != 0 && m.change.Send != m.attempt.Sends
}

// due says whether the automatic step that the change is stands on the attempt, and how long before its
// time this is. Any other change is due.
func (m *move) due() (bool, time.Duration) {
	switch {
	case m.change.OnlyIfDue == job.DueNone:
		return true, 0
	case m.change.OnlyIfDue != m.attempt.Due.Step:
		return false, 0
	default:
		return true, m.attempt.Due.At.Sub(m.now)
	}
}

func (m *move) unchanged() store.Applied {
	return store.Applied{Attempt: m.attempt, Job: m.job}
}

// win moves the attempt and takes the result slot, each by compare-and-swap.
func (m *move) win(ctx context.Context) (store.Applied, error) {
	if m.change.Answer == nil || m.change.Answer.Result == "" {
		return store.Applied{}, fmt.Errorf("attempt %s: a winner needs a result", m.attempt.ID)
	}
	if err := m.store(ctx, job.Succeeded); err != nil {
		return store.Applied{}, err
	}
	taken, err := m.tx.Exec(ctx, `UPDATE jobs SET state = 'succeeded', completed_by = $4, result = $5, error = NULL,
		version = version + 1, completed_at = $6, updated_at = $6, unknown_since = NULL
		WHERE owner_id = $1 AND id = $2 AND version = $3 AND completed_by IS NULL`,
		m.job.Owner, m.job.ID, m.attempt.JobVersion, m.attempt.Number, m.change.Answer.Result, at(m.now))
	if err != nil {
		return store.Applied{}, err
	}
	if taken == 0 { // cannot be under the lock; if it ever is, nothing of this transaction may stay
		return store.Applied{}, fmt.Errorf("attempt %s lost the result slot between two statements", m.attempt.ID)
	}
	if err := recordEvent(ctx, m.tx, m.job, job.HistoryJobSucceeded, m.attempt.Number, map[string]any{
		"target": m.attempt.Target, "by": m.change.By, "note": m.change.Note,
	}, m.now); err != nil {
		return store.Applied{}, err
	}
	m.job.State, m.job.CompletedBy, m.job.Result, m.job.Error = job.JobSucceeded, m.attempt.Number, m.change.Answer.Result, nil
	m.job.Version++
	m.job.CompletedAt, m.job.UpdatedAt, m.job.UnknownSince = m.now, m.now, time.Time{}
	return store.Applied{Attempt: m.current(), Job: m.job, Moved: true}, m.closeUnheard(ctx)
}

// closeUnheard ends the winner's rivals of which nothing can be heard any more; the others end when they
// are heard, or when their listener gives up.
func (m *move) closeUnheard(ctx context.Context) error {
	for _, rival := range m.attempts {
		to, ok := job.Next(rival.State, job.EventUnheard, job.Facts{SlotTaken: true, Final: true})
		if !ok || rival.Heard || !rival.LeaseUntil.IsZero() {
			continue
		}
		change := store.Change{Ref: rival.Ref, Event: job.EventUnheard, By: m.change.By}
		closing := move{core: m.core, tx: m.tx, job: m.job, attempts: m.attempts, attempt: rival, change: change, now: m.now}
		if err := closing.store(ctx, to); err != nil {
			return err
		}
	}
	return nil
}

// lose throws the answer away and records the race: who won, who lost, by how long, what the loser cost.
func (m *move) lose(ctx context.Context) (store.Applied, error) {
	m.change.Reason = "late"
	if err := m.store(ctx, job.Superseded); err != nil {
		return store.Applied{}, err
	}
	detail := map[string]any{"winner": m.job.CompletedBy, "loser": m.attempt.Number}
	if !m.job.CompletedAt.IsZero() {
		detail["late_by_ms"] = m.now.Sub(m.job.CompletedAt).Milliseconds()
	}
	if m.change.Answer != nil && m.change.Answer.Usage != nil {
		detail["usage"] = m.change.Answer.Usage
	}
	if err := recordEvent(ctx, m.tx, m.job, job.HistoryRace, m.attempt.Number, detail, m.now); err != nil {
		return store.Applied{}, err
	}
	return store.Applied{Attempt: m.current(), Job: m.job, Moved: true}, nil
}

// end is every move without a winner; it then makes the job's next step in the same transaction.
func (m *move) end(ctx context.Context, to job.State) (store.Applied, error) {
	if err := m.store(ctx, to); err != nil {
		return store.Applied{}, err
	}
	return m.andStep(ctx, true)
}

// unheard keeps the doubt and notes that nobody listens any more: time alone never turns doubt into failure.
func (m *move) unheard(ctx context.Context) (store.Applied, error) {
	if !m.attempt.Heard && m.attempt.LeaseUntil.IsZero() {
		return m.unchanged(), nil
	}
	changed := m.attempt
	changed.Heard, changed.LeaseUntil = false, time.Time{}
	changed.Due = m.planDoubt(changed)
	if _, err := m.tx.Exec(ctx, `UPDATE attempts SET heard = $4, lease_until = NULL, due_step = $5, due_at = $6
		WHERE owner_id = $1 AND job_id = $2 AND number = $3`,
		m.job.Owner, m.job.ID, m.attempt.Number, false, string(changed.Due.Step), at(changed.Due.At)); err != nil {
		return store.Applied{}, err
	}
	if changed.Due != m.attempt.Due {
		if err := ringDue(ctx, m.tx, changed, m.now); err != nil {
			return store.Applied{}, err
		}
	}
	m.attempts[m.attempt.Number-1] = changed
	if err := recordEvent(ctx, m.tx, m.job, job.HistoryUnheard, m.attempt.Number, map[string]any{"reason": m.change.Reason}, m.now); err != nil {
		return store.Applied{}, err
	}
	return m.andStep(ctx, false)
}

func (m *move) andStep(ctx context.Context, moved bool) (store.Applied, error) {
	current := m.current()
	if m.job.State.Final() {
		return store.Applied{Attempt: current, Job: m.job, Moved: moved}, nil
	}
	next, err := m.core.step(ctx, m.tx, &m.job, m.attempts, m.change.Decision, &current, m.now)
	return store.Applied{Attempt: current, Job: m.job, Moved: moved, Next: next}, err
}

// lateAnswer: an answer that reaches an ended attempt changes no state; its usage is recorded.
func (m *move) lateAnswer(ctx context.Context) (store.Applied, error) {
	detail := map[string]any{"state": m.attempt.State, "event": m.change.Event, "reason": m.change.Reason}
	if m.change.Answer != nil && m.change.Answer.Usage != nil {
		detail["usage"] = m.change.Answer.Usage
		if m.attempt.Usage == nil {
			if _, err := m.tx.Exec(ctx, "UPDATE attempts SET usage = $4 WHERE owner_id = $1 AND job_id = $2 AND number = $3",
				m.job.Owner, m.job.ID, m.attempt.Number, encodedUsage(m.change.Answer.Usage)); err != nil {
				return store.Applied{}, err
			}
			m.attempt.Usage = m.change.Answer.Usage
		}
	}
	return m.unchanged(), recordEvent(ctx, m.tx, m.job, job.HistoryLateAnswer, m.attempt.Number, detail, m.now)
}

func (m *move) current() job.Attempt { return m.attempts[m.attempt.Number-1] }
