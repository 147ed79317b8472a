package failover_test

import (
	"errors"
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

// Jobs live through random fates: proofs, circuits and windows come and go between steps, attempts end in
// every way, some by an external process, some never. Whatever happens, the promises of the package hold
// at each step.
func TestPromisesHoldUnderAnyFate(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(20_000) {
		fate := rand.New(rand.NewPCG(seed, 1))
		v, r := randomView(fate)
		for steps := 0; ; steps++ {
			if steps > v.Job.Plan.MaxAttempts {
				t.Fatalf("seed %d: the job does not end", seed)
			}
			replica := randomReplica(fate, &r)
			step := failover.Next(v, r)
			if err := replica.overasked(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if step.Attempt == nil {
				if step.Failure == nil && !v.Job.State.Final() && !slices.ContainsFunc(v.Attempts, blocks) {
					t.Fatalf("seed %d: neither a step nor a reason", seed)
				}
				if step.Failure != nil {
					seen[step.Failure.Reason]++
				}
				break
			}
			if err := errors.Join(broken(v, r, *step.Attempt), early(v, r, replica, *step.Attempt)); err != nil {
				t.Fatalf("seed %d: %v\njob %+v\nattempts %+v", seed, err, v.Job, v.Attempts)
			}
			seen[string(step.Attempt.Role)]++
			if step.Attempt.Role != job.RoleRetry && !step.Attempt.NotBefore.IsZero() {
				seen["waits for a first attempt"]++
			}
			v.Now = later(v.Now, step.Attempt.NotBefore).Add(time.Second)
			v.Attempts = append(v.Attempts, randomEnd(fate, v, *step.Attempt))
			if fate.IntN(10) == 0 { // an operator asks for one more, wherever
				v.Attempts = append(v.Attempts, randomEnd(fate, v, store.NewAttempt{Target: anyTarget(fate), Role: job.RoleManual}))
			}
			randomStandings(fate, &v)
		}
	}
	for what, times := range map[string]int{
		"primary": 1000, "fallback": 1000, "retry": 1000, "waits for a first attempt": 500,
		"context_too_small": 100, "deadline_exceeded": 100, "unmappable": 100, "refused": 100,
	} {
		if seen[what] < times {
			t.Errorf("%s was seen only %d times: the fates are too narrow to prove anything", what, seen[what])
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

// replica is what one replica knows at one moment, and how often it was asked to measure.
type replica struct {
	cooling  cooling
	small    []providers.Target
	measured map[providers.Target]int
}

func randomReplica(fate *rand.Rand, r *failover.Rules) *replica {
	one := &replica{cooling: cooling{}, measured: map[providers.Target]int{}}
	for _, target := range []providers.Target{alpha, beta, gamma, delta} {
		if fate.IntN(3) == 0 {
			one.cooling[target] = time.Duration(fate.IntN(120)) * time.Second
		}
		if fate.IntN(6) == 0 {
			one.small = append(one.small, target)
		}
	}
	r.Cooling, r.Fits = one.cooling.of, func(target providers.Target) bool {
		one.measured[target]++
		return !slices.Contains(one.small, target)
	}
	return one
}

func (r *replica) overasked() error {
	for target, times := range r.measured {
		if times > 1 {
			return fmt.Errorf("%s was measured %d times", target, times)
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
	v.Job.Plan.Deadline = []time.Duration{0, time.Minute, 10 * time.Minute}[fate.IntN(3)]
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
	a.Number, a.Sends = number, fate.IntN(3)
	switch fate.IntN(13) {
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
	case 7:
		a.Reason, a.Retryable = string(providers.ReasonUnmappable), false
	default:
		a.Reason = string(providers.ReasonNotSent)
	}
	return a
}
