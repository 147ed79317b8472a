package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// sweepPage is how many overdue attempts are read at once.
const sweepPage = 100

// keepSweeping sweeps until nothing new is taken in. Every replica does so for all: River rings periodic jobs
// on one leader alone, and after that one's death there is none for a quarter of a minute.
func (d *Dispatcher) keepSweeping() {
	defer close(d.swept)
	ticker := time.NewTicker(d.options.Sweep)
	defer ticker.Stop()
	for {
		select {
		case <-d.intake.Done():
			return
		case <-ticker.C:
		}
		// Whatever could not be swept is overdue the next time as well.
		if err := d.sweep(d.intake); err != nil && d.intake.Err() == nil {
			d.log.Warn("the sweep did not finish", "error", err)
		}
	}
}

// sweep ends what is overdue and makes the automatic steps that are late.
func (d *Dispatcher) sweep(ctx context.Context) error {
	return errors.Join(d.sweepOverdue(ctx), d.sweepSteps(ctx))
}

// sweepOverdue ends what is overdue: orphans fall into doubt, and whatever waited too long is given up. Each is
// decided inside its own write, which asks once more whether the attempt is overdue.
func (d *Dispatcher) sweepOverdue(ctx context.Context) error {
	for {
		overdue, err := d.store.Overdue(ctx, sweepPage)
		if err != nil {
			return err
		}
		swept := 0
		var failures []error
		for _, attempt := range overdue {
			if d.flights.accountedFor(attempt.Ref) {
				continue // it is heard here, whatever became of its lease
			}
			if err := d.sweepOne(ctx, attempt); err != nil {
				failures = append(failures, err)
				continue
			}
			swept++
		}
		if len(failures) > 0 || len(overdue) < sweepPage || swept == 0 {
			return errors.Join(failures...)
		}
	}
}

func (d *Dispatcher) sweepOne(ctx context.Context, attempt job.Attempt) error {
	change := store.Change{Ref: attempt.Ref, By: d.bootID, OnlyIfOverdue: true}
	if attempt.State == job.Starting {
		change.Event, change.Reason, change.Retryable = job.EventNotSent, reasonQueueTimeout, true
		change.Detail = "no slot became free in time"
	} else {
		change.Event, change.Reason = job.EventDoubt, reasonWorkerLost
		change.Detail = "the replica that ran it is gone"
	}
	_, err := d.applyTo(ctx, change)
	var illegal *store.IllegalTransition
	if errors.As(err, &illegal) { // it ended between the reading and the write
		return nil
	}
	return err
}
