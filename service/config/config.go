package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/drift"
)

// DefaultPath is the file that is read where none is named. It may be absent.
const DefaultPath = "fallproof.yaml"

// Config is everything that the file, its defaults and the environment decide.
type Config struct {
	Path      string // of the file; "" where there was none
	Server    Server
	Store     Store
	Catalog   *contracts.Catalog  // of the `contracts:` folder, else the shipped one
	Providers map[string]Provider // by name
	Routes    map[string]Route    // by contract

	getenv func(string) string
}

// Server is how the service listens and what it accepts.
type Server struct {
	Listen          string
	AcceptSources   []providers.Source // which certifications may open a fallback
	MaxBodyBytes    int64              // of a request
	ShutdownTimeout time.Duration      // how long running attempts are waited for
}

// Store says where the database is.
type Store struct {
	URL       string        // sqlite:PATH or postgres://…; DATABASE_URL of the environment wins
	Retention time.Duration // after which closed jobs are purged; 0 = they are kept for ever
}

// Provider is one endpoint and its models.
type Provider struct {
	Name    string
	BaseURL string

	// Where the key is; "" = there is none. One that is shorter than [secrets.MinLength] is sent like any other, and
	// is not taken out of what is kept.
	APIKeyEnv  string // name of the variable that holds it
	APIKeyFile string // path of the file that holds it

	Source providers.Source

	// LiveOnLoopback lets certifications count as live although this machine, or a simulator, answered them:
	// where a real model or a gateway to one listens on loopback.
	LiveOnLoopback bool

	Timeout      time.Duration // soft deadline
	GiveUp       time.Duration // hard deadline
	QueueTimeout time.Duration // how long an attempt waits for its turn
	Concurrency  int
	ServerErrors string // doubt | failed

	Reconcile        string        // how an attempt is found again: "" | stored_completions | responses
	ReconcileHorizon time.Duration // after which what is absent there was not executed
	Idempotent       string        // the header in which it honours an attempt's own key; "" = it does not
	Circuit          Circuit

	Models map[string]providers.Profile // complete profiles, by model
	Prices map[string]Price             // by model; absent where none is declared

	keyLine int // where api_key_env or api_key_file stands
}

// Circuit is when a target is left alone: after so many failures in a row, for so long. Failures 0 = never.
type Circuit struct {
	Failures int
	CoolDown time.Duration
}

// Route is who serves a contract.
type Route struct {
	Primary                 providers.Target
	Fallbacks               []providers.Target // in order
	MaxAttempts             int
	OnRefusal               string        // final | fallback
	OnUnknown               string        // block | release | resend
	Deadline                time.Duration // of a job, from its creation; 0 = none
	RequireCertifiedPrimary bool
	Drift                   drift.Settings // when live answers suspend a target's proof
}

// Drift is when live answers under a contract suspend a target's proof; the defaults where it has no route.
func (c *Config) Drift(contract string) drift.Settings {
	if route, ok := c.Routes[contract]; ok {
		return route.Drift
	}
	return drift.Defaults()
}

// Provider finds a provider by name.
func (c *Config) Provider(name string) (Provider, bool) {
	provider, ok := c.Providers[name]
	return provider, ok
}

// Profile is the declared profile of a target; ok is false where the file does not declare it.
func (c *Config) Profile(t providers.Target) (profile providers.Profile, ok bool) {
	profile, ok = c.Providers[t.Provider].Models[t.Model]
	return profile, ok
}

// Undeclared says of a target that the file does not declare which it does.
func (c *Config) Undeclared(t providers.Target) error {
	declared := []string{}
	for _, each := range c.Targets() {
		declared = append(declared, each.String())
	}
	return fmt.Errorf("target %s is not declared; declared are: %s", t, cmp.Or(strings.Join(declared, ", "), "none"))
}

// Targets are all declared targets, sorted.
func (c *Config) Targets() []providers.Target {
	var targets []providers.Target
	for name, provider := range c.Providers {
		for model := range provider.Models {
			targets = append(targets, providers.Target{Provider: name, Model: model})
		}
	}
	slices.SortFunc(targets, func(a, b providers.Target) int { return strings.Compare(a.String(), b.String()) })
	return targets
}
