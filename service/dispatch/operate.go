package dispatch

import (
	"context"
	"strings"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Outcomes that an attempt may be resolved with.
const (
	OutcomeFailed    = "failed"
	OutcomeSucceeded = "succeeded"
)

// Reasons of attempts that an external process ended.
const (
	reasonResolved  = "resolved_failed"
	reasonReleased  = "released"
	reasonCancelled = "cancelled"
)

// Resolution is what an external process found out about an attempt in doubt.
type Resolution struct {
	Outcome string // OutcomeFailed or OutcomeSucceeded
	Result  string // with OutcomeSucceeded: the answer as JSON text
	Note    string
	By      string
}

// Resolve ends the doubt about an attempt. A result must meet the job's contract, else *InvalidInput.
// *store.IllegalTransition, ErrNotFound.
func (d *Dispatcher) Resolve(ctx context.Context, ref job.Ref, resolution Resolution) (job.Attempt, error) {
	change := store.Change{Ref: ref, By: resolution.By, Note: resolution.Note}
	switch resolution.Outcome {
	case OutcomeFailed:
		if resolution.Result != "" {
			return job.Attempt{}, &InvalidInput{Pointers: []string{"/result"}, Detail: "a failed attempt has no result"}
		}
		change.Event, change.Reason = job.EventResolveFailed, reasonResolved
	case OutcomeSucceeded:
		change.Event, change.Answer = job.EventResolveSucceeded, &store.Answer{Result: strings.TrimSpace(resolution.Result)}
		if err := d.meetsContract(ctx, ref, change.Answer.Result); err != nil {
			return job.Attempt{}, err
		}
	default:
		return job.Attempt{}, &InvalidInput{Pointers: []string{"/outcome"}, Detail: "want failed or succeeded"}
	}
	return d.operate(ctx, change)
}

// meetsContract judges a result as an answer of the provider would have been.
func (d *Dispatcher) meetsContract(ctx context.Context, ref job.Ref, result string) error {
	j, err := d.store.Job(ctx, ref.Owner, ref.JobID)
	if err != nil {
		return err
	}
	contract, err := d.planner.contract(ctx, j.ContractDigest)
	if err != nil {
		return err
	}
	// The profile is of no account for a judgement, and the target may have left the configuration.
	bound, err := d.planner.bindTo(contract, j.ContractDigest, j.Target, providers.Profile{})
	if err != nil {
		return err
	}
	input, err := decodeInput(j.Input)
	if err != nil {
		return err
	}
	violations := bound.Judge(input, nil)(result)
	if len(violations) == 0 {
		return nil
	}
	invalid := &InvalidInput{}
	var details []string
	for _, violation := range violations {
		invalid.Pointers = append(invalid.Pointers, "/result"+violation.InstancePath)
		details = append(details, violation.Detail)
	}
	invalid.Detail = strings.Join(details, "; ")
	return invalid
}

// Release stops waiting for an attempt in doubt. It may still win; others may race it.
// *store.IllegalTransition, ErrNotFound.
func (d *Dispatcher) Release(ctx context.Context, ref job.Ref, by, note string) (job.Attempt, error) {
	return d.operate(ctx, store.Change{Ref: ref, Event: job.EventRelease, Reason: reasonReleased, By: by, Note: note})
}

// CancelAttempt fences an attempt: it can never win. Its connection is listened to all the same, so that
// what it cost is known. *store.IllegalTransition, ErrNotFound.
func (d *Dispatcher) CancelAttempt(ctx context.Context, ref job.Ref, by, note string) (job.Attempt, error) {
	return d.operate(ctx, store.Change{Ref: ref, Event: job.EventCancel, Reason: reasonCancelled, By: by, Note: note})
}

// CancelJob fences every open attempt of a job and closes it. store.ErrJobFinal, ErrNotFound.
func (d *Dispatcher) CancelJob(ctx context.Context, owner, jobID, by string) (job.Job, error) {
	var cancelled job.Job
	_, err := d.insist(context.WithoutCancel(ctx), patience{tries: tries}, answered, func(ctx context.Context) (err error) {
		cancelled, err = d.store.CancelJob(ctx, owner, jobID, by)
		return err
	})
	if err == nil {
		d.log.Info("job cancelled", "job", jobID, "by", by)
		d.bells.ring(jobID)
	}
	return cancelled, err
}

func (d *Dispatcher) operate(ctx context.Context, change store.Change) (job.Attempt, error) {
	applied, err := d.applyTo(context.WithoutCancel(ctx), change)
	return applied.Attempt, err
}
