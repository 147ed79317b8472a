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
	Reasons         []certification.Reason  // why not; empty where eligible
	CertificationID string                  // of the proof under today's digests, whether it stands or not
	ExpiresAt       time.Time               // zero where there is no proof
	Cooling         time.Duration           // with the reason circuit_open: how much longer, on this replica
	Warnings        []certification.Warning // what is worth knowing about a proof that stands
	Events          []certification.Event   // of the record that the proof rests on: why it is suspended, among others
}

// Status lists the route's targets in its order, then all others that are known, in the order given. It
// says what holds on every replica: route and proofs.
func Status(plan job.Plan, known []providers.Target, standings map[providers.Target]certification.Standing, accepted []providers.Source) []TargetStatus {
	return Rules{Accepted: accepted}.Status(plan, known, standings)
}

// Status is the function of the same name, with what this replica alone knows besides: what cools down.
// known stands for r.Known.
func (r Rules) Status(plan job.Plan, known []providers.Target, standings map[providers.Target]certification.Standing) []TargetStatus {
	route := Candidates(plan, plan.Primary)
	var all []TargetStatus
	for _, target := range slices.Concat(route, known) {
		if slices.ContainsFunc(all, func(s TargetStatus) bool { return s.Target == target }) {
			continue
		}
		all = append(all, r.status(plan, target, slices.Contains(known, target), standings[target]))
	}
	return all
}

func (r Rules) status(plan job.Plan, target providers.Target, known bool, standing certification.Standing) TargetStatus {
	s := TargetStatus{Target: target, Role: role(plan, target), Reasons: standing.Reasons(r.Accepted), Cooling: r.cooling(target)}
	if s.Role == RoleOther || !known {
		s.Reasons = append(s.Reasons, certification.NotInRoute)
	}
	if s.Cooling > 0 {
		s.Reasons = append(s.Reasons, certification.CircuitOpen)
	}
	if standing.Proof != nil {
		s.CertificationID, s.ExpiresAt = standing.Proof.CertificationID, standing.Proof.ExpiresAt
	}
	s.Warnings, s.Events = standing.Warnings(), standing.Events
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
//
// A target that cools down is not refused: who names a target wants that one, and time will bring it.
// The attempt is made and waits for as long as [Rules.Cooling] says; it is never the one that tries a
// circuit out before its time, nor does it come earlier than a provider asked for.
func Refusals(j job.Job, target providers.Target, rules Rules) []string {
	if !rules.Known(target) || !slices.Contains(Candidates(j.Plan, j.Target), target) {
		return []string{string(certification.NotInRoute)}
	}
	if rules.Fits != nil && !rules.Fits(target) {
		return []string{string(certification.ContextTooSmall)}
	}
	return nil
}
