package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// settling is what a request to a target leaves behind when it is sent from here, now.
func (d *Dispatcher) settling(target providers.Target) job.Settling {
	provider := d.config.Providers[target.Provider]
	settling := job.Settling{SentTo: provider.BaseURL, Reconcile: provider.Reconcile, IdempotencyHeader: provider.Idempotent}
	if settling.Reconcile != "" {
		settling.Horizon = provider.ReconcileHorizon
	}
	return settling
}

// resend sends an attempt in doubt once more with its own key, at the provider that honours it.
func (d *Dispatcher) resend(ctx context.Context, attempt job.Attempt) error {
	settling := d.settling(attempt.Target)
	if settling != attempt.Settling {
		return d.postpone(ctx, attempt, "the provider's configuration changed since it was sent: sending it again would not be the same request", failover.AskPause(attempt.Asked+1, attempt.ID))
	}
	if _, ok := d.slots[attempt.Target.Provider]; !ok {
		return nil
	}
	j, err := d.store.Job(ctx, attempt.Owner, attempt.JobID)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, d.planner.deadlines(j.Plan, attempt.Target.Provider).QueueTimeout)
	defer cancel()
	defer context.AfterFunc(d.intake, cancel)()
	taken, err := d.takePlace(waiting, attempt.Target)
	if err != nil {
		return d.postpone(ctx, attempt, "no slot became free to send it again, or its circuit is open", failover.AskPause(attempt.Asked+1, attempt.ID))
	}
	s := &step{d: d, id: attempt.ID, slot: taken}
	defer s.giveBack()
	return d.sendAgain(ctx, j, attempt, settling, s)
}

func (d *Dispatcher) sendAgain(ctx context.Context, j job.Job, attempt job.Attempt, settling job.Settling, s *step) error {
	began := time.Now()
	change := store.Change{
		Ref: attempt.Ref, Event: job.EventResend, By: d.bootID, Note: noteResent, OnlyIfDue: job.DueResend,
		BootID: d.bootID, Lease: d.options.Lease, Settling: settling,
	}
	var applied store.Applied
	tried, err := d.insist(ctx, patience{enough: d.intake.Done()}, final, func(ctx context.Context) (err error) {
		applied, err = d.store.Apply(ctx, change)
		return err
	})
	var illegal *store.IllegalTransition
	if errors.As(err, &illegal) && tried > 1 { // by this very call, where its answer was lost
		applied.Attempt, err = illegal.Attempt, nil
	}
	if err != nil {
		return ifStillDue(err)
	}
	if applied.Attempt.Sends > attempt.Sends {
		s.began = began
		s.launch(j, &applied.Attempt)
	}
	d.bells.ring(attempt.JobID)
	return nil
}
