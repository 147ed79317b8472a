package dispatch

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/circuit"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
)

// circuitPoll is how often an attempt that waits for its target's circuit looks at it again: a probe that
// succeeds lets everybody through at once.
const circuitPoll = 250 * time.Millisecond

// tryPlace takes a slot for a send to a target, if one is free and the target's circuit allows it.
func (d *Dispatcher) tryPlace(target providers.Target) *slot {
	slots, ok := d.slots[target.Provider]
	if !ok {
		return nil
	}
	taken, ok := slots.try()
	if !ok {
		return nil
	}
	if _, ok := d.permit(taken, target); !ok {
		taken.giveBack()
		return nil
	}
	return taken
}

// takePlace waits for both, until ctx ends.
func (d *Dispatcher) takePlace(ctx context.Context, target providers.Target) (*slot, error) {
	for {
		taken, err := d.slots[target.Provider].take(ctx)
		if err != nil {
			return nil, err
		}
		wait, ok := d.permit(taken, target)
		if ok {
			return taken, nil
		}
		taken.giveBack()
		if !d.pause(ctx, min(wait, circuitPoll)) {
			return nil, context.Cause(ctx)
		}
	}
}

func (d *Dispatcher) permit(taken *slot, target providers.Target) (wait time.Duration, ok bool) {
	taken.report, wait, ok = d.circuits.Allow(target)
	return wait, ok
}

// observe tells the target's circuit what an outcome means for the next jobs.
func (d *Dispatcher) observe(f *flight, outcome providers.Outcome) {
	f.slot.tell(circuit.ResultOf(outcome))
	d.circuits.CoolDown(f.attempt.Target, min(outcome.RetryAfter, failover.MaxRetryAfter))
}

// rules are what today's configuration, and this replica's experience, say about a job's targets.
func (d *Dispatcher) rules(contract *contracts.Contract, j job.Job) failover.Rules {
	return failover.Rules{
		Accepted: d.config.Server.AcceptSources,
		Known: func(target providers.Target) bool {
			_, ok := d.config.Profile(target)
			return ok
		},
		Cooling: d.circuits.Cooling,
		Fits:    func(target providers.Target) bool { return d.planner.fits(contract, j, target) },
	}
}

// circuitOf is how a target's circuit is set.
func circuitOf(c *config.Config) func(providers.Target) circuit.Settings {
	return func(target providers.Target) circuit.Settings {
		provider := c.Providers[target.Provider]
		return circuit.Settings{
			Failures: provider.Circuit.Failures, CoolDown: provider.Circuit.CoolDown, Silence: provider.Timeout + hangUp,
		}
	}
}
