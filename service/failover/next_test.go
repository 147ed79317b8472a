package failover_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var (
	alpha = providers.Target{Provider: "alpha", Model: "large"}
	beta  = providers.Target{Provider: "beta", Model: "medium"}
	gamma = providers.Target{Provider: "gamma", Model: "org/small"}
	delta = providers.Target{Provider: "delta", Model: "asked"}

	now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// plan routes to alpha, then beta, then gamma.
func plan() job.Plan {
	return job.Plan{Primary: alpha, Fallbacks: []providers.Target{beta, gamma}, MaxAttempts: 4, OnRefusal: "final"}
}

func certified(target providers.Target) certification.Standing {
	return certification.Standing{Now: now, Key: certification.Key{Target: target}, Proof: &certification.Proof{
		Target: target, CertificationID: "cert-" + target.Provider, Verdict: certification.Certified,
		Source: providers.SourceLive, ExpiresAt: now.Add(time.Hour),
	}}
}

// view is a job intended for alpha, with every target certified.
func view(attempts ...job.Attempt) store.View {
	for i := range attempts {
		attempts[i].Number = i + 1
		attempts[i].ID = "attempt-" + attempts[i].Target.Provider
	}
	v := store.View{
		Job: job.Job{Plan: plan(), Target: alpha, State: job.JobRunning, CreatedAt: now}, Attempts: attempts, Now: now,
		Standings: map[providers.Target]certification.Standing{},
	}
	for _, target := range []providers.Target{alpha, beta, gamma, delta} {
		v.Standings[target] = certified(target)
	}
	return v
}

func rules() failover.Rules {
	return failover.Rules{
		Accepted: []providers.Source{providers.SourceLive},
		Known:    func(providers.Target) bool { return true },
	}
}

func failed(target providers.Target, reason providers.Reason, retryable bool) job.Attempt {
	return job.Attempt{Target: target, State: job.Failed, Reason: string(reason), Retryable: retryable}
}

func inState(target providers.Target, state job.State) job.Attempt {
	return job.Attempt{Target: target, State: state, Reason: "timeout"}
}

// expectation of one row: either a next attempt, or a failure, or nothing at all.
type expectation struct {
	target  providers.Target
	role    job.Role
	proof   string
	in      time.Duration // from now; 0 = at once, but for a retry some time later
	reason  string
	attempt int
	why     map[providers.Target][]string
}

func (e expectation) check(g *gomega.WithT, step store.Step) {
	if e.target != (providers.Target{}) {
		g.Expect(step.Failure).To(gomega.BeNil())
		g.Expect(step.Attempt).NotTo(gomega.BeNil(), "want an attempt")
		g.Expect(step.Attempt.Target).To(gomega.Equal(e.target))
		g.Expect(step.Attempt.Role).To(gomega.Equal(e.role))
		g.Expect(step.Attempt.CertificationID).To(gomega.Equal(e.proof))
		if e.in != 0 {
			g.Expect(step.Attempt.NotBefore).To(gomega.Equal(now.Add(e.in)))
			return
		}
		g.Expect(step.Attempt.NotBefore.IsZero()).To(gomega.Equal(e.role != job.RoleRetry), "only a retry waits by itself")
		return
	}
	g.Expect(step.Attempt).To(gomega.BeNil(), "want no attempt")
	if e.reason == "" {
		g.Expect(step.Failure).To(gomega.BeNil())
		return
	}
	g.Expect(step.Failure).NotTo(gomega.BeNil())
	g.Expect(step.Failure.Reason).To(gomega.Equal(e.reason))
	g.Expect(step.Failure.Attempt).To(gomega.Equal(e.attempt))
	why := map[providers.Target][]string{}
	for _, refusal := range step.Failure.Targets {
		why[refusal.Target] = refusal.Reasons
	}
	g.Expect(why).To(gomega.Equal(e.why))
}

func unproven(v *store.View, targets ...providers.Target) {
	for _, target := range targets {
		delete(v.Standings, target)
	}
}

func TestNext(t *testing.T) {
	const (
		refused = providers.ReasonRefused
		down    = providers.ReasonNotSent
		bad     = providers.ReasonMalformed
		denied  = providers.ReasonUnauthorized
	)
	rows := []struct {
		name     string
		attempts []job.Attempt
		change   func(*store.View, *failover.Rules)
		want     expectation
	}{
		{name: "the first attempt goes to the intended target, with its proof noted",
			want: expectation{target: alpha, role: job.RolePrimary, proof: "cert-alpha"}},
		{name: "the intended target needs no proof",
			change: func(v *store.View, _ *failover.Rules) { unproven(v, alpha) },
			want:   expectation{target: alpha, role: job.RolePrimary}},
		{name: "unless the route demands it",
			change: func(v *store.View, _ *failover.Rules) {
				unproven(v, alpha)
				v.Job.Plan.RequireCertifiedPrimary = true
			},
			want: expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "the route's demand is about its primary, not about a target that was asked for",
			change: func(v *store.View, _ *failover.Rules) {
				unproven(v, delta)
				v.Job.Target, v.Job.Plan.RequireCertifiedPrimary = delta, true
			},
			want: expectation{target: delta, role: job.RolePrimary}},
		{name: "nowhere to go",
			change: func(v *store.View, _ *failover.Rules) {
				unproven(v, alpha, beta, gamma)
				v.Job.Plan.RequireCertifiedPrimary = true
			},
			want: expectation{reason: failover.NoEligibleTarget, why: map[providers.Target][]string{
				alpha: {"no_certification"}, beta: {"no_certification"}, gamma: {"no_certification"}}}},
		{name: "a contract without a route still serves the target that was asked for",
			change: func(v *store.View, _ *failover.Rules) {
				v.Job.Target, v.Job.Plan.Primary, v.Job.Plan.Fallbacks = delta, providers.Target{}, nil
			},
			want: expectation{target: delta, role: job.RolePrimary, proof: "cert-delta"}},
		{name: "a definite failure moves on at once",
			attempts: []job.Attempt{failed(alpha, bad, true)},
			want:     expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "so does one that will never pass",
			attempts: []job.Attempt{failed(alpha, denied, false)},
			want:     expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "an asked-for target is followed by the primary, with proof",
			attempts: []job.Attempt{failed(delta, bad, true)},
			change:   func(v *store.View, _ *failover.Rules) { v.Job.Target = delta },
			want:     expectation{target: alpha, role: job.RoleFallback, proof: "cert-alpha"}},
		{name: "but not by a primary without proof",
			attempts: []job.Attempt{failed(delta, bad, true)},
			change: func(v *store.View, _ *failover.Rules) {
				v.Job.Target = delta
				unproven(v, alpha)
			},
			want: expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "an asked-for fallback is not its own fallback",
			attempts: []job.Attempt{failed(beta, bad, false)},
			change:   func(v *store.View, _ *failover.Rules) { v.Job.Target = beta },
			want:     expectation{target: alpha, role: job.RoleFallback, proof: "cert-alpha"}},
		{name: "a fallback without proof is passed over",
			attempts: []job.Attempt{failed(alpha, bad, true)},
			change:   func(v *store.View, _ *failover.Rules) { unproven(v, beta) },
			want:     expectation{target: gamma, role: job.RoleFallback, proof: "cert-gamma"}},
		{name: "with none proven, the passing failure is retried where it was",
			attempts: []job.Attempt{failed(alpha, down, true)},
			change:   func(v *store.View, _ *failover.Rules) { unproven(v, alpha, beta, gamma) },
			want:     expectation{target: alpha, role: job.RoleRetry}},
		{name: "with none proven, the lasting one ends the job",
			attempts: []job.Attempt{failed(alpha, denied, false)},
			change:   func(v *store.View, _ *failover.Rules) { unproven(v, beta, gamma) },
			want: expectation{reason: "unauthorized", attempt: 1, why: map[providers.Target][]string{
				beta: {"no_certification"}, gamma: {"no_certification"}}}},
		{name: "when all were tried, the one that may come back first is retried",
			attempts: []job.Attempt{failed(alpha, bad, true), failed(beta, bad, true), failed(gamma, bad, true)},
			change: func(v *store.View, _ *failover.Rules) {
				v.Attempts[0].RetryAt = now.Add(time.Minute)
				v.Attempts[1].RetryAt = now.Add(time.Second)
				v.Attempts[2].RetryAt = now.Add(time.Hour)
			},
			want: expectation{target: beta, role: job.RoleRetry, proof: "cert-beta"}},
		{name: "in the order of the route where several may",
			attempts: []job.Attempt{failed(gamma, bad, true), failed(beta, bad, true), failed(alpha, bad, true)},
			want:     expectation{target: alpha, role: job.RoleRetry, proof: "cert-alpha"}},
		{name: "among tried targets only one with a passing failure is retried",
			attempts: []job.Attempt{failed(alpha, denied, false), failed(beta, bad, true), failed(gamma, denied, false)},
			want:     expectation{target: beta, role: job.RoleRetry, proof: "cert-beta"}},
		{name: "a proof that fell in the meantime stops the retry",
			attempts: []job.Attempt{failed(alpha, denied, false), failed(beta, bad, true), failed(gamma, denied, false)},
			change: func(v *store.View, _ *failover.Rules) {
				v.Standings[beta].Proof.RevokedAt = now
			},
			want: expectation{reason: "unauthorized", attempt: 3, why: map[providers.Target][]string{
				alpha: {"tried"}, beta: {"revoked"}}}},
		{name: "one passing failure beside a lasting one is a lasting one",
			attempts: []job.Attempt{failed(alpha, bad, true), failed(alpha, denied, false)},
			change:   func(v *store.View, _ *failover.Rules) { unproven(v, beta, gamma) },
			want: expectation{reason: "unauthorized", attempt: 2, why: map[providers.Target][]string{
				beta: {"no_certification"}, gamma: {"no_certification"}}}},
		{name: "the cap counts attempts of every role",
			attempts: []job.Attempt{
				failed(alpha, bad, true), inState(alpha, job.Cancelled), inState(beta, job.Released), failed(alpha, bad, true)},
			want: expectation{reason: "malformed", attempt: 4, why: map[providers.Target][]string{
				beta: {"tried"}, gamma: {"attempts_exhausted"}}}},
		{name: "a refusal is final",
			attempts: []job.Attempt{failed(alpha, refused, false)},
			want: expectation{reason: "refused", attempt: 1, why: map[providers.Target][]string{
				beta: {"refusal_final"}, gamma: {"refusal_final"}}}},
		{name: "also when another attempt failed after it",
			attempts: []job.Attempt{failed(alpha, refused, false), failed(beta, bad, true)},
			want: expectation{reason: "malformed", attempt: 2, why: map[providers.Target][]string{
				alpha: {"tried"}, gamma: {"refusal_final"}}}},
		{name: "unless the route opts in",
			attempts: []job.Attempt{failed(alpha, refused, false)},
			change:   func(v *store.View, _ *failover.Rules) { v.Job.Plan.OnRefusal = "fallback" },
			want:     expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "a starting attempt blocks", attempts: []job.Attempt{inState(alpha, job.Starting)}},
		{name: "a running attempt blocks", attempts: []job.Attempt{inState(alpha, job.Running)}},
		{name: "an attempt in doubt blocks", attempts: []job.Attempt{inState(alpha, job.Unknown)}},
		{name: "also under a failure that came before it",
			attempts: []job.Attempt{failed(alpha, bad, true), inState(beta, job.Unknown)}},
		{name: "a succeeded job is at its end", attempts: []job.Attempt{failed(alpha, bad, true)},
			change: func(v *store.View, _ *failover.Rules) { v.Job.State = job.JobSucceeded }},
		{name: "a taken result slot too", attempts: []job.Attempt{failed(alpha, bad, true)},
			change: func(v *store.View, _ *failover.Rules) { v.Job.CompletedBy = 1 }},
		{name: "a cancelled job is at its end", attempts: []job.Attempt{inState(alpha, job.Cancelled)},
			change: func(v *store.View, _ *failover.Rules) { v.Job.State = job.JobCancelled }},
		{name: "a released attempt lets a proven target race it",
			attempts: []job.Attempt{inState(alpha, job.Released)},
			want:     expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "and is not sent again itself",
			attempts: []job.Attempt{inState(alpha, job.Released)},
			change:   func(v *store.View, _ *failover.Rules) { unproven(v, beta, gamma) },
			want: expectation{reason: "timeout", attempt: 1, why: map[providers.Target][]string{
				beta: {"no_certification"}, gamma: {"no_certification"}}}},
		{name: "a cancelled attempt's target is not retried",
			attempts: []job.Attempt{inState(alpha, job.Cancelled), failed(beta, denied, false), failed(gamma, denied, false)},
			want: expectation{reason: "unauthorized", attempt: 3, why: map[providers.Target][]string{
				alpha: {"tried"}, beta: {"tried"}}}},
		{name: "nor that of one resolved as failed, which is not retryable",
			attempts: []job.Attempt{failed(alpha, providers.ReasonTimeout, false)},
			change:   func(v *store.View, _ *failover.Rules) { unproven(v, beta, gamma) },
			want: expectation{reason: "timeout", attempt: 1, why: map[providers.Target][]string{
				beta: {"no_certification"}, gamma: {"no_certification"}}}},
		{name: "a cancelled attempt without a reason still gives the job one",
			attempts: []job.Attempt{{Target: alpha, State: job.Cancelled}},
			change:   func(v *store.View, _ *failover.Rules) { v.Job.Plan.Fallbacks = nil },
			want:     expectation{reason: "cancelled", attempt: 1, why: map[providers.Target][]string{}}},
		{name: "a target that the configuration lost is passed over",
			attempts: []job.Attempt{failed(alpha, denied, false)},
			change: func(_ *store.View, r *failover.Rules) {
				r.Known = func(target providers.Target) bool { return target != beta }
			},
			want: expectation{target: gamma, role: job.RoleFallback, proof: "cert-gamma"}},
		{name: "even where it was the intended one",
			attempts: []job.Attempt{failed(alpha, bad, true), failed(beta, denied, false)},
			change: func(v *store.View, r *failover.Rules) {
				r.Known = func(target providers.Target) bool { return target != alpha }
				unproven(v, gamma)
			},
			want: expectation{reason: "unauthorized", attempt: 2, why: map[providers.Target][]string{
				alpha: {"not_in_route"}, gamma: {"no_certification"}}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			v, r := view(row.attempts...), rules()
			if row.change != nil {
				row.change(&v, &r)
			}
			row.want.check(gomega.NewWithT(t), failover.Next(v, r))
		})
	}
}

// Every reason that a proof can fall for keeps a fallback out.
func TestOnlyAStandingProofOpensAFallback(t *testing.T) {
	other := certification.Record{EffectiveDigest: "other", ProfileDigest: "other"}
	rows := map[certification.Reason]func(*certification.Standing){
		certification.NoCertification: func(s *certification.Standing) { s.Proof = nil },
		certification.ReasonRejected:  func(s *certification.Standing) { s.Proof.Verdict = certification.Rejected },
		certification.Expired:         func(s *certification.Standing) { s.Proof.ExpiresAt = now },
		certification.Revoked:         func(s *certification.Standing) { s.Proof.RevokedAt = now },
		certification.Suspended:       func(s *certification.Standing) { s.Proof.SuspendedAt = now },
		certification.SourceNotAccepted: func(s *certification.Standing) {
			s.Proof.Source = providers.SourceSimulated
		},
		certification.ProfileChanged: func(s *certification.Standing) { s.Proof, s.Latest = nil, &other },
		certification.ContractChanged: func(s *certification.Standing) {
			s.Proof, s.Latest, s.Key.ProfileDigest = nil, &other, "other"
		},
		certification.ReasonInconcl: func(s *certification.Standing) { s.Proof, s.Latest = nil, &certification.Record{} },
	}
	for reason, spoil := range rows {
		t.Run(string(reason), func(t *testing.T) {
			v := view(failed(alpha, providers.ReasonMalformed, false))
			v.Job.Plan.Fallbacks = []providers.Target{beta}
			standing := v.Standings[beta]
			spoil(&standing)
			v.Standings[beta] = standing
			expectation{reason: "malformed", attempt: 1, why: map[providers.Target][]string{beta: {string(reason)}}}.
				check(gomega.NewWithT(t), failover.Next(v, rules()))
		})
	}
}
