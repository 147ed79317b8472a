package dispatch

import (
	"context"
	"strings"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/circuit"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// hangUp is how long a provider's client may take to return after its context ended.
const hangUp = 2 * time.Second

// listen sends, and returns what was heard by the hard deadline. At the soft one it gives the slot back
// and tells the store that the attempt is in doubt.
func (d *Dispatcher) listen(f *flight, c call) store.Change {
	ctx, cancel := context.WithTimeout(d.sending, c.deadlines.GiveUp)
	defer cancel()
	soft := time.NewTimer(c.deadlines.Timeout)
	defer soft.Stop()
	var exchange providers.Exchange
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		exchange = c.client.Send(ctx, c.request)
	}()
	select {
	case <-heard:
	case <-ctx.Done():
	case <-soft.C:
		f.slot.tell(circuit.Failure)
		f.slot.giveBack()
		if c.resends {
			cancel() // the answer is not lost: it comes by the next send
			break
		}
		d.doubt(f, heard)
	}
	if !hangsUp(ctx, heard) {
		return d.inDoubt(providers.Outcome{Reason: providers.ReasonTimeout, Detail: "the provider's client did not return"}, nil)
	}
	c.rules.Now = time.Now()
	outcome := providers.Classify(exchange, c.rules)
	d.observe(f, outcome)
	return d.ending(f, c, d.verdict(outcome, exchange))
}

// ending is what a verdict means for an attempt that may have been sent before. A provider's refusal to take
// the second send says nothing about the first one.
func (d *Dispatcher) ending(f *flight, c call, change store.Change) store.Change {
	switch {
	case change.Event == job.EventDoubt && c.resends && d.sending.Err() == nil:
		change.Reason, change.Detail = reasonTimeout, "no answer by the soft deadline"
	case change.Event == job.EventFailure && f.attempt.Sends > 1 && !saysOfTheWork[providers.Reason(change.Reason)]:
		change.Event, change.Detail = job.EventDoubt, "sent again: "+change.Detail
	}
	return change
}

// saysOfTheWork are the failures that an attempt's own work can have ended in, however often it was sent.
var saysOfTheWork = map[providers.Reason]bool{
	providers.ReasonMalformed: true, providers.ReasonTruncated: true, providers.ReasonRefused: true, providers.ReasonContractViolation: true,
}

// hangsUp waits for the exchange, and past the end of ctx only for a moment.
func hangsUp(ctx context.Context, heard <-chan struct{}) bool {
	select {
	case <-heard:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(hangUp)
	defer timer.Stop()
	select {
	case <-heard:
		return true
	case <-timer.C:
		return false
	}
}

// doubt says that the soft deadline has passed. An answer that comes meanwhile is more to the point.
func (d *Dispatcher) doubt(f *flight, heard <-chan struct{}) {
	_, err := d.apply(d.life, patience{enough: heard}, store.Change{
		Ref: f.attempt.Ref, Event: job.EventDoubt, Reason: reasonTimeout, Detail: "no answer by the soft deadline",
		By: d.bootID, Heard: true, Send: f.attempt.Sends,
	}, nil)
	if err != nil && !final(err) {
		d.log.Warn("the soft deadline was not stored", "job", f.job.ID, "attempt", f.attempt.Number, "error", err)
	}
}

// verdict is the change that an outcome means for its attempt.
func (d *Dispatcher) verdict(outcome providers.Outcome, exchange providers.Exchange) store.Change {
	answer := &store.Answer{
		ServedModel: outcome.ServedModel, SystemPrint: outcome.Fingerprint, Usage: outcome.Usage,
	}
	if exchange.Status != 0 {
		answer.Latency = exchange.Finished.Sub(exchange.Started)
	}
	switch outcome.Verdict {
	case providers.Succeeded:
		answer.Result = strings.TrimSpace(outcome.Content)
		return store.Change{Event: job.EventAnswer, Answer: answer}
	case providers.Failed:
		return store.Change{
			Event: job.EventFailure, Reason: string(outcome.Reason), Detail: detailed(outcome), Answer: answer,
			Retryable: outcome.Retryable, RetryIn: min(outcome.RetryAfter, failover.MaxRetryAfter),
			NotSent: !exchange.Wrote, Watch: &store.Watch{Violated: broke(outcome, exchange)},
		}
	default:
		return d.inDoubt(outcome, answer)
	}
}

// inDoubt is the end of listening without a definite answer. The store reads it as "unheard" where the
// attempt is in doubt already.
func (d *Dispatcher) inDoubt(outcome providers.Outcome, answer *store.Answer) store.Change {
	reason := string(outcome.Reason)
	if d.sending.Err() != nil {
		reason = reasonShutdown
	}
	return store.Change{Event: job.EventDoubt, Reason: reason, Detail: outcome.Detail, Answer: answer}
}

func detailed(outcome providers.Outcome) string {
	if outcome.InstancePath == "" {
		return outcome.Detail
	}
	return outcome.InstancePath + ": " + outcome.Detail
}
