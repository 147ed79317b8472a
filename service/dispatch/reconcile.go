package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// findTimeout bounds one question to a provider.
const findTimeout = 30 * time.Second

// reasonNotExecuted: the provider was asked after the declared horizon and has no such request.
const reasonNotExecuted = "not_executed"

// reconcile asks the attempt's provider what became of it. What was found is judged and stored as if it had
// come by the attempt's own connection; what is absent after the horizon was not executed; whatever proves
// nothing leaves the doubt, and the provider is asked again.
func (d *Dispatcher) reconcile(ctx context.Context, attempt job.Attempt) error {
	asked, err := d.store.Clock(ctx) // before the question: an absence counts only if it was asked for after the horizon
	if err != nil {
		return err
	}
	profile, finder, why := d.finder(attempt)
	if why != "" {
		return d.askAgain(ctx, attempt, asked, providers.Finding{}, why)
	}
	asking, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	defer context.AfterFunc(d.sending, cancel)()
	finding := finder.Find(asking, providers.Question{
		Target: attempt.Target, Profile: profile, AttemptID: attempt.ID, Reference: attempt.Reference,
	})
	if d.sending.Err() != nil {
		return nil // a shutdown cut the question short: it says nothing about the provider
	}
	switch finding.Found {
	case providers.FoundAnswer:
		return d.adopt(ctx, attempt, asked, finding)
	case providers.FoundAbsent:
		return d.absent(ctx, attempt, asked, finding)
	case providers.FoundUnfinished:
		return d.askAgain(ctx, attempt, asked, finding, "the provider is still at work")
	default:
		return d.askAgain(ctx, attempt, asked, finding, "the provider could not be asked: "+finding.Detail)
	}
}

// askAgain keeps the doubt. The provider is asked again after a growing pause, at the horizon in any case, and
// no sooner than it asked for: a replica that was away does not make up for every question that it missed.
func (d *Dispatcher) askAgain(ctx context.Context, attempt job.Attempt, asked time.Time, finding providers.Finding, why string) error {
	in := failover.AskPause(attempt.Asked+1, attempt.ID)
	if left := horizon(attempt).Sub(asked); left > 0 {
		in = min(in, left)
	}
	return d.postpone(ctx, attempt, why, max(in, min(finding.RetryAfter, failover.MaxRetryAfter)))
}

// horizon is the moment from which on what the provider does not know was not executed.
func horizon(attempt job.Attempt) time.Time { return attempt.StartedAt.Add(attempt.Horizon) }

// finder is who can be asked about an attempt, or why nobody can. Only the endpoint that it was sent to
// knows anything about it: another one's silence would be taken for an absence.
func (d *Dispatcher) finder(attempt job.Attempt) (providers.Profile, providers.Finder, string) {
	profile, ok := d.config.Profile(attempt.Target)
	if !ok {
		return profile, nil, fmt.Sprintf("%s is not configured any more: nobody can be asked", attempt.Target)
	}
	if profile.BaseURL != attempt.SentTo {
		return profile, nil, fmt.Sprintf("it was sent to %s, which is not the provider's base_url any more: nobody can be asked", attempt.SentTo)
	}
	finder, ok := d.clients[attempt.Target.Provider].(providers.Finder)
	if !ok {
		return profile, nil, "the provider's client cannot ask"
	}
	profile.Reconcile = attempt.Reconcile // as it was sent
	return profile, finder, ""
}

// adopt judges what was found as an answer, and stores it.
func (d *Dispatcher) adopt(ctx context.Context, attempt job.Attempt, asked time.Time, finding providers.Finding) error {
	j, err := d.store.Job(ctx, attempt.Owner, attempt.JobID)
	if err != nil {
		return err
	}
	rules, err := d.rulesFor(ctx, j, attempt.Target)
	if err != nil {
		return err
	}
	outcome := providers.Classify(finding.Exchange, rules)
	if outcome.Verdict == providers.InDoubt {
		return d.askAgain(ctx, attempt, asked, finding, "the provider's record of it proves nothing: "+outcome.Detail)
	}
	change := d.verdict(outcome, finding.Exchange)
	change.Ref, change.By, change.Note, change.NotSent = attempt.Ref, d.bootID, noteReconciled, false
	if change.Answer != nil {
		change.Answer.Latency = 0 // of the question, not of the answer
	}
	_, err = d.applyTo(ctx, d.withProof(ctx, j, attempt.Target, change))
	return ifStillDue(err)
}

// absent ends the doubt where the provider had time enough to know of the attempt.
func (d *Dispatcher) absent(ctx context.Context, attempt job.Attempt, asked time.Time, finding providers.Finding) error {
	if asked.Before(horizon(attempt)) {
		return d.askAgain(ctx, attempt, asked, finding, "the provider does not know it; from "+
			horizon(attempt).UTC().Format(time.RFC3339)+" on that means that it was not executed")
	}
	_, err := d.applyTo(ctx, store.Change{
		Ref: attempt.Ref, Event: job.EventResolveFailed, Reason: reasonNotExecuted, By: d.bootID, Note: noteReconciled,
		Detail: "the provider has no such request " + attempt.Horizon.String() + " after it was sent", Retryable: true, Send: attempt.Sends,
	})
	return ifStillDue(err)
}

// noteReference keeps the provider's own id of what an attempt works on, so that whoever comes later can
// ask for it.
func (d *Dispatcher) noteReference(f *flight, reference string) {
	leave := d.flights.enter(f.job.ID)
	go func() {
		defer leave()
		_, err := d.insist(d.life, patience{}, final, func(ctx context.Context) error {
			return d.store.NoteReference(ctx, f.attempt.Ref, reference)
		})
		if err != nil {
			d.log.Warn("the provider's reference was not stored", "job", f.job.ID, "attempt", f.attempt.Number, "reference", reference, "error", err)
		}
	}()
}
