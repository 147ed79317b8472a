package sqlcore

import (
	"context"
	"fmt"
	"time"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// store writes the attempt's new state where it still has the old one, and the move into its history.
func (m *move) store(ctx context.Context, to job.State) error {
	changed := m.moved(to)
	rows, err := m.tx.Exec(ctx, `UPDATE attempts SET state = $5, reason = $6, detail = $7, sends = $8, served_model = $9,
		system_print = $10, usage = $11, latency_us = $12, heard = $13, retryable = $14, retry_at = $15, boot_id = $16,
		lease_until = $17, started_at = $18, finished_at = $19, sent_to = $20, reconcile = $21, horizon_us = $22,
		idempotency_header = $23, unknown_at = $24, due_step = $25, due_at = $26, asked = $27, finding = $28
		WHERE owner_id = $1 AND job_id = $2 AND number = $3 AND state = $4`,
		m.job.Owner, m.job.ID, m.attempt.Number, string(m.attempt.State), string(to), changed.Reason, changed.Detail,
		changed.Sends, changed.ServedModel, changed.SystemPrint, encodedUsage(changed.Usage), changed.Latency.Microseconds(),
		changed.Heard, changed.Retryable, at(changed.RetryAt), changed.BootID, at(changed.LeaseUntil),
		at(changed.StartedAt), at(changed.FinishedAt), changed.SentTo, changed.Reconcile, changed.Horizon.Microseconds(),
		changed.IdempotencyHeader, at(changed.UnknownAt), string(changed.Due.Step), at(changed.Due.At),
		changed.Asked, changed.Finding)
	if err != nil {
		return err
	}
	if rows == 0 {
		return &store.IllegalTransition{Attempt: m.attempt, Event: m.change.Event}
	}
	m.attempts[m.attempt.Number-1] = changed
	if err := ringDue(ctx, m.tx, changed, m.now); err != nil {
		return err
	}
	if err := m.watch(ctx, changed); err != nil {
		return err
	}
	return recordEvent(ctx, m.tx, m.job, job.HistoryAttemptMoved, m.attempt.Number, map[string]any{
		"from": m.attempt.State, "to": to, "event": m.event(), "reason": changed.Reason, "detail": changed.Detail,
		"by": m.change.By, "note": m.change.Note,
	}, m.now)
}

// moved is the attempt as the move leaves it.
func (m *move) moved(to job.State) job.Attempt {
	changed := m.attempt
	changed.State = to
	changed.Reason, changed.Detail = plain(m.change.Reason), plain(m.change.Detail)
	m.note(&changed)
	switch to {
	case job.Running:
		takeTurn(&changed, m.change.BootID, m.change.Lease, m.change.Settling, m.now)
	case job.Unknown:
		changed.Heard = m.change.Heard
		changed.UnknownAt = m.now
		if !changed.Heard {
			changed.LeaseUntil = time.Time{}
		}
		if m.change.NotSent {
			changed.Sends--
		}
		changed.Due = m.planDoubt(changed)
	case job.Released:
		changed.Reason, changed.Detail = m.attempt.Reason, m.attempt.Detail // why it was in doubt stays of interest
		changed.Due = m.planDoubt(changed)
	default:
		changed.Heard, changed.LeaseUntil, changed.FinishedAt = false, time.Time{}, m.now
		changed.Due = job.Due{}
	}
	if to == job.Failed {
		m.fail(&changed)
	}
	if to == job.Superseded && m.event() == job.EventUnheard {
		changed.Reason = "unheard"
	}
	return changed
}

func (m *move) fail(changed *job.Attempt) {
	changed.Retryable = m.change.Retryable
	if m.change.Retryable {
		changed.RetryAt = m.now.Add(m.change.RetryIn)
	}
	if m.change.NotSent {
		changed.Sends-- // provably nothing left the machine
	}
}

// note takes over what was heard, keeping what was known where nothing new was.
func (m *move) note(changed *job.Attempt) {
	answer := m.change.Answer
	if answer == nil {
		return
	}
	if answer.ServedModel != "" {
		changed.ServedModel = plain(answer.ServedModel)
	}
	if answer.SystemPrint != "" {
		changed.SystemPrint = plain(answer.SystemPrint)
	}
	if answer.Usage != nil {
		changed.Usage = answer.Usage
	}
	if answer.Latency > 0 {
		changed.Latency = answer.Latency
	}
}

// CancelJob implements store.Jobs.
func (c *Core) CancelJob(ctx context.Context, owner, jobID, by string) (job.Job, error) {
	return write(ctx, c, func(tx Tx) (job.Job, error) {
		j, now, err := c.lockJob(ctx, tx, owner, jobID)
		if err != nil {
			return j, err
		}
		if j.State.Final() {
			return j, store.ErrJobFinal
		}
		attempts, err := selectAttempts(ctx, tx, owner, jobID)
		if err != nil {
			return j, err
		}
		for _, attempt := range attempts {
			if err := c.cancelOpen(ctx, tx, j, attempts, attempt, by, now); err != nil {
				return j, err
			}
		}
		return c.closeCancelled(ctx, tx, j, by, now)
	})
}

func (c *Core) cancelOpen(ctx context.Context, tx Tx, j job.Job, attempts []job.Attempt, attempt job.Attempt, by string, now time.Time) error {
	to, ok := job.Next(attempt.State, job.EventCancel, job.Facts{})
	if !ok {
		return nil
	}
	change := store.Change{Ref: attempt.Ref, Event: job.EventCancel, Reason: "job_cancelled", By: by}
	m := move{core: c, tx: tx, job: j, attempts: attempts, attempt: attempt, change: change, now: now}
	return m.store(ctx, to)
}

func (c *Core) closeCancelled(ctx context.Context, tx Tx, j job.Job, by string, now time.Time) (job.Job, error) {
	rows, err := tx.Exec(ctx, `UPDATE jobs SET state = 'cancelled', error = NULL, version = version + 1, completed_at = $4,
		updated_at = $4, unknown_since = NULL WHERE owner_id = $1 AND id = $2 AND version = $3 AND completed_by IS NULL`,
		j.Owner, j.ID, j.Version, at(now))
	if err != nil {
		return j, err
	}
	if rows == 0 {
		return j, fmt.Errorf("job %s moved under its lock", j.ID)
	}
	j.State, j.Error, j.CompletedAt, j.UpdatedAt, j.UnknownSince = job.JobCancelled, nil, now, now, time.Time{}
	j.Version++
	return j, recordEvent(ctx, tx, j, job.HistoryJobCancelled, 0, map[string]any{"by": by}, now)
}
