package failover

import (
	"slices"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Rules are what today's configuration says, as against the plan that a job keeps from its creation.
type Rules struct {
	Accepted []providers.Source          // the sources whose certifications open a fallback
	Known    func(providers.Target) bool // whether the configuration still has the target
}

// Reasons beyond those of a proof why a job did not go to a target.
const (
	Tried             = "tried"              // it was, and may not be again
	AttemptsExhausted = "attempts_exhausted" // the job's cap is reached
	RefusalFinal      = "refusal_final"      // a provider refused the content, and the route does not go round a refusal
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

// Next decides a job's next step. Of Step.Attempt it fills Role, Target, CertificationID and NotBefore.
// Both are nil where there is nothing to decide: the job is final, or an attempt blocks.
func Next(view store.View, rules Rules) store.Step {
	if view.Job.State.Final() || view.Job.CompletedBy != 0 || slices.ContainsFunc(view.Attempts, blocks) {
		return store.Step{}
	}
	candidates := survey(view, rules)
	if reason := stop(view); reason != "" {
		return store.Step{Failure: failure(view, candidates, reason)}
	}
	for _, c := range candidates {
		if len(c.attempts) == 0 && c.eligible() {
			return store.Step{Attempt: c.attempt(first(c, view.Job))}
		}
	}
	if c := soonest(candidates); c != nil {
		retry := c.attempt(job.RoleRetry)
		retry.NotBefore = c.notBefore
		return store.Step{Attempt: retry}
	}
	return store.Step{Failure: failure(view, candidates, Tried)}
}

func blocks(attempt job.Attempt) bool { return attempt.State.Blocks() }

// stop says why no automatic attempt may follow at any target; "" where one may.
func stop(view store.View) string {
	if len(view.Attempts) >= view.Job.Plan.MaxAttempts {
		return AttemptsExhausted
	}
	refused := func(a job.Attempt) bool {
		return a.State == job.Failed && a.Reason == string(providers.ReasonRefused)
	}
	if view.Job.Plan.OnRefusal != OnRefusalFallback && slices.ContainsFunc(view.Attempts, refused) {
		return RefusalFinal
	}
	return ""
}

func first(c candidate, j job.Job) job.Role {
	if c.target == j.Target {
		return job.RolePrimary
	}
	return job.RoleFallback
}

// soonest is the candidate that may be retried first; in the order of the route where several may.
func soonest(candidates []candidate) *candidate {
	var found *candidate
	for i := range candidates {
		c := &candidates[i]
		if c.eligible() && c.retryable() && (found == nil || c.retryAt.Before(found.retryAt)) {
			found = c
		}
	}
	return found
}

// failure says why a job ends: its last attempt's reason, and for each other target why it was not
// tried or not again. otherwise is the reason at targets that would have been eligible.
func failure(view store.View, candidates []candidate, otherwise string) *job.Failure {
	last := latest(view.Attempts)
	result := &job.Failure{Reason: NoEligibleTarget, Detail: "no target of the route may be tried"}
	if last != nil {
		result.Reason, result.Detail, result.Attempt = last.Reason, last.Detail, last.Number
		if result.Reason == "" {
			result.Reason = string(last.State)
		}
	}
	for _, c := range candidates {
		if last == nil || c.target != last.Target {
			result.Targets = append(result.Targets, job.TargetRefusal{Target: c.target, Reasons: c.whyNot(otherwise)})
		}
	}
	return result
}

func latest(attempts []job.Attempt) *job.Attempt {
	var last *job.Attempt
	for i := range attempts {
		if last == nil || attempts[i].Number > last.Number {
			last = &attempts[i]
		}
	}
	return last
}
