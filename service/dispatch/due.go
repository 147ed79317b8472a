package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// doorbellGrace is how long an automatic step may be late before the sweep takes it for lost.
const doorbellGrace = 10 * time.Second

// Notes in the history of what happened by policy.
const (
	noteReleased   = "on_unknown: release"
	noteResent     = "on_unknown: resend"
	noteReconciled = "the provider was asked"
)

// dueWorker answers the doorbells of automatic steps about attempts in doubt.
type dueWorker struct {
	river.WorkerDefaults[store.DueArgs]
	d *Dispatcher
}

// Timeout lets a step wait for its moment, and a resend for its slot.
func (w *dueWorker) Timeout(*river.Job[store.DueArgs]) time.Duration { return -1 }

// Work makes the step if it is still the one that the attempt's row asks for. Nothing follows from how it
// ends: a step that was not made is found by the sweep.
func (w *dueWorker) Work(ctx context.Context, rung *river.Job[store.DueArgs]) error {
	args := rung.Args
	leave, ok := w.d.flights.takeIn(args.Ref.JobID)
	if !ok {
		return river.JobSnooze(doorbellPause)
	}
	defer leave()
	if err := w.d.answerDue(ctx, args); err != nil && ctx.Err() == nil {
		w.d.log.Warn("an automatic step was not made; it is tried again", "job", args.Ref.JobID, "attempt", args.Ref.Number,
			"step", args.Step, "error", err)
	}
	return nil
}

// answerDue waits for the step's moment, which a bell may ring before.
func (d *Dispatcher) answerDue(ctx context.Context, args store.DueArgs) error {
	now, err := d.store.Clock(ctx)
	if err != nil {
		return err
	}
	if early := args.At.Sub(now); early > 0 && !d.pause(ctx, early) {
		return nil
	}
	attempt, err := d.store.Attempt(ctx, args.Ref)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || attempt.ID != args.AttemptID || attempt.Due.Step != args.Step || !attempt.Due.At.Equal(args.At) {
		return err
	}
	return d.makeStep(ctx, attempt)
}

// makeStep makes the automatic step that an attempt's row asks for. Each is decided once more inside its
// own write, so it does not matter who else is making it.
func (d *Dispatcher) makeStep(ctx context.Context, attempt job.Attempt) error {
	switch attempt.Due.Step {
	case job.DueRing:
		return d.store.RingAgain(ctx, attempt.Ref)
	case job.DueReconcile:
		return d.reconcile(ctx, attempt)
	case job.DueRelease:
		_, err := d.applyTo(ctx, store.Change{
			Ref: attempt.Ref, Event: job.EventRelease, Reason: reasonReleased, By: d.bootID, Note: noteReleased, OnlyIfDue: job.DueRelease,
		})
		return ifStillDue(err)
	case job.DueResend:
		return d.resend(ctx, attempt)
	default:
		return nil
	}
}

// ifStillDue drops the errors that say that the step is not due, or not possible, any more.
func ifStillDue(err error) error {
	var (
		illegal *store.IllegalTransition
		early   *store.NotYet
	)
	if errors.As(err, &illegal) || errors.As(err, &early) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// sweepSteps makes the steps whose doorbell seems to be lost.
func (d *Dispatcher) sweepSteps(ctx context.Context) error {
	due, err := d.store.DueSteps(ctx, doorbellGrace, sweepPage)
	if err != nil {
		return err
	}
	var failures []error
	for _, attempt := range due {
		if ctx.Err() != nil {
			break
		}
		if attempt.Due.Step == job.DueRing || attempt.Due.Step == job.DueRelease {
			failures = append(failures, d.makeStep(ctx, attempt))
			continue
		}
		failures = append(failures, d.ringDue(ctx, attempt))
	}
	return errors.Join(failures...)
}

// ringDue makes a step that takes time beside the sweep, which has others to look after.
func (d *Dispatcher) ringDue(ctx context.Context, attempt job.Attempt) error {
	leave, ok := d.flights.takeIn(attempt.JobID)
	if !ok {
		return nil
	}
	done, ok := d.steps.begin(attempt.Ref)
	if !ok {
		leave()
		return nil
	}
	go func() {
		defer leave()
		defer done()
		if err := d.makeStep(context.WithoutCancel(ctx), attempt); err != nil {
			d.log.Warn("an automatic step was not made", "job", attempt.JobID, "attempt", attempt.Number, "step", attempt.Due.Step, "error", err)
		}
	}()
	return nil
}

// postpone notes that an automatic step ended nothing; the next one comes no sooner than in.
func (d *Dispatcher) postpone(ctx context.Context, attempt job.Attempt, finding string, in time.Duration) error {
	_, err := d.insist(ctx, patience{tries: tries}, final, func(ctx context.Context) error {
		_, err := d.store.Postpone(ctx, store.Postpone{
			Ref: attempt.Ref, Step: attempt.Due.Step, By: d.bootID, Finding: finding, In: in,
			Decision: store.Decision{Doubt: failover.Doubt},
		})
		return err
	})
	d.bells.ring(attempt.JobID)
	return err
}

// inHand are the attempts about which the sweep is making a step: the next sweep leaves them alone.
type inHand struct {
	mu   sync.Mutex
	refs map[job.Ref]bool
}

// begin takes one in hand until done; ok is false where it is already.
func (h *inHand) begin(ref job.Ref) (done func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refs[ref] {
		return nil, false
	}
	h.refs[ref] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.refs, ref)
	}, true
}
