package sqlcore

import (
	"context"
	"errors"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// CreateJob implements store.Jobs. The unique constraint on (owner, key) decides who creates; everybody else
// reads what was created in a second statement, since a statement that lost the race cannot see it.
func (c *Core) CreateJob(ctx context.Context, create store.CreateJob) (store.Made, error) {
	made, err := write(ctx, c, func(tx Tx) (store.Made, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return store.Made{}, err
		}
		return c.createIn(ctx, tx, create, now)
	})
	if err == nil {
		c.contents.add(create.Job.ContractDigest)
	}
	return made, err
}

func (c *Core) createIn(ctx context.Context, tx Tx, create store.CreateJob, now time.Time) (store.Made, error) {
	if err := c.keepContent(ctx, tx, create, now); err != nil {
		return store.Made{}, err
	}
	j := create.Job
	j.State, j.Version, j.CreatedAt, j.UpdatedAt = job.JobPending, 1, now, now
	inserted, err := insertJob(ctx, tx, j)
	if err != nil {
		return store.Made{}, err
	}
	if inserted == 0 {
		return c.replay(ctx, tx, create.Job)
	}
	if err := recordEvent(ctx, tx, j, job.HistoryJobCreated, 0, map[string]any{
		"contract": j.Contract, "contract_digest": j.ContractDigest, "target": j.Target,
	}, now); err != nil {
		return store.Made{}, err
	}
	next, err := c.step(ctx, tx, &j, nil, create.Decision, nil, now)
	return store.Made{Job: j, Attempt: next, Created: true}, err
}

func (c *Core) keepContent(ctx context.Context, tx Tx, create store.CreateJob, now time.Time) error {
	if c.contents.has(create.Job.ContractDigest) {
		return nil
	}
	_, err := tx.Exec(ctx, `INSERT INTO contract_contents (digest, name, content, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (digest) DO NOTHING`, create.Job.ContractDigest, create.Job.Contract, string(create.ContractContent), at(now))
	return err
}

func insertJob(ctx context.Context, tx Tx, j job.Job) (int64, error) {
	return tx.Exec(ctx, `INSERT INTO jobs (owner_id, id, idempotency_key, fingerprint, contract, contract_digest, input,
		sent_target, intended_target, metadata, plan, max_attempts, state, version, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
		ON CONFLICT (owner_id, idempotency_key) DO NOTHING`,
		j.Owner, j.ID, j.IdempotencyKey, j.Fingerprint, j.Contract, j.ContractDigest, j.Input, j.SentTarget,
		j.Target.String(), j.Metadata, encoded(j.Plan), j.Plan.MaxAttempts, string(j.State), j.Version, at(j.CreatedAt), at(j.UpdatedAt))
}

// replay answers a create whose key already names a job.
func (c *Core) replay(ctx context.Context, tx Tx, wanted job.Job) (store.Made, error) {
	existing, err := selectJobByKey(ctx, tx, wanted.Owner, wanted.IdempotencyKey)
	purged := errors.Is(err, store.ErrPurged)
	if err != nil && !purged {
		return store.Made{}, err
	}
	if existing.Fingerprint != wanted.Fingerprint {
		return store.Made{}, keyConflict(existing, wanted)
	}
	if purged {
		return store.Made{}, err
	}
	made := store.Made{Job: existing, Created: existing.ID == wanted.ID} // our own insert, whose COMMIT's answer was lost
	if !made.Created {
		return made, nil
	}
	attempts, err := selectAttempts(ctx, tx, existing.Owner, existing.ID)
	if err == nil && len(attempts) > 0 {
		made.Attempt = &attempts[0]
	}
	return made, err
}

func keyConflict(existing, wanted job.Job) error {
	if !existing.PurgedAt.IsZero() {
		return &store.KeyConflict{Purged: true}
	}
	was, errWas := existing.Intent()
	is, errIs := wanted.Intent()
	if err := errors.Join(errWas, errIs); err != nil {
		return err
	}
	return &store.KeyConflict{Pointers: was.Differences(is)}
}

// standings reads what is known about each candidate. Under a lock the rows cannot be revoked before
// the transaction ends.
func (c *Core) standings(ctx context.Context, tx Tx, keys []certification.Key, lock string, now time.Time) (map[providers.Target]certification.Standing, error) {
	out := make(map[providers.Target]certification.Standing, len(keys))
	for _, key := range keys {
		standing, err := standingOf(ctx, tx, key, lock, now)
		if err != nil {
			return nil, err
		}
		out[key.Target] = standing
	}
	return out, nil
}
