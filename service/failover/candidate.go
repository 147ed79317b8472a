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
	target   providers.Target
	reasons  []certification.Reason // why it may not be tried at all
	proof    string                 // the certification that stands for it, if any
	attempts []job.Attempt          // its own, of this job
	cools    bool                   // this replica leaves it alone for a while
	soonest  time.Time              // when it may be tried: no deadline of it is later; the view's now where none is known
}

func survey(view store.View, rules Rules) []candidate {
	targets := Candidates(view.Job.Plan, view.Job.Target)
	candidates := make([]candidate, 0, len(targets))
	for _, target := range targets {
		c := candidate{target: target, soonest: view.Now}
		c.reasons, c.proof = judge(view, rules, target)
		for _, a := range view.Attempts {
			if a.Target == target {
				c.attempts = append(c.attempts, a)
				c.soonest = later(c.soonest, a.RetryAt)
			}
		}
		if len(c.attempts) > 0 {
			// One share for all of a job's targets: where nothing but the back-off counts, the route's order does.
			pause := BackOff(len(c.attempts)-1, latest(view.Attempts).ID)
			c.soonest = later(c.soonest, view.Now.Add(pause))
		}
		cooling := rules.cooling(target)
		c.cools, c.soonest = cooling > 0, later(c.soonest, view.Now.Add(cooling))
		candidates = append(candidates, c)
	}
	return candidates
}

func (r Rules) cooling(target providers.Target) time.Duration {
	if r.Cooling == nil {
		return 0
	}
	return r.Cooling(target)
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

func (c candidate) tooSmall() bool { return slices.Contains(c.reasons, certification.ContextTooSmall) }

// open says whether every attempt there, if any, ended by the target's own definite and passing failure.
// One that an external process ended, or that still races, is no reason to ask the same target again.
func (c candidate) open() bool {
	return !slices.ContainsFunc(c.attempts, func(a job.Attempt) bool { return a.State != job.Failed || !a.Retryable })
}

func (c candidate) attempt(view store.View) *store.NewAttempt {
	made := &store.NewAttempt{Role: c.role(view.Job), Target: c.target, CertificationID: c.proof}
	if c.soonest.After(view.Now) {
		made.NotBefore = c.soonest
	}
	return made
}

func (c candidate) role(j job.Job) job.Role {
	switch {
	case len(c.attempts) > 0:
		return job.RoleRetry
	case c.target == j.Target:
		return job.RolePrimary
	default:
		return job.RoleFallback
	}
}

func (c candidate) whyNot(otherwise string) []string {
	if !c.eligible() {
		return words(c.reasons)
	}
	if !c.open() {
		return []string{Tried}
	}
	if c.cools && otherwise == DeadlineExceeded {
		return []string{otherwise, string(certification.CircuitOpen)}
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
