package failover

import (
	"slices"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Rules are what a replica knows today, as against the plan that a job keeps from its creation.
type Rules struct {
	Accepted []providers.Source          // the sources whose certifications open a fallback
	Known    func(providers.Target) bool // whether the configuration still has the target
	// Cooling is how long the target is still to be left alone: its circuit is open, or its provider asked
	// for a pause. 0 = it may be asked; nil = no target ever cools down.
	Cooling func(providers.Target) time.Duration
	// Fits is whether the job's prompt, and the answer that is reserved for, fit the target's window; what
	// was not counted fits. It costs a count: it is asked only about a target that would be next. nil = all fit.
	Fits func(providers.Target) bool
}

// Reasons beyond those of a proof why a job did not go to a target.
const (
	Tried             = "tried"                            // it was, and may not be again
	AttemptsExhausted = "attempts_exhausted"               // the job's cap is reached
	RefusalFinal      = "refusal_final"                    // a provider refused the content, and the route does not go round a refusal
	DeadlineExceeded  = "deadline_exceeded"                // it could not be tried before the job's deadline; the reason of such a job as well
	Unmappable        = string(providers.ReasonUnmappable) // a request could not be built: a local error, the same everywhere
)

// NoEligibleTarget is the reason of a job that could not be tried anywhere.
const NoEligibleTarget = "no_eligible_target"

// OnRefusalFallback is the plan's word for a route that opts in to going round a refusal.
const OnRefusalFallback = "fallback"

// Candidates are the targets that a job may go to by itself, in order: the intended one, the route's
// primary, its fallbacks.
func Candidates(plan job.Plan, intended providers.Target) []providers.Target {
	var candidates []providers.Target
	for _, target := range append([]providers.Target{intended, plan.Primary}, plan.Fallbacks...) {
		if target != (providers.Target{}) && !slices.Contains(candidates, target) {
			candidates = append(candidates, target)
		}
	}
	return candidates
}

// Next decides a job's next step. Of Step.Attempt it fills Role, Target, CertificationID and, where the
// attempt has to wait, NotBefore. Both are nil where there is nothing to decide: the job is final, or an
// attempt blocks.
//
// Targets that were not tried yet come before a retry, those that cool down after all others. What has to
// wait waits for the latest of its own deadlines: its provider's Retry-After, the back-off, its cooling.
func Next(view store.View, rules Rules) store.Step {
	if view.Job.State.Final() || view.Job.CompletedBy != 0 || slices.ContainsFunc(view.Attempts, blocks) {
		return store.Step{}
	}
	candidates := survey(view, rules)
	if reason := stop(view); reason != "" {
		return store.Step{Failure: failure(view, candidates, reason)}
	}
	for {
		next := soonest(candidates)
		switch {
		case next == nil:
			return store.Step{Failure: failure(view, candidates, Tried)}
		case Remaining(view.Job, next.soonest) <= 0:
			return store.Step{Failure: late(view, failure(view, candidates, DeadlineExceeded), next)}
		case rules.Fits != nil && !rules.Fits(next.target):
			next.reasons = append(next.reasons, certification.ContextTooSmall)
		default:
			return store.Step{Attempt: next.attempt(view)}
		}
	}
}

func blocks(attempt job.Attempt) bool { return attempt.State.Blocks() }

// stop says why no automatic attempt may follow at any target; "" where one may.
func stop(view store.View) string {
	failedBy := func(reason string) bool {
		return slices.ContainsFunc(view.Attempts, func(a job.Attempt) bool { return a.State == job.Failed && a.Reason == reason })
	}
	switch {
	case failedBy(Unmappable):
		return Unmappable
	case view.Job.Plan.OnRefusal != OnRefusalFallback && failedBy(string(providers.ReasonRefused)):
		return RefusalFinal
	case Spent(view.Attempts) >= view.Job.Plan.MaxAttempts:
		return AttemptsExhausted
	}
	return ""
}

// soonest is the candidate that may be tried first; in the order of the route where several may.
func soonest(candidates []candidate) *candidate {
	var found *candidate
	for i := range candidates {
		c := &candidates[i]
		if c.eligible() && c.open() && (found == nil || c.soonest.Before(found.soonest)) {
			found = c
		}
	}
	return found
}
