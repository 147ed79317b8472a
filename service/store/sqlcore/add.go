package sqlcore

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// AddAttempt implements store.Jobs.
func (c *Core) AddAttempt(ctx context.Context, add store.AddAttempt) (store.Made, error) {
	return write(ctx, c, func(tx Tx) (store.Made, error) {
		j, now, err := c.lockJob(ctx, tx, add.Owner, add.JobID)
		if err != nil {
			return store.Made{}, err
		}
		attempts, err := selectAttempts(ctx, tx, add.Owner, add.JobID)
		if err != nil {
			return store.Made{}, err
		}
		if made, found, err := replayedAttempt(j, attempts, add.Attempt); found || err != nil {
			return made, err
		}
		return c.addIn(ctx, tx, j, attempts, add, now)
	})
}

// replayedAttempt finds the attempt that the key already names.
func replayedAttempt(j job.Job, attempts []job.Attempt, wanted store.NewAttempt) (store.Made, bool, error) {
	for _, attempt := range attempts {
		if attempt.IdempotencyKey != wanted.IdempotencyKey {
			continue
		}
		if attempt.Fingerprint != wanted.Fingerprint {
			return store.Made{}, false, &store.KeyConflict{Pointers: []string{"/target"}}
		}
		return store.Made{Job: j, Attempt: &attempt, Created: attempt.ID == wanted.ID}, true, nil
	}
	return store.Made{}, false, nil
}

func (c *Core) addIn(ctx context.Context, tx Tx, j job.Job, attempts []job.Attempt, add store.AddAttempt, now time.Time) (store.Made, error) {
	if err := mayAdd(j, attempts); err != nil {
		return store.Made{}, err
	}
	wanted := add.Attempt
	if wanted.Target == (providers.Target{}) {
		wanted.Target = j.Target
	}
	if wanted.Target != j.Target || add.Proof != nil { // a proof that is named is demanded, at the intended target too
		id, err := c.proofFor(ctx, tx, add, wanted.Target, now)
		if err != nil {
			return store.Made{}, err
		}
		wanted.CertificationID = id
	}
	attempt, err := c.insertAttempt(ctx, tx, j, len(attempts)+1, wanted, now)
	if err != nil {
		return store.Made{}, err
	}
	_, err = c.step(ctx, tx, &j, append(attempts, attempt), store.Decision{}, nil, now)
	return store.Made{Job: j, Attempt: &attempt, Created: true}, err
}

// mayAdd is the kinder message; the database would refuse each of these as well.
func mayAdd(j job.Job, attempts []job.Attempt) error {
	if j.State.Final() {
		return store.ErrJobFinal
	}
	for _, attempt := range attempts {
		if attempt.State.Blocks() {
			return &store.Blocked{By: attempt}
		}
	}
	if len(attempts) >= j.Plan.MaxAttempts {
		return store.ErrAttemptsExhausted
	}
	return nil
}

// proofFor locks the target's proof and demands that it stands.
func (c *Core) proofFor(ctx context.Context, tx Tx, add store.AddAttempt, target providers.Target, now time.Time) (string, error) {
	refuse := func(reasons []string) error {
		return &store.NotCertified{Refusal: job.TargetRefusal{Target: target, Reasons: reasons}}
	}
	if len(add.Refusals) > 0 {
		return "", refuse(add.Refusals)
	}
	if add.Proof == nil {
		return "", refuse([]string{string(certification.NoCertification)})
	}
	standing, err := standingOf(ctx, tx, *add.Proof, c.engine.Dialect().ForShare, now)
	if err != nil {
		return "", err
	}
	if reasons := standing.Reasons(add.Accepted); len(reasons) > 0 {
		return "", notCertified(target, reasons)
	}
	return standing.Proof.CertificationID, nil
}

func notCertified(target providers.Target, reasons []certification.Reason) error {
	words := make([]string, len(reasons))
	for i, reason := range reasons {
		words[i] = string(reason)
	}
	return &store.NotCertified{Refusal: job.TargetRefusal{Target: target, Reasons: words}}
}
