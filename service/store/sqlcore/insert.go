package sqlcore

import (
	"context"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// digestSet remembers which contract contents are committed, so that a job need not write them again.
type digestSet struct{ known sync.Map }

func (s *digestSet) has(digest string) bool { _, ok := s.known.Load(digest); return ok }
func (s *digestSet) add(digest string)      { s.known.Store(digest, struct{}{}) }

// insertAttempt inserts a new attempt under a locked job, with its history and, where it waits, its
// doorbell. The database refuses it under a final job, past the maximum, beside a blocking attempt,
// and away from the intended target without a standing proof.
func (c *Core) insertAttempt(ctx context.Context, tx Tx, j job.Job, number int, wanted store.NewAttempt, now time.Time) (job.Attempt, error) {
	attempt := newAttempt(j, number, wanted, now)
	_, err := tx.Exec(ctx, `INSERT INTO attempts (owner_id, job_id, number, id, idempotency_key, fingerprint, role, target,
		intended_target, certification_id, state, sends, job_version, heard, not_before, start_by, boot_id, lease_until,
		created_at, started_at, sent_to, reconcile, horizon_us, idempotency_header, due_step, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)`,
		j.Owner, j.ID, number, attempt.ID, attempt.IdempotencyKey, attempt.Fingerprint, string(attempt.Role),
		attempt.Target.String(), j.Target.String(), text(attempt.CertificationID), string(attempt.State), attempt.Sends,
		attempt.JobVersion, attempt.Heard, at(attempt.NotBefore), at(attempt.StartBy), attempt.BootID,
		at(attempt.LeaseUntil), at(now), at(attempt.StartedAt), attempt.SentTo, attempt.Reconcile, attempt.Horizon.Microseconds(),
		attempt.IdempotencyHeader, string(attempt.Due.Step), at(attempt.Due.At))
	if err != nil {
		return attempt, c.translateInsert(err, attempt)
	}
	if err := recordEvent(ctx, tx, j, job.HistoryAttemptCreated, number, map[string]any{
		"state": attempt.State, "role": attempt.Role, "target": attempt.Target, "certification_id": attempt.CertificationID,
		"by": wanted.BootID, "not_before": formatted(attempt.NotBefore),
	}, now); err != nil {
		return attempt, err
	}
	if attempt.State != job.Starting {
		return attempt, nil
	}
	return attempt, tx.Ring(ctx, store.TurnArgs{Ref: attempt.Ref, AttemptID: attempt.ID}, &river.InsertOpts{
		Queue: wanted.Queue, ScheduledAt: bellTime(attempt.NotBefore, now), MaxAttempts: 1,
	})
}

// bellTime is when the doorbell rings; the zero time is at once. Whatever carries a time, River only looks
// at every five seconds, which is coarse for a short wait: such a bell carries none, and who answers it
// waits for the moment to come.
func bellTime(notBefore, now time.Time) time.Time {
	const coarse = 5 * time.Second
	if notBefore.Sub(now) <= coarse {
		return time.Time{}
	}
	return notBefore
}

// newAttempt fills in what follows from the wish, the job and the clock.
func newAttempt(j job.Job, number int, wanted store.NewAttempt, now time.Time) job.Attempt {
	attempt := job.Attempt{
		Ref: job.Ref{Owner: j.Owner, JobID: j.ID, Number: number},
		ID:  wanted.ID, IdempotencyKey: wanted.IdempotencyKey, Fingerprint: wanted.Fingerprint,
		Role: wanted.Role, Target: wanted.Target, JobVersion: j.Version, CreatedAt: now,
	}
	if wanted.Target != j.Target {
		attempt.CertificationID = wanted.CertificationID
	}
	if wanted.BootID != "" {
		attempt.State, _ = job.Next("", job.EventCreatedToSend, job.Facts{})
		takeTurn(&attempt, wanted.BootID, wanted.Lease, wanted.Settling, now)
		return attempt
	}
	attempt.State, _ = job.Next("", job.EventCreatedToWait, job.Facts{})
	attempt.NotBefore = now.Add(wanted.Delay)
	if wanted.NotBefore.After(attempt.NotBefore) {
		attempt.NotBefore = wanted.NotBefore
	}
	attempt.StartBy = attempt.NotBefore.Add(wanted.Wait)
	attempt.Due = ringAgain(attempt.NotBefore)
	return attempt
}

// ringPause is after how long a waiting attempt's doorbell rings again: whoever answered it may be gone.
const ringPause = 15 * time.Second

// ringAgain cuts the time to what every engine keeps, so that a bell can name it.
func ringAgain(after time.Time) job.Due {
	return job.Due{Step: job.DueRing, At: after.Add(ringPause).Truncate(time.Microsecond)}
}

// takeTurn is what moving to running means: from here on it may have been sent.
func takeTurn(attempt *job.Attempt, bootID string, lease time.Duration, settling job.Settling, now time.Time) {
	attempt.BootID = bootID
	attempt.Settling = settling
	attempt.Due, attempt.Asked, attempt.Finding = job.Due{}, 0, "" // what was found out is about an earlier send
	attempt.LeaseUntil = now.Add(lease)
	attempt.StartedAt = now
	attempt.Heard = true
	attempt.Sends++
}

// translateInsert says in the store's words which guard of the database refused.
func (c *Core) translateInsert(err error, attempt job.Attempt) error {
	switch c.engine.BrokenConstraint(err) {
	case "attempts_open_job":
		return store.ErrJobFinal
	case "attempts_below_maximum":
		return store.ErrAttemptsExhausted
	case "attempts_one_blocking":
		return &store.Blocked{By: attempt}
	case "attempts_proof_standing", "attempts_proof_required":
		return &store.NotCertified{Refusal: job.TargetRefusal{Target: attempt.Target, Reasons: []string{"no_certification"}}}
	default:
		return err
	}
}

// recordEvent appends to a job's history, and tells those who wait for the job. The caller holds the job's row lock, so that seq has no rival.
func recordEvent(ctx context.Context, tx Tx, j job.Job, kind string, attempt int, detail map[string]any, now time.Time) error {
	for key, value := range detail {
		if value == nil || value == "" {
			delete(detail, key)
		}
	}
	tell := tx.Announce
	if now.Equal(j.CreatedAt) { // the transaction that creates the job: nobody can wait for it yet
		tell = tx.Exec
	}
	_, err := tell(ctx, `INSERT INTO events (owner_id, job_id, seq, type, attempt, detail, at)
		SELECT $1, $2, COALESCE(MAX(seq), 0) + 1, $3, $4, $5, $6 FROM events WHERE owner_id = $1 AND job_id = $2`,
		j.Owner, j.ID, kind, attempt, plain(encoded(detail)), at(now))
	return err
}

func formatted(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
