package failover

import (
	"slices"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// candidate is a target as one view shows it.
type candidate struct {
	target    providers.Target
	reasons   []certification.Reason // why it may not be tried at all
	proof     string                 // the certification that stands for it, if any
	attempts  []job.Attempt          // its own, of this job
	retryAt   time.Time              // no sooner, as its provider asked; never before the view's now
	notBefore time.Time              // retryAt and the back-off, whichever is later
}

func survey(view store.View, rules Rules) []candidate {
	targets := Candidates(view.Job.Plan, view.Job.Target)
	candidates := make([]candidate, 0, len(targets))
	for _, target := range targets {
		c := candidate{target: target, retryAt: view.Now}
		c.reasons, c.proof = judge(view, rules, target)
		for _, a := range view.Attempts {
			if a.Target == target {
				c.attempts = append(c.attempts, a)
				c.retryAt = later(c.retryAt, a.RetryAt)
			}
		}
		if last := latest(c.attempts); last != nil {
			c.notBefore = later(c.retryAt, view.Now.Add(BackOff(len(c.attempts)-1, last.ID)))
		}
		candidates = append(candidates, c)
	}
	return candidates
}

// judge says why a target may not be tried, and by which certification it may.
func judge(view store.View, rules Rules, target providers.Target) ([]certification.Reason, string) {
	if !rules.Known(target) {
		return []certification.Reason{certification.NotInRoute}, ""
	}
	standing := view.Standings[target]
	reasons := standing.Reasons(rules.Accepted)
	if len(reasons) == 0 {
		return nil, standing.Proof.CertificationID
	}
	if target == view.Job.Target && !NeedsProof(view.Job.Plan, target) {
		return nil, ""
	}
	return reasons, ""
}

// NeedsProof says whether the plan demands a standing proof even of the intended target.
func NeedsProof(plan job.Plan, intended providers.Target) bool {
	return plan.RequireCertifiedPrimary && intended == plan.Primary
}

func (c candidate) eligible() bool { return len(c.reasons) == 0 }

// retryable says whether every attempt there ended by the target's own definite and passing failure.
// One that an external process ended, or that still races, is no reason to ask the same target again.
func (c candidate) retryable() bool {
	return len(c.attempts) > 0 && !slices.ContainsFunc(c.attempts, func(a job.Attempt) bool {
		return a.State != job.Failed || !a.Retryable
	})
}

func (c candidate) attempt(role job.Role) *store.NewAttempt {
	return &store.NewAttempt{Role: role, Target: c.target, CertificationID: c.proof}
}

func (c candidate) whyNot(otherwise string) []string {
	if !c.eligible() {
		return words(c.reasons)
	}
	if len(c.attempts) > 0 && !c.retryable() {
		return []string{Tried}
	}
	return []string{otherwise}
}

func words(reasons []certification.Reason) []string {
	var texts []string
	for _, reason := range reasons {
		texts = append(texts, string(reason))
	}
	return texts
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
