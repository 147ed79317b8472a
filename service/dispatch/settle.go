package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// How the store is asked again where its answer did not come.
const (
	firstPause = 20 * time.Millisecond
	longPause  = 5 * time.Second
	// callLimit is of one call: all the tries of a caller's change must end well before its HTTP answer is due.
	callLimit = 10 * time.Second
)

// patience says when to stop asking a store that does not answer, apart from the context's end.
type patience struct {
	enough <-chan struct{} // closed: it does not matter any more
	tries  int             // 0 = no limit
}

// apply brings one change to the store and repeats it until the store has answered or patience ends.
// Waiters are told, and the attempt that the step made is launched.
func (d *Dispatcher) apply(ctx context.Context, patience patience, change store.Change, s *step) (store.Applied, error) {
	defer d.flights.enter(change.Ref.JobID)()
	defer s.giveBack()
	var applied store.Applied
	tried, err := d.insist(ctx, patience, final, func(ctx context.Context) (err error) {
		change.Decision = s.decision()
		change.Decision.Doubt = failover.Doubt
		applied, err = d.store.Apply(ctx, change)
		return err
	})
	if tried > 1 {
		applied, err = d.afterSilence(ctx, change, s, applied, err)
	}
	if err != nil {
		return applied, err
	}
	d.log.Info("attempt moved", "job", change.Ref.JobID, "attempt", change.Ref.Number, "attempt_id", applied.Attempt.ID,
		"event", change.Event, "state", applied.Attempt.State, "reason", applied.Attempt.Reason, "moved", applied.Moved,
		"job_state", applied.Job.State)
	d.tell(applied.Drift)
	s.launch(applied.Job, applied.Next)
	d.bells.ring(change.Ref.JobID)
	return applied, nil
}

// applyTo is apply for an attempt that is not known from a flight. Its patience is limited: whoever calls
// it comes again.
func (d *Dispatcher) applyTo(ctx context.Context, change store.Change) (store.Applied, error) {
	var s *step
	err := limited(ctx, func(ctx context.Context) error {
		j, err := d.store.Job(ctx, change.Ref.Owner, change.Ref.JobID)
		if err != nil {
			return err
		}
		s, err = d.newStep(ctx, j)
		return err
	})
	if err != nil {
		return store.Applied{}, err
	}
	return d.apply(ctx, patience{tries: tries}, change, s)
}

// afterSilence reads an answer that came only after the store had been silent: an earlier try may have
// moved the attempt and made the next one.
func (d *Dispatcher) afterSilence(ctx context.Context, change store.Change, s *step, applied store.Applied, err error) (store.Applied, error) {
	var illegal *store.IllegalTransition
	if errors.As(err, &illegal) && leads(change.Event, illegal.Attempt.State) {
		applied.Attempt = illegal.Attempt
		err = limited(ctx, func(ctx context.Context) (err error) {
			applied.Job, err = d.store.Job(ctx, change.Ref.Owner, change.Ref.JobID)
			return err
		})
	}
	if err == nil && applied.Next == nil && s != nil {
		applied.Next = d.madeBefore(ctx, change.Ref, s)
	}
	return applied, err
}

// leads says whether an event can have brought an attempt into a state.
func leads(event job.Event, state job.State) bool {
	return slices.ContainsFunc(job.Table, func(row job.Transition) bool { return row.Event == event && row.To == state })
}

// madeBefore finds the attempt that an earlier try of the same transaction made, where only the answer
// to its COMMIT was lost.
func (d *Dispatcher) madeBefore(ctx context.Context, ref job.Ref, s *step) *job.Attempt {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	attempts, err := d.store.Attempts(ctx, ref.Owner, ref.JobID)
	if err != nil {
		d.log.Warn("the next attempt could not be read; it is taken for lost", "job", ref.JobID, "error", err)
		return nil
	}
	for _, each := range attempts {
		if each.ID == s.id {
			return &each
		}
	}
	return nil
}

// insist calls do until done says that its error is an answer. It says how often it called.
func (d *Dispatcher) insist(ctx context.Context, patience patience, done func(error) bool, do func(context.Context) error) (int, error) {
	pause := firstPause
	for tried := 1; ; tried++ {
		err := limited(ctx, do)
		if done(err) || tried == patience.tries {
			return tried, err
		}
		d.log.Warn("the store did not answer; asking again", "error", err, "tries", tried)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause = min(2*pause, longPause)
		case <-patience.enough:
			timer.Stop()
			return tried, err
		case <-ctx.Done():
			timer.Stop()
			return tried, errors.Join(err, ctx.Err())
		}
	}
}

func limited(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return do(ctx)
}

// settle brings the end of a flight to the store: its attempt is not running here afterwards.
func (d *Dispatcher) settle(f *flight, change store.Change) {
	change.Ref, change.By, change.Send = f.attempt.Ref, d.bootID, f.attempt.Sends
	var s *step
	_, err := d.insist(d.life, patience{}, unlessUnreadable, func(ctx context.Context) (err error) {
		s, err = d.newStep(ctx, f.job)
		return err
	})
	if err != nil {
		d.log.Error("no next step can be decided", "job", f.job.ID, "error", err)
	}
	_, err = d.apply(d.life, patience{}, d.withProof(d.life, f.job, f.attempt.Target, change), s)
	var illegal *store.IllegalTransition
	switch {
	case errors.As(err, &illegal):
		d.log.Info("the attempt had ended before", "job", f.job.ID, "attempt", f.attempt.Number, "event", change.Event, "state", illegal.Attempt.State)
	case errors.Is(err, store.ErrPurged):
		d.log.Warn("what was heard last belongs to a purged job and changes nothing", heardLast(f, change)...)
	case err != nil:
		d.log.Error("the outcome was not stored", "job", f.job.ID, "attempt", f.attempt.Number, "event", change.Event, "error", err)
	}
}

// unlessUnreadable says whether asking again for a job's contract would change nothing.
func unlessUnreadable(err error) bool {
	var broken *brokenContract
	return final(err) || errors.As(err, &broken)
}

// notSent is the change of an attempt that provably wrote nothing to its provider.
func notSent(reason string, cause error, retryable bool) store.Change {
	return store.Change{
		Event: job.EventFailure, Reason: reason, Detail: fmt.Sprint(cause), Retryable: retryable, NotSent: true,
	}
}
