package sqlcore

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// planDoubt is the next automatic step about an attempt that this move leaves unknown or released.
func (m *move) planDoubt(changed job.Attempt) job.Due {
	return plannedDoubt(m.change.Decision, store.View{Job: m.job, Attempts: m.attempts, Now: m.now}, changed)
}

// plannedDoubt cuts the time to what every engine keeps, so that a doorbell can name it.
func plannedDoubt(decision store.Decision, view store.View, attempt job.Attempt) job.Due {
	if decision.Doubt == nil {
		return job.Due{}
	}
	due := decision.Doubt(view, attempt)
	due.At = due.At.Truncate(time.Microsecond)
	return due
}

// ringDue inserts the doorbell of an automatic step about an attempt in doubt, if one is planned.
func ringDue(ctx context.Context, tx Tx, attempt job.Attempt, now time.Time) error {
	due := attempt.Due
	if due.Step == job.DueNone || due.Step == job.DueRing {
		return nil
	}
	return tx.Ring(ctx, store.DueArgs{Ref: attempt.Ref, AttemptID: attempt.ID, Step: due.Step, At: due.At}, &river.InsertOpts{
		Queue: store.QueueName(attempt.Target.Provider), ScheduledAt: bellTime(due.At, now), MaxAttempts: 1,
	})
}

// locked runs do on one attempt under its job's row lock.
func (c *Core) locked(ctx context.Context, ref job.Ref, do func(Tx, job.Job, job.Attempt, time.Time) (job.Attempt, error)) (job.Attempt, error) {
	return write(ctx, c, func(tx Tx) (job.Attempt, error) {
		j, now, err := c.lockJob(ctx, tx, ref.Owner, ref.JobID)
		if err != nil {
			return job.Attempt{}, err
		}
		attempt, err := selectAttempt(ctx, tx, ref)
		if err != nil {
			return attempt, err
		}
		return do(tx, j, attempt, now)
	})
}

// NoteReference implements store.Jobs. The first reference stays: it names the one request that was sent.
func (c *Core) NoteReference(ctx context.Context, ref job.Ref, reference string) error {
	_, err := c.locked(ctx, ref, func(tx Tx, _ job.Job, attempt job.Attempt, _ time.Time) (job.Attempt, error) {
		_, err := tx.Exec(ctx, "UPDATE attempts SET reference = $4 WHERE owner_id = $1 AND job_id = $2 AND number = $3 AND reference = ''",
			ref.Owner, ref.JobID, ref.Number, plain(reference))
		return attempt, err
	})
	return err
}

// Postpone implements store.Jobs.
func (c *Core) Postpone(ctx context.Context, postpone store.Postpone) (job.Attempt, error) {
	return c.locked(ctx, postpone.Ref, func(tx Tx, j job.Job, attempt job.Attempt, now time.Time) (job.Attempt, error) {
		if attempt.Due.Step != postpone.Step || now.Before(attempt.Due.At) || postpone.Decision.Doubt == nil {
			return attempt, nil
		}
		changed := attempt
		changed.Asked++
		changed.Finding = plain(postpone.Finding)
		attempts, err := selectAttempts(ctx, tx, j.Owner, j.ID)
		if err != nil {
			return attempt, err
		}
		changed.Due = plannedDoubt(postpone.Decision, store.View{Job: j, Attempts: attempts, Now: now}, changed)
		if soonest := now.Add(postpone.In).Truncate(time.Microsecond); changed.Due.Step == postpone.Step && changed.Due.At.Before(soonest) {
			changed.Due.At = soonest
		}
		if _, err := tx.Exec(ctx, `UPDATE attempts SET asked = $4, finding = $5, due_step = $6, due_at = $7
			WHERE owner_id = $1 AND job_id = $2 AND number = $3`, attempt.Owner, attempt.JobID, attempt.Number,
			changed.Asked, changed.Finding, string(changed.Due.Step), at(changed.Due.At)); err != nil {
			return attempt, err
		}
		if err := ringDue(ctx, tx, changed, now); err != nil || changed.Finding == attempt.Finding {
			return changed, err
		}
		return changed, recordEvent(ctx, tx, j, job.HistoryAsked, attempt.Number, map[string]any{
			"finding": changed.Finding, "by": postpone.By, "next_step": string(changed.Due.Step), "next_at": formatted(changed.Due.At),
		}, now)
	})
}

// RingAgain implements store.Jobs.
func (c *Core) RingAgain(ctx context.Context, ref job.Ref) error {
	_, err := c.locked(ctx, ref, func(tx Tx, _ job.Job, attempt job.Attempt, now time.Time) (job.Attempt, error) {
		if attempt.State != job.Starting || attempt.Due.Step != job.DueRing || now.Before(attempt.Due.At) {
			return attempt, nil
		}
		attempt.Due = ringAgain(now)
		if _, err := tx.Exec(ctx, "UPDATE attempts SET due_at = $4 WHERE owner_id = $1 AND job_id = $2 AND number = $3",
			attempt.Owner, attempt.JobID, attempt.Number, at(attempt.Due.At)); err != nil {
			return attempt, err
		}
		return attempt, tx.Ring(ctx, store.TurnArgs{Ref: attempt.Ref, AttemptID: attempt.ID, Until: attempt.Due.At},
			&river.InsertOpts{Queue: store.QueueName(attempt.Target.Provider), MaxAttempts: 1})
	})
	return err
}

// DueSteps implements store.Jobs. It only proposes: each step asks again inside its write.
func (c *Core) DueSteps(ctx context.Context, grace time.Duration, limit int) ([]job.Attempt, error) {
	return read(ctx, c, func(tx Tx) ([]job.Attempt, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return nil, err
		}
		return collect(ctx, tx, scanAttempt, "SELECT "+attemptColumns+` FROM attempts
			WHERE due_at IS NOT NULL AND due_at <= $1 AND (due_at <= $2 OR due_step = 'ring') ORDER BY due_at LIMIT $3`,
			at(now), at(now.Add(-grace)), limit)
	})
}

// Doubts implements store.Jobs.
func (c *Core) Doubts(ctx context.Context, owner string) (store.Doubts, error) {
	return read(ctx, c, func(tx Tx) (store.Doubts, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return store.Doubts{}, err
		}
		return one(ctx, tx, func(rows Rows) (store.Doubts, error) {
			found := store.Doubts{Now: now}
			var oldest stamp
			err := rows.Scan(&found.Jobs, &oldest)
			found.Oldest = oldest.Time
			return found, err
		}, "SELECT COUNT(*), MIN(unknown_since) FROM jobs WHERE owner_id = $1 AND unknown_since IS NOT NULL", owner)
	})
}
