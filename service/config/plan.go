package config

import (
	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/service/job"
)

// DefaultMaxAttempts caps a job's attempts where its route says nothing.
const DefaultMaxAttempts = 3

// Plan is what a job of this contract keeps from today's configuration: its route, and the deadlines of
// every provider, because an attempt asked for explicitly may go to any of them. Primary is zero where
// the contract has no route.
func (c *Config) Plan(contract *contracts.Contract) job.Plan {
	plan := job.Plan{
		MaxAttempts: DefaultMaxAttempts,
		OnRefusal:   "final",
		Deadlines:   make(map[string]job.Deadlines, len(c.Providers)),
	}
	if route, ok := c.Routes[contract.Name]; ok {
		plan.Primary, plan.Fallbacks = route.Primary, route.Fallbacks
		plan.MaxAttempts, plan.OnRefusal = route.MaxAttempts, route.OnRefusal
		plan.RequireCertifiedPrimary = route.RequireCertifiedPrimary
		plan.OnUnknown, plan.Deadline = route.OnUnknown, route.Deadline
		if route.OnUnknown == job.OnUnknownRelease {
			plan.ReleaseAfter = contract.ReleaseAfter
		}
	}
	for name, p := range c.Providers {
		plan.Deadlines[name] = job.Deadlines{Timeout: p.Timeout, GiveUp: p.GiveUp, QueueTimeout: p.QueueTimeout}
	}
	return plan
}
