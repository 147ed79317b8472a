package dispatch

import (
	"errors"
	"fmt"

	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Reasons of this package's own.
const (
	reasonNotSent      = string(providers.ReasonNotSent)
	reasonTimeout      = string(providers.ReasonTimeout)
	reasonShutdown     = "shutdown"
	reasonWorkerLost   = "worker_lost"
	reasonQueueTimeout = "queue_timeout"
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
		change := notSent(errors.New("the lease ran out before the request was sent"), true)
		failed = &change
	}
	if failed != nil {
		d.settle(f, *failed)
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
}

// prepare makes the request of an attempt. What cannot be built is a definite failure, and is not
// retried; an archive that cannot be read may be readable later.
func (d *Dispatcher) prepare(f *flight) (call, *store.Change) {
	contract, err := d.planner.contract(d.life, f.job.ContractDigest)
	if err != nil {
		change := notSent(err, !unlessUnreadable(err))
		return call{}, &change
	}
	c, err := func() (call, error) {
		bound, err := d.planner.bind(contract, f.job.ContractDigest, f.attempt.Target)
		if err != nil {
			return call{}, err
		}
		return d.callFor(f, bound)
	}()
	if err != nil {
		change := notSent(err, false)
		return c, &change
	}
	return c, nil
}

func (d *Dispatcher) callFor(f *flight, bound *binding.Binding) (call, error) {
	provider := f.attempt.Target.Provider
	client, ok := d.clients[provider]
	if !ok {
		return call{}, fmt.Errorf("provider %s is not configured", provider)
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
	return call{
		client: client, request: request, deadlines: d.planner.deadlines(f.job.Plan, provider),
		rules: providers.Rules{
			ServerErrors: d.config.Providers[provider].ServerErrors, ExpectJSON: true, Check: bound.Judge(input, nil),
		},
	}, nil
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
