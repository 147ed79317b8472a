package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Reasons of this package's own.
const (
	reasonNotSent      = string(providers.ReasonNotSent)
	reasonUnmappable   = string(providers.ReasonUnmappable)
	reasonTimeout      = string(providers.ReasonTimeout)
	reasonShutdown     = "shutdown"
	reasonWorkerLost   = "worker_lost"
	reasonQueueTimeout = "queue_timeout"
	reasonProofLost    = "not_certified" // while it waited for its turn
)

// launch runs a flight that the store has as running here. It returns at once.
func (d *Dispatcher) launch(f *flight) {
	if !d.flights.add(f) {
		f.slot.giveBack()
		return
	}
	go func() {
		defer d.flights.remove(f)
		defer f.slot.giveBack()
		d.run(f)
	}()
}

func (d *Dispatcher) run(f *flight) {
	call, failed := d.prepare(f)
	if failed == nil && !d.mayWrite(f) {
		change := notSent(reasonNotSent, errors.New("the lease ran out before the request was sent"), true)
		failed = &change
	}
	if failed != nil {
		d.settle(f, d.ending(f, call, *failed))
		return
	}
	d.log.Info("attempt sent", "job", f.job.ID, "attempt", f.attempt.Number, "attempt_id", f.attempt.ID,
		"target", f.attempt.Target.String(), "role", f.attempt.Role)
	d.settle(f, d.listen(f, call))
}

// call is everything that one send needs.
type call struct {
	client    providers.Provider
	request   providers.Request
	deadlines job.Deadlines
	rules     providers.Rules
	resends   bool // by the job's policy it is sent again after silence, so that nobody need go on listening
}

// prepare makes the request of an attempt. A target that left the configuration is a failure at this target
// alone; a request that cannot be built is one of the job, since it is our own fault everywhere. An archive
// that cannot be read may be readable later.
func (d *Dispatcher) prepare(f *flight) (call, *store.Change) {
	contract, err := d.planner.contract(d.life, f.job.ContractDigest)
	if err != nil {
		change := notSent(reasonNotSent, err, !unlessUnreadable(err))
		return call{}, &change
	}
	client, configured := d.clients[f.attempt.Target.Provider]
	if _, ok := d.config.Profile(f.attempt.Target); !ok || !configured {
		change := notSent(reasonNotSent, fmt.Errorf("target %s is not configured", f.attempt.Target), false)
		return call{}, &change
	}
	c, err := d.callFor(f, contract)
	if err != nil {
		change := notSent(reasonUnmappable, err, false)
		return c, &change
	}
	c.client = client
	return c, nil
}

func (d *Dispatcher) callFor(f *flight, contract *contracts.Contract) (call, error) {
	bound, err := d.planner.bind(contract, f.job.ContractDigest, f.attempt.Target)
	if err != nil {
		return call{}, err
	}
	input, err := decodeInput(f.job.Input)
	if err != nil {
		return call{}, err
	}
	request, err := bound.Request(input)
	if err != nil {
		return call{}, err
	}
	request.AttemptID = f.attempt.ID
	request.Accepted = func(reference string) { d.noteReference(f, reference) }
	return call{
		request: request, deadlines: d.deadlinesOf(f), rules: d.rulesOf(bound, input, f.attempt.Target),
		resends: f.job.Plan.OnUnknown == job.OnUnknownResend && f.attempt.IdempotencyHeader != "",
	}, nil
}

// deadlinesOf are the provider's, and never past the job's own deadline.
func (d *Dispatcher) deadlinesOf(f *flight) job.Deadlines {
	deadlines := d.planner.deadlines(f.job.Plan, f.attempt.Target.Provider)
	if f.attempt.Role != job.RoleManual {
		deadlines.Timeout = min(deadlines.Timeout, failover.Remaining(f.job, f.attempt.StartedAt))
	}
	return deadlines
}

func (d *Dispatcher) rulesOf(bound *binding.Binding, input map[string]any, target providers.Target) providers.Rules {
	return providers.Rules{
		ServerErrors: d.config.Providers[target.Provider].ServerErrors, ExpectJSON: true, Unwrap: bound.Unwrap, Check: bound.Judge(input, nil),
		Now: time.Now(),
	}
}

// rulesFor are those of an attempt that is not in flight here.
func (d *Dispatcher) rulesFor(ctx context.Context, j job.Job, target providers.Target) (providers.Rules, error) {
	contract, err := d.planner.contract(ctx, j.ContractDigest)
	if err != nil {
		return providers.Rules{}, err
	}
	bound, err := d.planner.bind(contract, j.ContractDigest, target)
	if err != nil {
		return providers.Rules{}, err
	}
	input, err := decodeInput(j.Input)
	return d.rulesOf(bound, input, target), err
}

func decodeInput(text string) (map[string]any, error) {
	decoded, err := value.Decode([]byte(text))
	if err != nil {
		return nil, err
	}
	input, ok := decoded.(map[string]any)
	if !ok {
		return nil, errors.New("the input is not an object")
	}
	return input, nil
}
