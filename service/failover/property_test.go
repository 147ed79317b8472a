package failover_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Jobs live through random fates: proofs come and go between steps, attempts end in every way, some by
// an external process, some never. Whatever happens, the promises of the package hold at each step.
func TestPromisesHoldUnderAnyFate(t *testing.T) {
	seen := map[job.Role]int{}
	for seed := range uint64(20_000) {
		fate := rand.New(rand.NewPCG(seed, 1))
		v, r := randomView(fate)
		for steps := 0; ; steps++ {
			if steps > v.Job.Plan.MaxAttempts {
				t.Fatalf("seed %d: the job does not end", seed)
			}
			step := failover.Next(v, r)
			if step.Attempt == nil {
				if step.Failure == nil && !v.Job.State.Final() && !slices.ContainsFunc(v.Attempts, blocks) {
					t.Fatalf("seed %d: neither a step nor a reason", seed)
				}
				break
			}
			if err := broken(v, r, *step.Attempt); err != nil {
				t.Fatalf("seed %d: %v\njob %+v\nattempts %+v", seed, err, v.Job, v.Attempts)
			}
			seen[step.Attempt.Role]++
			v.Now = later(v.Now, step.Attempt.NotBefore).Add(time.Second)
			v.Attempts = append(v.Attempts, randomEnd(fate, v, *step.Attempt))
			if fate.IntN(10) == 0 { // an operator asks for one more, wherever
				v.Attempts = append(v.Attempts, randomEnd(fate, v, store.NewAttempt{Target: anyTarget(fate), Role: job.RoleManual}))
			}
			randomStandings(fate, &v)
		}
	}
	for _, role := range []job.Role{job.RolePrimary, job.RoleFallback, job.RoleRetry} {
		if seen[role] < 1000 {
			t.Errorf("only %d %s attempts were seen: the fates are too narrow to prove anything", seen[role], role)
		}
	}
}

func blocks(a job.Attempt) bool { return a.State.Blocks() }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// broken says which promise a next attempt breaks. It is written from the rules, not from the code.
func broken(v store.View, r failover.Rules, next store.NewAttempt) error {
	standing := v.Standings[next.Target]
	proven := len(standing.Reasons(r.Accepted)) == 0
	inRoute := next.Target == v.Job.Target || next.Target == v.Job.Plan.Primary || slices.Contains(v.Job.Plan.Fallbacks, next.Target)
	switch {
	case v.Job.State.Final():
		return fmt.Errorf("an attempt under a final job")
	case len(v.Attempts) >= v.Job.Plan.MaxAttempts:
		return fmt.Errorf("attempt %d of at most %d", len(v.Attempts)+1, v.Job.Plan.MaxAttempts)
	case !r.Known(next.Target) || !inRoute:
		return fmt.Errorf("%s is not to be used", next.Target)
	case next.Target != v.Job.Target && (!proven || next.CertificationID != standing.Proof.CertificationID):
		return fmt.Errorf("%s without proof", next.Target)
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
		if a.Target != next.Target {
			continue
		}
		if a.State != job.Failed || !a.Retryable {
			return fmt.Errorf("%s is out since attempt %d", next.Target, a.Number)
		}
		if next.NotBefore.Before(a.RetryAt) || !next.NotBefore.After(v.Now) {
			return fmt.Errorf("%s is asked again at %s", next.Target, next.NotBefore)
		}
	}
	return nil
}

func anyTarget(fate *rand.Rand) providers.Target {
	return []providers.Target{alpha, beta, gamma, delta}[fate.IntN(4)]
}

func randomView(fate *rand.Rand) (store.View, failover.Rules) {
	v := view()
	v.Job.Target = anyTarget(fate)
	v.Job.Plan.MaxAttempts = 1 + fate.IntN(6)
	v.Job.Plan.Fallbacks = v.Job.Plan.Fallbacks[:fate.IntN(3)]
	v.Job.Plan.RequireCertifiedPrimary = fate.IntN(4) == 0
	v.Job.Plan.OnRefusal = []string{"final", "fallback"}[fate.IntN(2)]
	randomStandings(fate, &v)
	r := rules()
	if lost := anyTarget(fate); fate.IntN(4) == 0 {
		r.Known = func(target providers.Target) bool { return target != lost }
	}
	return v, r
}

func randomStandings(fate *rand.Rand, v *store.View) {
	v.Standings = map[providers.Target]certification.Standing{}
	for _, target := range []providers.Target{alpha, beta, gamma, delta} {
		standing := certified(target)
		standing.Now, standing.Proof.ExpiresAt = v.Now, v.Now.Add(time.Hour)
		switch fate.IntN(8) {
		case 0:
			continue
		case 1:
			standing.Proof.ExpiresAt = v.Now
		case 2:
			standing.Proof.RevokedAt = v.Now
		case 3:
			standing.Proof.Source = providers.SourceSimulated
		}
		v.Standings[target] = standing
	}
}

func randomEnd(fate *rand.Rand, v store.View, made store.NewAttempt) job.Attempt {
	number := len(v.Attempts) + 1
	a := job.Attempt{Target: made.Target, Role: made.Role, ID: fmt.Sprint("attempt-", number), State: job.Failed, Retryable: true}
	a.Number = number
	switch fate.IntN(12) {
	case 0:
		a.State, a.Reason = job.Unknown, string(providers.ReasonTimeout)
	case 1:
		a.State, a.Reason = job.Released, string(providers.ReasonTimeout)
	case 2:
		a.State = job.Cancelled
	case 3:
		a.Reason, a.Retryable = string(providers.ReasonRefused), false
	case 4, 5:
		a.Reason, a.Retryable = string(providers.ReasonUnauthorized), false
	case 6:
		a.Reason, a.RetryAt = string(providers.ReasonRateLimited), v.Now.Add(time.Duration(fate.IntN(1000))*time.Second)
	default:
		a.Reason = string(providers.ReasonNotSent)
	}
	return a
}
