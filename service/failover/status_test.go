package failover_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
)

func TestStatusNamesEveryTarget(t *testing.T) {
	g := gomega.NewWithT(t)
	expired := certified(beta)
	expired.Proof.ExpiresAt = now.Add(-time.Second)
	standings := map[providers.Target]certification.Standing{alpha: certified(alpha), beta: expired, gamma: certified(gamma), delta: certified(delta)}
	known := []providers.Target{alpha, beta, delta} // gamma is gone from the configuration

	all := failover.Status(plan(), known, standings, []providers.Source{providers.SourceLive})
	g.Expect(all).To(gomega.Equal([]failover.TargetStatus{
		{Target: alpha, Role: "primary", Eligible: true, CertificationID: "cert-alpha", ExpiresAt: now.Add(time.Hour)},
		{Target: beta, Role: "fallback", Reasons: []certification.Reason{"expired"}, CertificationID: "cert-beta", ExpiresAt: expired.Proof.ExpiresAt},
		{Target: gamma, Role: "fallback", Reasons: []certification.Reason{"not_in_route"}, CertificationID: "cert-gamma", ExpiresAt: now.Add(time.Hour)},
		{Target: delta, Role: "other", Reasons: []certification.Reason{"not_in_route"}, CertificationID: "cert-delta", ExpiresAt: now.Add(time.Hour)},
	}))
}

func TestStatusWithoutRouteOrProof(t *testing.T) {
	g := gomega.NewWithT(t)
	all := failover.Status(job.Plan{}, []providers.Target{alpha}, nil, nil)
	g.Expect(all).To(gomega.Equal([]failover.TargetStatus{
		{Target: alpha, Role: "other", Reasons: []certification.Reason{"no_certification", "not_in_route"}},
	}))
}

func TestRefusalsOfAnExplicitAttempt(t *testing.T) {
	g := gomega.NewWithT(t)
	j := job.Job{Plan: plan(), Target: delta}
	for _, target := range []providers.Target{alpha, beta, gamma, delta} {
		g.Expect(failover.Refusals(j, target, rules())).To(gomega.BeEmpty())
	}
	stranger := providers.Target{Provider: "delta", Model: "other"}
	g.Expect(failover.Refusals(j, stranger, rules())).To(gomega.Equal([]string{"not_in_route"}))
	gone := rules()
	gone.Known = func(providers.Target) bool { return false }
	g.Expect(failover.Refusals(j, alpha, gone)).To(gomega.Equal([]string{"not_in_route"}))
}

// One replica leaves a target alone; the others know nothing of it.
func TestStatusSaysWhatCoolsDownHere(t *testing.T) {
	g := gomega.NewWithT(t)
	standings := map[providers.Target]certification.Standing{alpha: certified(alpha), gamma: certified(gamma)}
	r := rules()
	r.Cooling = cooling{alpha: time.Minute, beta: time.Second}.of
	all := r.Status(plan(), []providers.Target{alpha, beta, gamma}, standings)
	g.Expect(all).To(gomega.Equal([]failover.TargetStatus{
		{Target: alpha, Role: "primary", Reasons: []certification.Reason{"circuit_open"}, CertificationID: "cert-alpha",
			ExpiresAt: now.Add(time.Hour), Cooling: time.Minute},
		{Target: beta, Role: "fallback", Reasons: []certification.Reason{"no_certification", "circuit_open"}, Cooling: time.Second},
		{Target: gamma, Role: "fallback", Eligible: true, CertificationID: "cert-gamma", ExpiresAt: now.Add(time.Hour)},
	}))
}

func TestAnExplicitAttemptWaitsForACircuitButNotForAWindow(t *testing.T) {
	g := gomega.NewWithT(t)
	j := job.Job{Plan: plan(), Target: alpha}
	r, w := rules(), windows{small: []providers.Target{alpha, beta}}
	r.Cooling, r.Fits = cooling{alpha: time.Hour, gamma: time.Hour}.of, w.fit
	g.Expect(failover.Refusals(j, alpha, r)).To(gomega.Equal([]string{"context_too_small"}))
	g.Expect(failover.Refusals(j, beta, r)).To(gomega.Equal([]string{"context_too_small"}))
	g.Expect(failover.Refusals(j, gamma, r)).To(gomega.BeEmpty())
	g.Expect(failover.Refusals(j, delta, r)).To(gomega.Equal([]string{"not_in_route"}))
	g.Expect(w.measured).To(gomega.Equal([]providers.Target{alpha, beta, gamma}), "who is not of the route is not measured")
}
