package failover_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// cooling is what a replica knows: how long each target is to be left alone.
type cooling map[providers.Target]time.Duration

func (c cooling) of(target providers.Target) time.Duration { return c[target] }

func TestCoolingTargets(t *testing.T) {
	const bad, limited = providers.ReasonMalformed, providers.ReasonRateLimited
	backOff := func(k int, last providers.Target) time.Duration { return failover.BackOff(k, "attempt-"+last.Provider) }
	rows := []struct {
		name     string
		attempts []job.Attempt
		cooling  cooling
		change   func(*store.View)
		want     expectation
	}{
		{name: "the intended target is passed over while a proven one is left", cooling: cooling{alpha: time.Minute},
			want: expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "but never for one without proof", cooling: cooling{alpha: time.Minute},
			change: func(v *store.View) { unproven(v, beta, gamma) },
			want:   expectation{target: alpha, role: job.RolePrimary, proof: "cert-alpha", in: time.Minute}},
		{name: "a fallback is passed over", attempts: []job.Attempt{failed(alpha, bad, false)}, cooling: cooling{beta: time.Minute},
			want: expectation{target: gamma, role: job.RoleFallback, proof: "cert-gamma"}},
		{name: "when all cool down, the first attempt waits for the soonest",
			cooling: cooling{alpha: time.Minute, beta: 2 * time.Second, gamma: 3 * time.Second},
			want:    expectation{target: beta, role: job.RoleFallback, proof: "cert-beta", in: 2 * time.Second}},
		{name: "in the order of the route where several are equally soon",
			cooling: cooling{alpha: time.Minute, beta: 2 * time.Second, gamma: 2 * time.Second},
			want:    expectation{target: beta, role: job.RoleFallback, proof: "cert-beta", in: 2 * time.Second}},
		{name: "one that came back comes before a retry, as the primary that it is",
			attempts: []job.Attempt{failed(beta, bad, true), failed(gamma, bad, true)},
			want:     expectation{target: alpha, role: job.RolePrimary, proof: "cert-alpha"}},
		{name: "a retry that is due sooner comes before a first attempt at what cools down",
			attempts: []job.Attempt{failed(alpha, bad, true)}, cooling: cooling{beta: time.Minute, gamma: time.Minute},
			want: expectation{target: alpha, role: job.RoleRetry, proof: "cert-alpha", in: backOff(0, alpha)}},
		{name: "and a first attempt before a retry that its provider put off for longer",
			attempts: []job.Attempt{failed(alpha, limited, true)}, cooling: cooling{beta: time.Minute, gamma: 2 * time.Minute},
			change: func(v *store.View) { v.Attempts[0].RetryAt = now.Add(time.Hour) },
			want:   expectation{target: beta, role: job.RoleFallback, proof: "cert-beta", in: time.Minute}},
		{name: "a shorter cooling does not replace a longer Retry-After",
			attempts: []job.Attempt{failed(alpha, limited, true)}, cooling: cooling{alpha: time.Second},
			change: func(v *store.View) {
				v.Attempts[0].RetryAt = now.Add(time.Minute)
				unproven(v, beta, gamma)
			},
			want: expectation{target: alpha, role: job.RoleRetry, in: time.Minute, proof: "cert-alpha"}},
		{name: "nor a shorter Retry-After a longer cooling",
			attempts: []job.Attempt{failed(alpha, limited, true)}, cooling: cooling{alpha: time.Minute},
			change: func(v *store.View) {
				v.Attempts[0].RetryAt = now.Add(time.Second)
				unproven(v, beta, gamma)
			},
			want: expectation{target: alpha, role: job.RoleRetry, in: time.Minute, proof: "cert-alpha"}},
		{name: "nor a cooling the back-off",
			attempts: []job.Attempt{failed(alpha, limited, true)}, cooling: cooling{alpha: time.Nanosecond},
			change: func(v *store.View) { unproven(v, beta, gamma) },
			want:   expectation{target: alpha, role: job.RoleRetry, in: backOff(0, alpha), proof: "cert-alpha"}},
		{name: "what failed for good does not come back by cooling down",
			attempts: []job.Attempt{failed(alpha, providers.ReasonUnauthorized, false)}, cooling: cooling{beta: time.Minute, gamma: time.Hour},
			want: expectation{target: beta, role: job.RoleFallback, proof: "cert-beta", in: time.Minute}},
		{name: "retries go round: who was asked less often is back first",
			attempts: []job.Attempt{failed(alpha, bad, true), failed(beta, bad, true), failed(alpha, bad, true)},
			change:   func(v *store.View) { unproven(v, gamma) },
			want:     expectation{target: beta, role: job.RoleRetry, proof: "cert-beta", in: backOff(0, alpha)}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			v, r := view(row.attempts...), rules()
			r.Cooling = row.cooling.of
			if row.change != nil {
				row.change(&v)
			}
			row.want.check(gomega.NewWithT(t), failover.Next(v, r))
		})
	}
}
