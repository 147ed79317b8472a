package dispatch

import (
	"context"
	"errors"

	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// tries is how often a caller's own change is brought to a store that does not answer, before the
// caller is told. It may always be repeated under the same key.
const tries = 3

// Submission is an intent with its key, as the client sent it.
type Submission struct {
	Owner          string
	IdempotencyKey string
	Contract       string
	Input          map[string]any // of contracts/value
	InputText      string         // the same as JSON text, as it came
	Target         string         // "" = not sent
	Metadata       string         // JSON text, "" = not sent
}

func (s Submission) intent() job.Intent {
	return job.Intent{Contract: s.Contract, Input: s.Input, Target: s.Target}
}

// Submit makes the one job of an intent, and sends its first attempt where a slot is free; or finds the
// job that the key already names, in whatever state, even where today's configuration would refuse the
// intent. What comes of it is not waited for, and does not depend on ctx.
// *UnknownContract, *UnknownTarget, *InvalidInput, *store.KeyConflict, store.ErrPurged, ErrShuttingDown.
func (d *Dispatcher) Submit(ctx context.Context, submission Submission) (store.Made, error) {
	create, err := d.accept(submission)
	if err != nil {
		return d.unlessReplayed(ctx, submission, err)
	}
	leave, ok := d.flights.takeIn(create.Job.ID)
	if !ok {
		return store.Made{}, ErrShuttingDown
	}
	defer leave()
	s, err := d.newStep(ctx, create.Job)
	if err != nil {
		return store.Made{}, err
	}
	defer s.giveBack()
	// A client that leaves now must not leave an attempt behind that is stored as running and never runs.
	var made store.Made
	_, err = d.insist(context.WithoutCancel(ctx), patience{tries: tries}, decided, func(ctx context.Context) (err error) {
		create.Decision = s.decision()
		made, err = d.store.CreateJob(ctx, create)
		return err
	})
	if err != nil {
		return store.Made{}, err
	}
	if made.Created {
		d.log.Info("job created", "job", made.Job.ID, "contract", made.Job.Contract, "target", made.Job.Target.String(), "state", made.Job.State)
		s.launch(made.Job, made.Attempt)
	}
	return made, nil
}

// accept checks a submission against today's configuration and makes the job of it.
func (d *Dispatcher) accept(submission Submission) (store.CreateJob, error) {
	contract, ok := d.planner.served[submission.Contract]
	if !ok {
		return store.CreateJob{}, &UnknownContract{Name: submission.Contract}
	}
	plan := d.config.Plan(contract.contract)
	target, err := d.intended(plan, submission)
	if err != nil {
		return store.CreateJob{}, err
	}
	bound, err := d.planner.bind(contract.contract, contract.digest, target)
	if err != nil {
		return store.CreateJob{}, err
	}
	if _, err := bound.Request(submission.Input); err != nil {
		return store.CreateJob{}, invalidInput(err)
	}
	return store.CreateJob{
		ContractContent: contract.archive,
		Job: job.Job{
			ID: newID(), Owner: submission.Owner, IdempotencyKey: submission.IdempotencyKey,
			Fingerprint: submission.intent().Fingerprint(),
			Contract:    submission.Contract, ContractDigest: contract.digest, Input: submission.InputText,
			SentTarget: submission.Target, Target: target, Metadata: submission.Metadata, Plan: plan,
		},
	}, nil
}

// intended is the target as sent, else the route's primary.
func (d *Dispatcher) intended(plan job.Plan, submission Submission) (providers.Target, error) {
	if submission.Target != "" {
		return d.known(submission.Target)
	}
	if plan.Primary == (providers.Target{}) {
		return plan.Primary, &UnknownTarget{Detail: "contract " + submission.Contract + " has no route: name a target"}
	}
	return plan.Primary, nil
}

func (d *Dispatcher) known(sent string) (providers.Target, error) {
	target, err := providers.ParseTarget(sent)
	if err != nil {
		return target, &UnknownTarget{Target: sent, Detail: err.Error()}
	}
	if _, ok := d.config.Profile(target); !ok {
		return target, &UnknownTarget{Target: sent, Detail: "target " + sent + " is not configured"}
	}
	return target, nil
}

func invalidInput(err error) error {
	invalid := &InvalidInput{Detail: err.Error()}
	var missing *prompt.MissingError
	if errors.As(err, &missing) {
		invalid.Pointers = []string{"/input"}
	}
	return invalid
}

// unlessReplayed answers a refused submission with the job that its key already names, if it does:
// whatever was deployed between two clicks, they are one intent.
func (d *Dispatcher) unlessReplayed(ctx context.Context, submission Submission, refusal error) (store.Made, error) {
	existing, err := d.store.JobByKey(ctx, submission.Owner, submission.IdempotencyKey)
	switch purged := errors.Is(err, store.ErrPurged); {
	case purged && existing.Fingerprint != submission.intent().Fingerprint():
		return store.Made{}, &store.KeyConflict{Purged: true}
	case purged:
		return store.Made{}, err
	case errors.Is(err, store.ErrNotFound):
		return store.Made{}, refusal
	case err != nil:
		return store.Made{}, err
	}
	if existing.Fingerprint == submission.intent().Fingerprint() {
		return store.Made{Job: existing}, nil
	}
	was, err := existing.Intent()
	if err != nil {
		return store.Made{}, err
	}
	return store.Made{}, &store.KeyConflict{Pointers: was.Differences(submission.intent())}
}
