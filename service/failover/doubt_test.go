package failover_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// doubtful is an attempt that was sent a minute ago and fell into doubt now.
func doubtful(change func(*job.Attempt)) job.Attempt {
	a := job.Attempt{
		ID: "attempt-alpha", Target: alpha, State: job.Unknown, Sends: 1,
		StartedAt: now.Add(-time.Minute), UnknownAt: now,
	}
	a.Number = 1
	if change != nil {
		change(&a)
	}
	return a
}

func stored(a *job.Attempt) { a.Reconcile, a.Horizon = providers.ReconcileStoredCompletions, time.Hour }

func ownKey(a *job.Attempt) { a.IdempotencyHeader = "Idempotency-Key" }

func TestTheNextStepOutOfDoubt(t *testing.T) {
	const id = "attempt-alpha"
	due := func(step job.DueStep, in time.Duration) job.Due { return job.Due{Step: step, At: now.Add(in)} }
	backOff := failover.BackOff(0, id)
	rows := []struct {
		name    string
		attempt func(*job.Attempt)
		plan    func(*job.Plan)
		others  []job.Attempt
		want    job.Due
	}{
		{name: "by default there is none"},
		{name: "a provider that can be asked is asked", attempt: stored, want: due(job.DueReconcile, time.Second)},
		{name: "while it is still heard as well", attempt: func(a *job.Attempt) { stored(a); a.Heard = true },
			want: due(job.DueReconcile, time.Second)},
		{name: "a background response by its id", attempt: func(a *job.Attempt) {
			stored(a)
			a.Reconcile, a.Reference = providers.ReconcileResponses, "resp_1"
		}, want: due(job.DueReconcile, time.Second)},
		{name: "but not without one", attempt: func(a *job.Attempt) { stored(a); a.Reconcile = providers.ReconcileResponses }},
		{name: "released, when it is time", plan: releasing(20 * time.Second), want: due(job.DueRelease, 20*time.Second)},
		{name: "never, where the contract does not say when", plan: releasing(0)},
		{name: "the earlier of asking and releasing: asking", attempt: stored, plan: releasing(20 * time.Second),
			want: due(job.DueReconcile, time.Second)},
		{name: "the earlier of asking and releasing: releasing", attempt: func(a *job.Attempt) { stored(a); a.Asked = 7 },
			plan: releasing(20 * time.Second), want: due(job.DueRelease, 20*time.Second)},
		{name: "asking where both are due at once", attempt: stored, plan: releasing(time.Second), want: due(job.DueReconcile, time.Second)},
		{name: "sent again after the back-off", attempt: ownKey, plan: resending, want: due(job.DueResend, backOff)},
		{name: "after a longer one the next time", attempt: func(a *job.Attempt) { ownKey(a); a.Sends = 2 }, plan: resending,
			want: due(job.DueResend, failover.BackOff(1, id))},
		{name: "no sooner than its provider asked", attempt: func(a *job.Attempt) { ownKey(a); a.RetryAt = now.Add(time.Minute) },
			plan: resending, want: due(job.DueResend, time.Minute)},
		{name: "before it is asked about", attempt: func(a *job.Attempt) { stored(a); ownKey(a) }, plan: resending,
			want: due(job.DueResend, backOff)},
		{name: "never without a key of its own", plan: resending},
		{name: "nor while it is heard", attempt: func(a *job.Attempt) { ownKey(a); a.Heard = true }, plan: resending},
		{name: "nor where the plan does not say so", attempt: ownKey, plan: releasing(0)},
		{name: "nor beyond the cap", attempt: func(a *job.Attempt) { ownKey(a); a.Sends = 4 }, plan: resending},
		{name: "to which other attempts count", attempt: func(a *job.Attempt) { ownKey(a); a.Sends = 2 }, plan: resending,
			others: []job.Attempt{{ID: "earlier", Sends: 2}}},
		{name: "sent or not", attempt: func(a *job.Attempt) { ownKey(a); a.Sends = 2 }, plan: resending,
			others: []job.Attempt{{ID: "earlier"}, {ID: "earliest"}}},
		{name: "and what was read of it before does not", attempt: func(a *job.Attempt) { ownKey(a); a.Sends = 2 }, plan: resending,
			others: []job.Attempt{{ID: id, Sends: 1}, {ID: "earlier"}}, want: due(job.DueResend, failover.BackOff(1, id))},
		{name: "nor at the job's deadline", attempt: ownKey, plan: func(p *job.Plan) { resending(p); p.Deadline = 2*time.Minute + backOff }},
		{name: "just before it", attempt: ownKey, plan: func(p *job.Plan) { resending(p); p.Deadline = 2*time.Minute + backOff + 1 },
			want: due(job.DueResend, backOff)},
		{name: "asking goes on past it", attempt: stored, plan: func(p *job.Plan) { p.Deadline = time.Nanosecond },
			want: due(job.DueReconcile, time.Second)},
		{name: "so does releasing", plan: func(p *job.Plan) { releasing(time.Minute)(p); p.Deadline = time.Nanosecond },
			want: due(job.DueRelease, time.Minute)},
		{name: "a released attempt is still asked about", attempt: func(a *job.Attempt) { stored(a); a.State = job.Released },
			plan: releasing(time.Nanosecond), want: due(job.DueReconcile, time.Second)},
		{name: "and not released again", attempt: func(a *job.Attempt) { a.State = job.Released }, plan: releasing(time.Second)},
		{name: "nor sent again", attempt: func(a *job.Attempt) { ownKey(a); a.State = job.Released }, plan: resending},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			j := job.Job{Plan: plan(), CreatedAt: now.Add(-2 * time.Minute)}
			if row.plan != nil {
				row.plan(&j.Plan)
			}
			got := failover.Doubt(store.View{Job: j, Attempts: row.others, Now: now}, doubtful(row.attempt))
			gomega.NewWithT(t).Expect(got).To(gomega.Equal(row.want))
		})
	}
}

func releasing(after time.Duration) func(*job.Plan) {
	return func(p *job.Plan) { p.OnUnknown, p.ReleaseAfter = job.OnUnknownRelease, after }
}

func resending(p *job.Plan) { p.OnUnknown = job.OnUnknownResend }

func TestOnlyDoubtCallsForAStep(t *testing.T) {
	for _, state := range []job.State{job.Starting, job.Running, job.Succeeded, job.Failed, job.Cancelled, job.Superseded} {
		for _, change := range []func(*job.Plan){releasing(time.Second), resending} {
			j := job.Job{Plan: plan()}
			change(&j.Plan)
			attempt := doubtful(func(a *job.Attempt) { stored(a); ownKey(a); a.State = state })
			gomega.NewWithT(t).Expect(failover.Doubt(store.View{Job: j, Now: now}, attempt)).To(gomega.BeZero(), "%s", state)
		}
	}
}

// asks are the moments at which a provider is asked so many times in vain, from the moment of doubt.
func asks(a job.Attempt, times int) []time.Duration {
	var at []time.Duration
	for a.Asked = range times {
		at = append(at, failover.Doubt(store.View{Now: now}, a).At.Sub(a.UnknownAt))
	}
	return at
}

func TestQuestionsGrowRarerAndOneFallsOnTheHorizon(t *testing.T) {
	g := gomega.NewWithT(t)
	for i := range 200 {
		a := doubtful(func(a *job.Attempt) { stored(a); a.ID = fmt.Sprint("attempt-", i) })
		a.Horizon = 1000 * time.Hour
		regular := asks(a, 40)
		g.Expect(regular[0]).To(gomega.Equal(time.Second))
		for n := 1; n < len(regular); n++ {
			pause, full := regular[n]-regular[n-1], min(time.Second<<min(n, 6), time.Minute)
			g.Expect(pause).To(gomega.Equal(failover.AskPause(n, a.ID)))
			g.Expect(pause).To(gomega.And(gomega.BeNumerically(">=", full/2), gomega.BeNumerically("<=", full)))
		}
		horizon := regular[i%30] + time.Nanosecond // between two questions
		a.Horizon = now.Add(horizon).Sub(a.StartedAt)
		want := append(append(append([]time.Duration{}, regular[:i%30+1]...), horizon), regular[i%30+1:39]...)
		g.Expect(asks(a, 40)).To(gomega.Equal(want), "the horizon is one question more")

		a.Horizon = 30 * time.Second // over before the doubt began: the first question counts already
		g.Expect(asks(a, 40)).To(gomega.Equal(regular))
	}
	apart := map[time.Duration]bool{}
	for i := range 200 {
		apart[failover.AskPause(1, fmt.Sprint("attempt-", i))] = true
	}
	g.Expect(len(apart)).To(gomega.BeNumerically(">", 100), "attempts that fell into doubt together are spread")
}

// The same facts plan the same step, whenever and however often they are read.
func TestAStepFollowsFromStoredFactsOnly(t *testing.T) {
	seen := map[job.DueStep]int{}
	for seed := range uint64(5_000) {
		fate := rand.New(rand.NewPCG(seed, 2))
		j := job.Job{Plan: plan(), CreatedAt: now.Add(-time.Duration(fate.IntN(600)) * time.Second)}
		j.Plan.OnUnknown = []string{"", job.OnUnknownBlock, job.OnUnknownRelease, job.OnUnknownResend}[fate.IntN(4)]
		j.Plan.ReleaseAfter = time.Duration(fate.IntN(60)) * time.Second
		j.Plan.Deadline = time.Duration(fate.IntN(3)) * 5 * time.Minute
		a := doubtful(nil)
		a.ID, a.Sends, a.Asked = fmt.Sprint("attempt-", seed), 1+fate.IntN(4), fate.IntN(20)
		a.State = []job.State{job.Unknown, job.Unknown, job.Released}[fate.IntN(3)]
		a.Reconcile = []string{"", "stored_completions", "responses"}[fate.IntN(3)]
		a.IdempotencyHeader, a.Reference = []string{"", "Key"}[fate.IntN(2)], []string{"", "resp_1"}[fate.IntN(2)]
		a.Horizon, a.Heard = time.Duration(fate.IntN(3600))*time.Second, fate.IntN(2) == 0

		first := failover.Doubt(store.View{Job: j, Now: now}, a)
		seen[first.Step]++
		for _, later := range []time.Duration{0, time.Nanosecond, time.Hour} {
			if again := failover.Doubt(store.View{Job: j, Now: now.Add(later)}, a); again != first {
				t.Fatalf("seed %d: %+v, and %s later %+v", seed, first, later, again)
			}
		}
		if first.Step != job.DueNone && first.At.Before(a.UnknownAt) {
			t.Fatalf("seed %d: %+v before the doubt itself", seed, first)
		}
		if first.Step == job.DueResend && (a.Heard || a.State != job.Unknown || a.Sends >= j.Plan.MaxAttempts) {
			t.Fatalf("seed %d: %+v of %+v", seed, first, a)
		}
	}
	for _, step := range []job.DueStep{job.DueNone, job.DueReconcile, job.DueRelease, job.DueResend} {
		if seen[step] < 100 {
			t.Errorf("%q was planned only %d times: the fates are too narrow to prove anything", step, seen[step])
		}
	}
}
