package dispatch

import (
	"context"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// AddAttempt makes one explicit attempt of a job, at the intended target where none is sent, or finds
// the one that the key already names under this job.
// *UnknownTarget, ErrShuttingDown, and what store.Jobs.AddAttempt errs with.
func (d *Dispatcher) AddAttempt(ctx context.Context, owner, jobID, key, sent string) (store.Made, error) {
	j, err := d.store.Job(ctx, owner, jobID)
	if err != nil {
		return store.Made{}, err
	}
	add, err := d.explicit(ctx, j, key, sent)
	if err != nil {
		return d.unlessAdded(ctx, j, key, sent, err)
	}
	leave, ok := d.flights.takeIn(jobID)
	if !ok {
		return store.Made{}, ErrShuttingDown
	}
	defer leave()
	s := &step{d: d, id: newID()}
	defer s.giveBack()
	s.complete(&add.Attempt, j.Plan)
	var made store.Made
	_, err = d.insist(context.WithoutCancel(ctx), patience{tries: tries}, answered, func(ctx context.Context) (err error) {
		s.starts()
		made, err = d.store.AddAttempt(ctx, add)
		return err
	})
	if err != nil {
		return store.Made{}, err
	}
	if made.Created {
		s.launch(made.Job, made.Attempt)
		d.bells.ring(jobID)
	}
	return made, nil
}

// explicit is the wish for an attempt, with all that is known beforehand why it may not be.
func (d *Dispatcher) explicit(ctx context.Context, j job.Job, key, sent string) (store.AddAttempt, error) {
	target := j.Target
	if sent != "" {
		var err error
		if target, err = d.known(sent); err != nil {
			return store.AddAttempt{}, err
		}
	}
	contract, err := d.planner.contract(ctx, j.ContractDigest)
	if err != nil {
		return store.AddAttempt{}, err
	}
	add := store.AddAttempt{
		Owner: j.Owner, JobID: j.ID, Accepted: d.config.Server.AcceptSources,
		Refusals: failover.Refusals(j, target, d.rules(contract, j)),
		Attempt: store.NewAttempt{
			IdempotencyKey: key, Fingerprint: job.AttemptRequest{Target: sent}.Fingerprint(), Role: job.RoleManual, Target: target,
			Delay: d.circuits.Cooling(target),
		},
	}
	if target == j.Target && !failover.NeedsProof(j.Plan, target) {
		return add, nil
	}
	if proof, ok := d.planner.key(contract, j.ContractDigest, target); ok {
		add.Proof = &proof
	}
	return add, nil
}

// unlessAdded answers a refused request with the attempt that its key already names, if it does.
func (d *Dispatcher) unlessAdded(ctx context.Context, j job.Job, key, sent string, refusal error) (store.Made, error) {
	attempts, err := d.store.Attempts(ctx, j.Owner, j.ID)
	if err != nil {
		return store.Made{}, err
	}
	for _, each := range attempts {
		if each.IdempotencyKey != key {
			continue
		}
		if each.Fingerprint != (job.AttemptRequest{Target: sent}).Fingerprint() {
			return store.Made{}, &store.KeyConflict{Pointers: []string{"/target"}}
		}
		return store.Made{Job: j, Attempt: &each}, nil
	}
	return store.Made{}, refusal
}

// Targets says of every configured target whether it may stand in under a contract, now.
// *UnknownContract.
func (d *Dispatcher) Targets(ctx context.Context, contract string) ([]failover.TargetStatus, error) {
	found, ok := d.planner.served[contract]
	if !ok {
		return nil, &UnknownContract{Name: contract}
	}
	targets := d.config.Targets()
	keys := make([]certification.Key, 0, len(targets))
	for _, target := range targets {
		if key, ok := d.planner.key(found.contract, found.digest, target); ok {
			keys = append(keys, key)
		}
	}
	read, err := d.store.Standings(ctx, keys)
	if err != nil {
		return nil, err
	}
	standings := make(map[providers.Target]certification.Standing, len(read))
	for _, standing := range read {
		standings[standing.Key.Target] = standing
	}
	rules := failover.Rules{Accepted: d.config.Server.AcceptSources, Cooling: d.circuits.Cooling}
	return rules.Status(d.config.Plan(found.contract), targets, standings), nil
}
