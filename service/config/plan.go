package config

import (
	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/service/job"
)

// What a job's plan says about an attempt in doubt.
const (
	onUnknownBlock   = "block"
	onUnknownRelease = "release"
)

// DefaultMaxAttempts caps a job's attempts where its route says nothing.
const DefaultMaxAttempts = 3

// Plan is what a job of this contract keeps from today's configuration: its route, and the deadlines of
// every provider, because an attempt asked for explicitly may go to any of them. Primary is zero where
// the contract has no route.
func (c *Config) Plan(contract *contracts.Contract) job.Plan {
	plan := job.Plan{
		MaxAttempts:  DefaultMaxAttempts,
		OnRefusal:    "final",
		OnUnknown:    onUnknown(contract),
		ReleaseAfter: contract.ReleaseAfter,
		Deadlines:    make(map[string]job.Deadlines, len(c.Providers)),
	}
	if route, ok := c.Routes[contract.Name]; ok {
		plan.Primary, plan.Fallbacks = route.Primary, route.Fallbacks
		plan.MaxAttempts, plan.OnRefusal = route.MaxAttempts, route.OnRefusal
		plan.RequireCertifiedPrimary = route.RequireCertifiedPrimary
	}
	for name, p := range c.Providers {
		plan.Deadlines[name] = job.Deadlines{Timeout: p.Timeout, GiveUp: p.GiveUp, QueueTimeout: p.QueueTimeout}
	}
	return plan
}

// onUnknown is the contract's word: only one without effects, which says when, is ever released by policy.
func onUnknown(contract *contracts.Contract) string {
	if contract.Effects == contracts.EffectsNone && contract.ReleaseAfter > 0 {
		return onUnknownRelease
	}
	return onUnknownBlock
}
