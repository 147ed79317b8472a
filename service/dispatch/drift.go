package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// tendEvery is how often it is looked whether proofs expire.
const tendEvery = time.Minute

// broke reports whether an answer came that its contract does not take: it breaks the schema or a check, or is not
// even JSON where that was asked for. One that was cut or refused tells of what it was asked at least as much, and
// is held against no proof while the service runs.
func broke(outcome providers.Outcome, exchange providers.Exchange) bool {
	switch outcome.Reason {
	case providers.ReasonContractViolation, providers.ReasonMalformed:
		return providers.TargetAtFault(exchange, outcome)
	}
	return false
}

// withProof adds to a change that ends an attempt by its provider's answer what the answer is held against:
// the proof of its target under the job's contract. Whose contract or target is not known here is not watched. Of a
// failure, [Dispatcher.verdict] has said in Watch whether it broke the contract.
func (d *Dispatcher) withProof(ctx context.Context, j job.Job, target providers.Target, change store.Change) store.Change {
	violated := change.Event == job.EventFailure && change.Watch != nil && change.Watch.Violated
	change.Watch = nil
	if change.Answer == nil {
		return change
	}
	contract, err := d.planner.contract(ctx, j.ContractDigest)
	if err != nil {
		return change
	}
	proof, ok := d.planner.key(contract, j.ContractDigest, target)
	if !ok {
		return change
	}
	change.Watch = &store.Watch{
		Proof: proof, Settings: d.config.Drift(j.Contract), Judged: change.Event == job.EventAnswer || violated, Violated: violated,
	}
	return change
}

// tell logs what happened to certification records: a suspension closes a fallback, and is nobody's request.
func (d *Dispatcher) tell(events []certification.Event) {
	for _, event := range events {
		words := []any{"certification", event.CertificationID, "event", event.Type, "cause", event.Cause, "detail", event.Detail}
		if grounds := event.Grounds; grounds != nil && len(grounds.Attempts) > 0 {
			words = append(words, "attempt_id", grounds.Attempts[0].ID)
		}
		level := slog.LevelWarn
		if event.Type == certification.EventRequested {
			level = slog.LevelInfo
		}
		d.log.Log(context.Background(), level, sayings[event.Type], words...)
	}
}

var sayings = map[certification.EventType]string{
	certification.EventSuspended:   "a proof is suspended: the target may not stand in until it is certified anew",
	certification.EventFingerprint: "a certified target answers with another fingerprint",
	certification.EventRequested:   "a re-certification is requested",
	certification.EventExpiring:    "a certification expires soon",
	certification.EventExpired:     "a certification has expired: the target may not stand in until it is certified anew",
}

// keepTending looks after the proofs of the routes until nothing new is taken in. Every replica does so for all:
// what one has noted no other one notes again.
func (d *Dispatcher) keepTending() {
	defer close(d.tended)
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		if err := d.tend(d.intake); err != nil && d.intake.Err() == nil {
			d.log.Warn("the proofs were not looked after; they are the next time", "error", err)
		}
		select {
		case <-d.intake.Done():
			return
		case <-ticker.C:
		}
	}
}

func (d *Dispatcher) tend(ctx context.Context) error {
	var noted []certification.Event
	err := limited(ctx, func(ctx context.Context) (err error) {
		noted, err = d.store.TendProofs(ctx, d.routed(), d.bootID)
		return err
	})
	d.tell(noted)
	return err
}

// routed are the proofs that the routes rest on.
func (d *Dispatcher) routed() []certification.Key {
	var keys []certification.Key
	for _, contract := range d.config.Catalog.All() {
		plan, digest := d.config.Plan(contract), d.planner.served[contract.Name].digest
		for _, target := range failover.Candidates(plan, plan.Primary) {
			if key, ok := d.planner.key(contract, digest, target); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Proofs are what is known of the proofs that the routes rest on, in their order. An error is the store's.
func (d *Dispatcher) Proofs(ctx context.Context) ([]certification.Standing, error) {
	keys := d.routed()
	if len(keys) == 0 {
		return nil, nil
	}
	return d.store.Standings(ctx, keys)
}
