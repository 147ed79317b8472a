package failover

import (
	"slices"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
)

// Roles of a target in a contract's route.
const (
	RolePrimary  = "primary"
	RoleFallback = "fallback"
	RoleOther    = "other"
)

// TargetStatus says whether a target may stand in for another one under a contract, now. A primary
// that is not eligible still takes the jobs that are meant for it, unless the route demands proof.
type TargetStatus struct {
	Target          providers.Target
	Role            string
	Eligible        bool
	Reasons         []certification.Reason // why not; empty where eligible
	CertificationID string                 // of the proof under today's digests, whether it stands or not
	ExpiresAt       time.Time              // zero where there is no proof
}

// Status lists the route's targets in its order, then all others that are known, in the order given.
func Status(plan job.Plan, known []providers.Target, standings map[providers.Target]certification.Standing, accepted []providers.Source) []TargetStatus {
	route := Candidates(plan, plan.Primary)
	var all []TargetStatus
	for _, target := range slices.Concat(route, known) {
		if slices.ContainsFunc(all, func(s TargetStatus) bool { return s.Target == target }) {
			continue
		}
		all = append(all, status(plan, target, slices.Contains(known, target), standings[target], accepted))
	}
	return all
}

func status(plan job.Plan, target providers.Target, known bool, standing certification.Standing, accepted []providers.Source) TargetStatus {
	s := TargetStatus{Target: target, Role: role(plan, target), Reasons: standing.Reasons(accepted)}
	if s.Role == RoleOther || !known {
		s.Reasons = append(s.Reasons, certification.NotInRoute)
	}
	if standing.Proof != nil {
		s.CertificationID, s.ExpiresAt = standing.Proof.CertificationID, standing.Proof.ExpiresAt
	}
	s.Eligible = len(s.Reasons) == 0
	return s
}

func role(plan job.Plan, target providers.Target) string {
	switch {
	case target == plan.Primary:
		return RolePrimary
	case slices.Contains(plan.Fallbacks, target):
		return RoleFallback
	default:
		return RoleOther
	}
}

// Refusals says, proof aside, why an explicit attempt of a job may not go to a target. The cap, the
// block and the proof are the store's to check.
func Refusals(j job.Job, target providers.Target, rules Rules) []string {
	if rules.Known(target) && slices.Contains(Candidates(j.Plan, j.Target), target) {
		return nil
	}
	return []string{string(certification.NotInRoute)}
}
