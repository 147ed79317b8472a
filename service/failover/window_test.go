package failover_test

import (
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// windows notes which targets were measured, and finds some too small.
type windows struct {
	small    []providers.Target
	measured []providers.Target
}

func (w *windows) fit(target providers.Target) bool {
	w.measured = append(w.measured, target)
	return !slices.Contains(w.small, target)
}

func TestWhatDoesNotFitIsNotSent(t *testing.T) {
	const bad, denied = providers.ReasonMalformed, providers.ReasonUnauthorized
	rows := []struct {
		name     string
		attempts []job.Attempt
		small    []providers.Target
		cooling  cooling
		change   func(*store.View)
		measured []providers.Target
		want     expectation
	}{
		{name: "only the next target is measured", measured: []providers.Target{alpha},
			want: expectation{target: alpha, role: job.RolePrimary, proof: "cert-alpha"}},
		{name: "the intended target is left out too", small: []providers.Target{alpha}, measured: []providers.Target{alpha, beta},
			want: expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "a fallback is left out", attempts: []job.Attempt{failed(alpha, bad, true)}, small: []providers.Target{beta},
			measured: []providers.Target{beta, gamma},
			want:     expectation{target: gamma, role: job.RoleFallback, proof: "cert-gamma"}},
		{name: "with all fallbacks too small the passing failure is retried", attempts: []job.Attempt{failed(alpha, bad, true)},
			small: []providers.Target{beta, gamma}, measured: []providers.Target{beta, gamma, alpha},
			want: expectation{target: alpha, role: job.RoleRetry, proof: "cert-alpha"}},
		{name: "with all of the route too small nothing is sent", small: []providers.Target{alpha, beta, gamma},
			measured: []providers.Target{alpha, beta, gamma},
			want: expectation{reason: "context_too_small", why: map[providers.Target][]string{
				alpha: {"context_too_small"}, beta: {"context_too_small"}, gamma: {"context_too_small"}}}},
		{name: "also where the others have no proof, and are not measured", small: []providers.Target{alpha},
			change: func(v *store.View) { unproven(v, beta, gamma) }, measured: []providers.Target{alpha},
			want: expectation{reason: "context_too_small", why: map[providers.Target][]string{
				alpha: {"context_too_small"}, beta: {"no_certification"}, gamma: {"no_certification"}}}},
		{name: "after an attempt its reason is the job's", attempts: []job.Attempt{failed(alpha, denied, false)},
			small: []providers.Target{beta, gamma}, measured: []providers.Target{beta, gamma},
			want: expectation{reason: "unauthorized", attempt: 1, why: map[providers.Target][]string{
				beta: {"context_too_small"}, gamma: {"context_too_small"}}}},
		{name: "what cools down is measured when its turn has come", small: []providers.Target{beta},
			cooling: cooling{alpha: time.Minute}, measured: []providers.Target{beta, gamma},
			want: expectation{target: gamma, role: job.RoleFallback, proof: "cert-gamma"}},
		{name: "nothing is measured where no attempt may follow", attempts: []job.Attempt{failed(alpha, providers.ReasonRefused, false)},
			small: []providers.Target{beta, gamma},
			want: expectation{reason: "refused", attempt: 1, why: map[providers.Target][]string{
				beta: {"refusal_final"}, gamma: {"refusal_final"}}}},
		{name: "nor while one blocks", attempts: []job.Attempt{inState(alpha, job.Unknown)}, small: []providers.Target{beta}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			v, r, w := view(row.attempts...), rules(), windows{small: row.small}
			r.Cooling, r.Fits = row.cooling.of, w.fit
			if row.change != nil {
				row.change(&v)
			}
			row.want.check(g, failover.Next(v, r))
			g.Expect(w.measured).To(gomega.Equal(row.measured))
		})
	}
}

// A request that cannot be built fails the same way everywhere: nobody else is asked.
func TestALocalErrorEndsTheJob(t *testing.T) {
	g := gomega.NewWithT(t)
	v := view(failed(alpha, providers.ReasonUnmappable, false))
	expectation{reason: "unmappable", attempt: 1, why: map[providers.Target][]string{beta: {"unmappable"}, gamma: {"unmappable"}}}.
		check(g, failover.Next(v, rules()))

	for _, retryable := range []bool{true, false} { // the word decides, not what else the attempt says
		v = view(failed(alpha, providers.ReasonMalformed, true), failed(beta, providers.ReasonUnmappable, retryable))
		v.Job.Plan.OnRefusal = failover.OnRefusalFallback
		why := map[providers.Target][]string{alpha: {"unmappable"}, gamma: {"unmappable"}}
		expectation{reason: "unmappable", attempt: 2, why: why}.check(g, failover.Next(v, rules()))
	}
}
