package failover_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// broken says which promise a next attempt breaks. It is written from the rules, not from the code.
func broken(v store.View, r failover.Rules, next store.NewAttempt) error {
	standing := v.Standings[next.Target]
	proven := len(standing.Reasons(r.Accepted)) == 0
	inRoute := next.Target == v.Job.Target || next.Target == v.Job.Plan.Primary || slices.Contains(v.Job.Plan.Fallbacks, next.Target)
	switch {
	case v.Job.State.Final():
		return fmt.Errorf("an attempt under a final job")
	case len(v.Attempts) >= v.Job.Plan.MaxAttempts || sends(v.Attempts) >= v.Job.Plan.MaxAttempts:
		return fmt.Errorf("one more than %d attempts and %d sends, of at most %d", len(v.Attempts), sends(v.Attempts), v.Job.Plan.MaxAttempts)
	case !r.Known(next.Target) || !inRoute:
		return fmt.Errorf("%s is not to be used", next.Target)
	case next.Target != v.Job.Target && (!proven || next.CertificationID != standing.Proof.CertificationID):
		return fmt.Errorf("%s without proof", next.Target)
	case r.Fits != nil && !r.Fits(next.Target):
		return fmt.Errorf("%s is too small", next.Target)
	case next.Target == v.Job.Plan.Primary && v.Job.Plan.RequireCertifiedPrimary && !proven:
		return fmt.Errorf("the primary without the proof that the route demands")
	}
	for _, a := range v.Attempts {
		if a.State.Blocks() {
			return fmt.Errorf("attempt %d blocks", a.Number)
		}
		if a.State == job.Failed && a.Reason == string(providers.ReasonRefused) && v.Job.Plan.OnRefusal == "final" {
			return fmt.Errorf("round a refusal")
		}
		if a.State == job.Failed && a.Reason == string(providers.ReasonUnmappable) {
			return fmt.Errorf("after a local error")
		}
		if a.Target != next.Target {
			continue
		}
		if a.State != job.Failed || !a.Retryable {
			return fmt.Errorf("%s is out since attempt %d", next.Target, a.Number)
		}
	}
	return nil
}

// early says which deadline a next attempt ignores, its own or that of a target that could have come before it.
func early(v store.View, r failover.Rules, replica *replica, next store.NewAttempt) error {
	at := later(v.Now, next.NotBefore)
	known := deadlines(v, replica, next.Target)
	switch {
	case v.Job.Plan.Deadline > 0 && !at.Before(v.Job.CreatedAt.Add(v.Job.Plan.Deadline)):
		return fmt.Errorf("%s begins at %s, when the job is over", next.Target, at)
	case slices.ContainsFunc(known, at.Before):
		return fmt.Errorf("%s is asked at %s, before %s", next.Target, at, known)
	case at.After(slices.MaxFunc(known, time.Time.Compare)):
		return fmt.Errorf("%s waits until %s for nothing: %s", next.Target, at, known)
	}
	for _, other := range []providers.Target{alpha, beta, gamma, delta} {
		instead := store.NewAttempt{Target: other}
		if proof := v.Standings[other].Proof; proof != nil {
			instead.CertificationID = proof.CertificationID
		}
		sooner := slices.MaxFunc(deadlines(v, replica, other), time.Time.Compare)
		if broken(v, r, instead) == nil && sooner.Before(at) {
			return fmt.Errorf("%s waits until %s, and %s only until %s", next.Target, at, other, sooner)
		}
	}
	return nil
}

// deadlines are the moments before which a target may not be asked.
func deadlines(v store.View, replica *replica, target providers.Target) []time.Time {
	known := []time.Time{v.Now, v.Now.Add(replica.cooling[target])}
	tried := -1
	for _, a := range v.Attempts {
		if a.Target == target {
			tried++
			known = append(known, a.RetryAt)
		}
	}
	if tried >= 0 {
		known = append(known, v.Now.Add(failover.BackOff(tried, v.Attempts[len(v.Attempts)-1].ID)))
	}
	return known
}

// sends counts what was sent, an attempt that was not as one.
func sends(attempts []job.Attempt) int {
	total := 0
	for _, a := range attempts {
		total += max(a.Sends, 1)
	}
	return total
}
