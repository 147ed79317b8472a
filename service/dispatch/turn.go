package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// doorbellPause is after how long a doorbell that rang during a shutdown rings again, elsewhere.
const doorbellPause = time.Second

// turnWorker answers the doorbells of one provider's waiting attempts.
type turnWorker struct {
	river.WorkerDefaults[store.TurnArgs]
	d *Dispatcher
}

// Timeout lets an attempt wait for its slot as long as it may.
func (w *turnWorker) Timeout(*river.Job[store.TurnArgs]) time.Duration { return -1 }

// Work waits for a slot, takes the attempt's turn and hands it over to a flight of its own. Nothing
// follows from how it ends: an attempt whose turn was not taken is swept when its time is over.
func (w *turnWorker) Work(ctx context.Context, rung *river.Job[store.TurnArgs]) error {
	err := w.d.answerDoorbell(ctx, rung.Args)
	var snooze *river.JobSnoozeError
	if err == nil || errors.As(err, &snooze) {
		return err
	}
	w.d.log.Warn("a doorbell could not be answered; it will ring again", "job", rung.Args.Ref.JobID, "error", err)
	return river.JobSnooze(doorbellPause)
}

// answerDoorbell waits for the attempt's time, which a bell may ring before, then for a slot.
func (d *Dispatcher) answerDoorbell(ctx context.Context, args store.TurnArgs) error {
	leave, ok := d.flights.takeIn(args.Ref.JobID)
	if !ok {
		return river.JobSnooze(doorbellPause)
	}
	defer leave()
	for {
		err := d.tryTurn(ctx, args)
		var early *store.NotYet
		if !errors.As(err, &early) {
			return err
		}
		if !d.pause(ctx, early.In) {
			return river.JobSnooze(doorbellPause)
		}
	}
}

// pause waits, and says whether there is still something to do afterwards.
func (d *Dispatcher) pause(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.intake.Done():
	case <-ctx.Done():
	}
	return false
}

func (d *Dispatcher) tryTurn(ctx context.Context, args store.TurnArgs) error {
	attempt, err := d.waiting(ctx, args)
	if err != nil || attempt == nil {
		return err
	}
	if _, ok := d.slots[attempt.Target.Provider]; !ok {
		return nil
	}
	if args.Again() {
		return d.tryAgain(ctx, args, *attempt)
	}
	// Measured from here, so that no clock is compared, and from its creation, so that it is not given up
	// early: the sweep gives it up in time, by the database's clock.
	patience, cancel := context.WithTimeout(ctx, attempt.StartBy.Sub(attempt.CreatedAt))
	defer cancel()
	defer context.AfterFunc(d.intake, cancel)()
	taken, err := d.takePlace(patience, attempt.Target)
	switch {
	case err == nil:
		return d.takeTurn(ctx, *attempt, taken)
	case d.flights.isClosed() || ctx.Err() != nil:
		return river.JobSnooze(doorbellPause)
	default:
		return d.sweepOne(ctx, *attempt)
	}
}

// tryAgain takes the turn of an attempt whose first bell was heard elsewhere, or here, if a slot is free.
// A replica without one puts the bell off, so that another one may answer it.
func (d *Dispatcher) tryAgain(ctx context.Context, args store.TurnArgs, attempt job.Attempt) error {
	if !attempt.Due.At.Equal(args.Until) {
		return nil // it has rung once more since
	}
	taken := d.tryPlace(attempt.Target)
	if taken == nil {
		return river.JobSnooze(doorbellPause)
	}
	return d.takeTurn(ctx, attempt, taken)
}

// waiting is the attempt that a doorbell is about, nil where it does not wait any more.
func (d *Dispatcher) waiting(ctx context.Context, args store.TurnArgs) (*job.Attempt, error) {
	attempt, err := d.store.Attempt(ctx, args.Ref)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if attempt.State != job.Starting || attempt.ID != args.AttemptID {
		return nil, nil
	}
	return &attempt, nil
}

// takeTurn moves the attempt before a byte is written, and runs it.
func (d *Dispatcher) takeTurn(ctx context.Context, attempt job.Attempt, taken *slot) error {
	s := &step{d: d, id: attempt.ID, slot: taken}
	defer s.giveBack()
	j, err := d.store.Job(ctx, attempt.Owner, attempt.JobID)
	if err != nil {
		return err
	}
	began := time.Now()
	change := store.Change{
		Ref: attempt.Ref, Event: job.EventTurn, By: d.bootID, BootID: d.bootID, Lease: d.options.Lease,
		Settling: d.settling(attempt.Target),
	}
	var applied store.Applied
	tried, err := d.insist(ctx, patience{enough: d.intake.Done()}, answered, func(ctx context.Context) (err error) {
		applied, err = d.store.Apply(ctx, change)
		return err
	})
	var unproven *store.NotCertified
	if errors.As(err, &unproven) {
		return d.giveUpTurn(ctx, attempt, unproven)
	}
	var illegal *store.IllegalTransition
	if errors.As(err, &illegal) { // cancelled, swept, or taken: by this very call where its answer was lost
		err = nil
		if tried > 1 {
			applied.Attempt = illegal.Attempt
		}
	}
	if err != nil {
		return err
	}
	s.began = began
	s.launch(j, &applied.Attempt)
	d.bells.ring(attempt.JobID)
	return nil
}

// giveUpTurn ends an attempt whose proof was lost while it waited. It was never sent, and the job moves on.
func (d *Dispatcher) giveUpTurn(ctx context.Context, attempt job.Attempt, unproven *store.NotCertified) error {
	_, err := d.applyTo(ctx, store.Change{
		Ref: attempt.Ref, Event: job.EventNotSent, Reason: reasonProofLost, Detail: unproven.Error(), By: d.bootID,
	})
	return ifStillDue(err)
}
