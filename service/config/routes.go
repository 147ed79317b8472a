package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
)

const mostAttempts = 100

func (r *reader) routes(f field, c *Config) map[string]Route {
	routes := map[string]Route{}
	for _, entry := range r.entries(f) {
		if _, ok := c.Catalog.Get(entry.key); !ok {
			r.fail(entry.line, "%s: no such contract; the catalogue has %s", entry.name, strings.Join(c.Catalog.Names(), ", "))
			continue
		}
		routes[entry.key] = r.route(entry, c)
	}
	return routes
}

func (r *reader) route(f field, c *Config) Route {
	s := r.mapping(f, "primary", "fallbacks", "max_attempts", "on_refusal", "on_unknown", "deadline", "require_certified_primary", "drift")
	if !s["primary"].present() {
		r.lacks(f.line, "%s has no primary", f.name)
		return Route{}
	}
	route := Route{
		Primary:                 r.declared(s["primary"], c),
		MaxAttempts:             r.integer(s["max_attempts"], DefaultMaxAttempts, mostAttempts),
		OnRefusal:               r.word(s["on_refusal"], "final", "final", "fallback"),
		OnUnknown:               r.word(s["on_unknown"], job.OnUnknownBlock, job.OnUnknownBlock, job.OnUnknownRelease, job.OnUnknownResend),
		Deadline:                r.duration(s["deadline"], 0),
		RequireCertifiedPrimary: r.boolean(s["require_certified_primary"]),
		Drift:                   r.drift(s["drift"]),
	}
	if s["fallbacks"].present() {
		route.Fallbacks = r.fallbacks(s["fallbacks"], route.Primary, c)
	}
	if contract, ok := c.Catalog.Get(f.key); ok && s["on_unknown"].present() {
		r.silence(s["on_unknown"], contract, route, c)
	}
	return route
}

// silence refuses a policy that the contract's effects do not allow, or that could never act.
func (r *reader) silence(f field, contract *contracts.Contract, route Route, c *Config) {
	switch route.OnUnknown {
	case job.OnUnknownRelease:
		if contract.Effects != contracts.EffectsNone {
			r.fail(f.line, "%s: release is only for contracts with effects: none; %s has effects: %s", f.name, contract.Name, contract.Effects)
		}
		if contract.ReleaseAfter == 0 {
			r.fail(f.line, "%s: release never acts, since contract %s has no release_after", f.name, contract.Name)
		}
	case job.OnUnknownResend:
		if contract.Effects == contracts.EffectsExternal {
			r.fail(f.line, "%s: resend is not for contracts with effects: external, as %s has", f.name, contract.Name)
		}
		targets := append([]providers.Target{route.Primary}, route.Fallbacks...)
		if !slices.ContainsFunc(targets, func(t providers.Target) bool { return c.Providers[t.Provider].Idempotent != "" }) {
			r.fail(f.line, "%s: resend never acts, since no provider of the route is declared idempotent", f.name)
		}
	}
}

func (r *reader) fallbacks(f field, primary providers.Target, c *Config) []providers.Target {
	var fallbacks []providers.Target
	for _, each := range r.list(f) {
		target := r.declared(each, c)
		switch {
		case target == primary:
			r.fail(each.line, "%s: %s is the primary itself", f.name, target)
		case slices.Contains(fallbacks, target):
			r.fail(each.line, "%s: %s stands here twice", f.name, target)
		}
		fallbacks = append(fallbacks, target)
	}
	return fallbacks
}

// declared is a target that providers and models declare.
func (r *reader) declared(f field, c *Config) providers.Target {
	target := r.target(f)
	if target == (providers.Target{}) {
		return target
	}
	provider, ok := c.Providers[target.Provider]
	if !ok {
		r.fail(f.line, "%s: %s: provider %q is not declared; declared are: %s", f.name, target, target.Provider, names(c.Providers))
		return target
	}
	if _, ok := provider.Models[target.Model]; !ok {
		r.fail(f.line, "%s: %s: provider %s declares no model %q; it has: %s", f.name, target, target.Provider, target.Model, names(provider.Models))
	}
	return target
}

func names[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
