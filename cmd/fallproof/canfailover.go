package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/store"
)

func (p *program) canFailoverCommand() *cobra.Command {
	var contract, to string
	var asJSON bool
	command := &cobra.Command{
		Use: "can-failover", Short: "Say whether a target may stand in under a contract, and why not", Args: cobra.NoArgs,
		Long:    "Exit 0 when it may, 1 when it may not.",
		Example: "  fallproof can-failover --contract invoice-extraction --to beta/beta-medium\n  fallproof can-failover --contract invoice-extraction --to beta/beta-medium --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if contract == "" || to == "" {
				return usagef("--contract and --to are required")
			}
			var named *contracts.Contract
			var target providers.Target
			find := func(c *config.Config) (err error) {
				named, target, err = pair(c, contract, to)
				return err
			}
			return p.withStore(cmd.Context(), find, func(c *config.Config, s store.Store) error {
				return p.canFailover(cmd.Context(), c, s, named, target, asJSON)
			})
		},
	}
	command.Flags().StringVar(&contract, "contract", "", "the contract (required)")
	command.Flags().StringVar(&to, "to", "", "the target, PROVIDER/MODEL (required)")
	command.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts")
	return command
}

// pair finds a contract and a target that the configuration declares.
func pair(c *config.Config, contract, written string) (*contracts.Contract, providers.Target, error) {
	named, err := contractNamed(c, contract)
	if err != nil {
		return nil, providers.Target{}, err
	}
	target, err := declaredTarget(c, written)
	return named, target, err
}

func contractNamed(c *config.Config, name string) (*contracts.Contract, error) {
	found, ok := c.Catalog.Get(name)
	if !ok {
		return nil, usagef("no contract is named %q; the catalogue has %s", name, strings.Join(c.Catalog.Names(), ", "))
	}
	return found, nil
}

func declaredTarget(c *config.Config, written string) (providers.Target, error) {
	target, err := providers.ParseTarget(written)
	if err != nil {
		return target, usage(err)
	}
	if _, ok := c.Profile(target); !ok {
		var declared []string
		for _, each := range c.Targets() {
			declared = append(declared, each.String())
		}
		if len(declared) == 0 {
			declared = []string{"none"}
		}
		return target, usagef("target %s is not declared; declared are: %s", target, strings.Join(declared, ", "))
	}
	return target, nil
}

// verdict is the answer as scripts read it.
type verdict struct {
	Contract        string                 `json:"contract"`
	Target          providers.Target       `json:"target"`
	Role            string                 `json:"role"`
	Eligible        bool                   `json:"eligible"`
	Reasons         []certification.Reason `json:"reasons"`
	Details         []remedy               `json:"details"` // of each reason
	Fixes           []string               `json:"fixes"`   // each once
	CertificationID *string                `json:"certification_id"`
	ExpiresAt       *time.Time             `json:"expires_at"`

	Warnings []certification.Warning `json:"warnings"`
	Events   []certification.Event   `json:"events"` // of the record that the proof rests on
}

// remedy is a reason in words, and what would take it away.
type remedy struct {
	Reason  certification.Reason `json:"reason"`
	Meaning string               `json:"meaning"`
	Fix     string               `json:"fix"`
}

func (p *program) canFailover(ctx context.Context, c *config.Config, s store.Store, contract *contracts.Contract, target providers.Target, asJSON bool) error {
	status, err := standingOf(ctx, c, s, contract, target)
	if err != nil {
		return usage(fmt.Errorf("the store cannot be read: %w", err)) // never to be taken for a no
	}
	v := verdict{
		Contract: contract.Name, Target: target, Role: status.Role, Eligible: status.Eligible, Reasons: status.Reasons, Details: []remedy{}, Fixes: []string{},
		Warnings: status.Warnings, Events: status.Events,
	}
	if v.Warnings == nil {
		v.Warnings = []certification.Warning{}
	}
	if v.Events == nil {
		v.Events = []certification.Event{}
	}
	if status.CertificationID != "" {
		v.CertificationID, v.ExpiresAt = &status.CertificationID, &status.ExpiresAt
	}
	if v.Reasons == nil {
		v.Reasons = []certification.Reason{}
	}
	for _, reason := range v.Reasons {
		fix := fixFor(reason, v)
		v.Details = append(v.Details, remedy{reason, meanings[reason], fix})
		if !slices.Contains(v.Fixes, fix) {
			v.Fixes = append(v.Fixes, fix)
		}
	}
	if asJSON {
		err = p.printJSON(v)
	} else {
		err = p.print(p.explain(v))
	}
	if err != nil || v.Eligible {
		return err
	}
	return exit(exitNo)
}

// standingOf asks the store about one target and lets the service's own rule judge the answer.
func standingOf(ctx context.Context, c *config.Config, s store.Store, contract *contracts.Contract, target providers.Target) (failover.TargetStatus, error) {
	profile, _ := c.Profile(target)
	standings, err := s.Standings(ctx, []certification.Key{{
		Contract: contract.Name, Target: target, EffectiveDigest: contract.EffectiveDigest(target),
		ProfileDigest: profile.Digest(), ProofDigest: contract.ProofDigest(target, profile),
	}})
	if err != nil {
		return failover.TargetStatus{}, err
	}
	all := failover.Status(c.Plan(contract), c.Targets(), map[providers.Target]certification.Standing{target: standings[0]}, c.Server.AcceptSources)
	i := slices.IndexFunc(all, func(status failover.TargetStatus) bool { return status.Target == target })
	return all[i], nil // declared targets are always listed
}

func (p *program) explain(v verdict) string {
	var text strings.Builder
	if v.Eligible {
		fmt.Fprintf(&text, "%s: %s may stand in under %s until %s (certification %s)\n",
			p.paint(good, "yes"), v.Target, v.Contract, stamp(*v.ExpiresAt), *v.CertificationID)
		for _, warning := range v.Warnings {
			fmt.Fprintf(&text, "  %s: %s\n    fallproof certify --contract %s --target %s\n",
				p.paint(strong, string(warning)), warningMeanings[warning], v.Contract, v.Target)
		}
		return text.String()
	}
	fmt.Fprintf(&text, "%s: %s may not stand in under %s\n", p.paint(bad, "no"), v.Target, v.Contract)
	for _, d := range v.Details {
		fmt.Fprintf(&text, "  %s: %s\n", p.paint(strong, string(d.Reason)), d.Meaning)
		for _, event := range v.Events {
			if string(event.Type) == string(d.Reason) { // what happened, where something did
				fmt.Fprintf(&text, "    %s\n", visible(happened(event)))
			}
		}
		fmt.Fprintf(&text, "    %s\n", d.Fix)
	}
	return text.String()
}

// happened is an event in one line: when, why, and what people should know of it.
func happened(event certification.Event) string {
	line := stamp(event.At)
	if event.Cause != "" {
		line += ", " + event.Cause
	}
	if event.Detail != "" {
		line += ": " + event.Detail
	}
	return line
}

// meanings says in words what each reason means.
var meanings = map[certification.Reason]string{
	certification.NoCertification:   "it was never certified for this contract",
	certification.ReasonRejected:    "its newest judged certification rejected it",
	certification.ReasonInconcl:     "no run of it could be judged",
	certification.Expired:           "its certification has expired",
	certification.Revoked:           "its certification was revoked",
	certification.ContractChanged:   "the contract has changed since it was certified",
	certification.ProfileChanged:    "its profile has changed since it was certified",
	certification.SourceNotAccepted: "its certification is of a source that server.accept_sources does not list",
	certification.Suspended:         "its proof is suspended",
	certification.NotInRoute:        "the contract's route does not name it",
	certification.ContextTooSmall:   "its context window is too small",
	certification.CircuitOpen:       "a replica leaves it alone for a while, after too many failures in a row",
}

// warningMeanings says in words what each warning means.
var warningMeanings = map[certification.Warning]string{
	certification.WarningExpiring:    "it expires soon",
	certification.WarningFingerprint: "it answers with another fingerprint than it was certified with",
}

// fixFor is what would take a reason away: a command, or what to change in the configuration. What follows
// a # is for people.
func fixFor(reason certification.Reason, v verdict) string {
	certify := fmt.Sprintf("fallproof certify --contract %s --target %s", v.Contract, v.Target)
	diff := fmt.Sprintf("fallproof certifications diff --contract %s --target %s", v.Contract, v.Target)
	switch reason {
	case certification.ReasonRejected, certification.Revoked, certification.Suspended:
		if v.CertificationID != nil {
			return fmt.Sprintf("fallproof certifications show %s   # says why; once that is mended: %s", *v.CertificationID, certify)
		}
		return certify
	case certification.ContractChanged, certification.ProfileChanged:
		return certify + "   # then " + diff + " says what changed"
	case certification.ReasonInconcl:
		return certify + "   # when the provider answers again"
	case certification.SourceNotAccepted:
		return certify + "   # against a provider of a source that server.accept_sources lists"
	case certification.NotInRoute:
		return fmt.Sprintf("add %s to routes.%s.fallbacks in the configuration", v.Target, v.Contract)
	case certification.ContextTooSmall:
		return fmt.Sprintf("correct context_window of %s in the configuration, or choose another target", v.Target)
	case certification.CircuitOpen:
		return fmt.Sprintf("wait: it is tried again after providers.%s.circuit.cool_down", v.Target.Provider)
	default: // never certified, or no longer
		return certify
	}
}
