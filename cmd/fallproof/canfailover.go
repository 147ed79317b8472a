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
	"github.com/fallproof/fallproof/contracts/lint"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/suites/certify"
)

func (p *program) canFailoverCommand() *cobra.Command {
	var contract, to string
	var asJSON bool
	command := &cobra.Command{
		Use: "can-failover", Short: "Say whether a target may stand in under a contract, and why not", Args: cobra.NoArgs,
		Long: "Asks the store for the proof and judges it as the service does, but for what only a running replica knows (circuit_open)\n" +
			"and what depends on a job's input (context_too_small). A yes comes with what its record warns of, and with what came\n" +
			"since: its end is near (expiring), another fingerprint answers (fingerprint_changed), the provider's timeout is shorter\n" +
			"than it was (deadline_shortened), a newer run could not be judged (newer_inconclusive), another edition of contract or\n" +
			"profile was rejected, suspended or revoked (other_edition_ended). A no comes with every reason,\n" +
			"what takes it away (fix, then what has to follow, or what would do as well) and a command that shows more (see).\n\n" +
			exits{ok: "it may", no: "it may not", usage: "nobody knows: the command or the configuration is wrong, or the store cannot be opened or read"}.String(),
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

// doomed is why a target can only be rejected as contract and profile are, which is certain without asking it; "" where
// that is open.
func doomed(contract *contracts.Contract, target providers.Target, profile providers.Profile) string {
	problems := lint.At(contract, target, profile, certify.Count)
	i := slices.IndexFunc(problems, func(p lint.Problem) bool { return p.Severity == lint.Error })
	if i < 0 || contract.Thresholds.Prompt < 1 {
		return ""
	}
	return problems[i].Message
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
		return target, usage(c.Undeclared(target))
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
	Fixes           []string               `json:"fixes"`   // what to do, in order, each once
	CertificationID *string                `json:"certification_id"`
	Source          *providers.Source      `json:"source"`
	IssuedAt        *time.Time             `json:"issued_at"`
	ExpiresAt       *time.Time             `json:"expires_at"`

	Warnings       []certification.Warning `json:"warnings"`        // what came since: its end is near, another fingerprint answers, …
	WarningDetails []caution               `json:"warning_details"` // of each of them
	RecordWarnings []certification.Finding `json:"record_warnings"` // what was found when it was certified and changes no verdict
	Events         []certification.Event   `json:"events"`          // of the record that the proof rests on

	left time.Duration // until it expires
}

func (p *program) canFailover(ctx context.Context, c *config.Config, s store.Store, contract *contracts.Contract, target providers.Target, asJSON bool) error {
	v, err := p.judged(ctx, c, s, contract, target)
	if err != nil {
		return usage(fmt.Errorf("the store cannot be read: %w", err)) // never to be taken for a no
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

// judged is the answer with all that there is to say of it.
func (p *program) judged(ctx context.Context, c *config.Config, s store.Store, contract *contracts.Contract, target providers.Target) (verdict, error) {
	status, now, err := standingOf(ctx, c, s, contract, target)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{
		Contract: contract.Name, Target: target, Role: status.Role, Eligible: status.Eligible, Reasons: listed(status.Reasons), Details: []remedy{}, Fixes: []string{},
		Warnings: []certification.Warning{}, RecordWarnings: []certification.Finding{}, Events: listed(status.Events),
	}
	_, routed := c.Routes[contract.Name]
	profile, _ := c.Profile(target)
	of := patient{
		contract: v.Contract, target: target, role: v.Role, declared: profile.Source,
		accepted: c.Server.AcceptSources, routed: routed, file: p.configPath,
		samples: certify.SamplesLacking(contract),
	}
	if status.CertificationID != "" {
		record, err := s.Record(ctx, status.CertificationID)
		if err != nil {
			return verdict{}, err
		}
		of.record = &record.Record
		v.CertificationID, v.Source, v.IssuedAt, v.ExpiresAt = &record.ID, &record.Source, &record.IssuedAt, &status.ExpiresAt
		v.RecordWarnings, v.left = listed(record.Warnings), status.ExpiresAt.Sub(now)
	}
	if v.WarningDetails, err = of.cautions(ctx, s, status.Warnings, c.Providers[target.Provider].Timeout); err != nil {
		return verdict{}, err
	}
	for _, each := range v.WarningDetails {
		v.Warnings = append(v.Warnings, each.Warning)
	}
	if len(v.Reasons) > 0 { // what the checks are worth is tried for a remedy alone
		of.unfit = certify.WhyUnfit(contract, p.command)
		of.doomed = doomed(contract, target, profile)
		asked, err := certify.Requested(ctx, s, []certify.Pair{{Contract: contract, Target: target, Profile: profile}})
		if err != nil {
			return verdict{}, err
		}
		of.asked = len(asked) > 0
	}
	if slices.Contains(v.Reasons, certification.ContractChanged) || slices.Contains(v.Reasons, certification.ProfileChanged) {
		if err := of.beforeTheChange(ctx, c, s, contract); err != nil {
			return verdict{}, err
		}
	}
	if slices.Contains(v.Reasons, certification.ReasonInconcl) {
		unjudged, err := newest(ctx, s, contract.Name, target, certification.Inconclusive)
		if err != nil {
			return verdict{}, err
		}
		if unjudged != nil {
			of.unjudged = &unjudged.Record
		}
	}
	for _, reason := range v.Reasons {
		v.Details = append(v.Details, remedyFor(reason, of))
	}
	v.Fixes = fixes(v.Details)
	return v, nil
}

// beforeTheChange finds what is not what it was when the pair was last certified, and what had ended that proof already:
// the change does not mend it.
func (of *patient) beforeTheChange(ctx context.Context, c *config.Config, s store.Store, contract *contracts.Contract) error {
	before, err := newest(ctx, s, of.contract, of.target, certification.Certified)
	if err != nil || before == nil {
		return err
	}
	profile, _ := c.Profile(of.target)
	now := certify.Pair{Contract: contract, Target: of.target, Profile: profile, Scrub: c.Scrubber()}
	of.changed = certification.ChangedParts(before.Parts, now.Parts())
	for _, event := range before.Events {
		if event.Type == certification.EventSuspended || event.Type == certification.EventRevoked {
			of.ended = append(of.ended, event)
		}
	}
	return nil
}

// newest is the newest record of a pair with this verdict; nil where there is none.
func newest(ctx context.Context, s store.Store, contract string, target providers.Target, verdict certification.Verdict) (*store.StoredRecord, error) {
	var found *store.StoredRecord
	err := eachRecord(ctx, s, contract, target, func(r store.StoredRecord) bool {
		if r.Verdict == verdict {
			found = &r
		}
		return found == nil
	})
	return found, err
}

// listed is a list that scripts can read: empty and never null.
func listed[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// standingOf asks the store about one target and lets the service's own rule judge the answer. now is the
// store's clock.
func standingOf(ctx context.Context, c *config.Config, s store.Store, contract *contracts.Contract, target providers.Target) (status failover.TargetStatus, now time.Time, err error) {
	profile, _ := c.Profile(target)
	standings, err := s.Standings(ctx, []certification.Key{{
		Contract: contract.Name, Target: target, EffectiveDigest: contract.EffectiveDigest(target),
		ProfileDigest: profile.Digest(), ProofDigest: contract.ProofDigest(target, profile),
	}})
	if err != nil {
		return failover.TargetStatus{}, now, err
	}
	all := failover.Status(c.Plan(contract), c.Targets(), map[providers.Target]certification.Standing{target: standings[0]}, c.Server.AcceptSources)
	i := slices.IndexFunc(all, func(status failover.TargetStatus) bool { return status.Target == target })
	return all[i], standings[0].Now, nil // declared targets are always listed
}

func (p *program) explain(v verdict) string {
	if v.Eligible {
		return p.explainYes(v)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s may not stand in under %s\n", p.paint(bad, "no"), v.Target, v.Contract)
	for _, d := range v.Details {
		fmt.Fprintf(&text, "  %s: %s\n", p.paint(strong, string(d.Reason)), d.Meaning)
		for _, event := range v.Events {
			if string(event.Type) == string(d.Reason) { // what happened, where something did
				fmt.Fprintf(&text, "    %s\n", visible(happened(event)))
			}
		}
		text.WriteString(d.lines())
	}
	p.explainWarnings(&text, v)
	return text.String()
}

// explainYes says until when, and what a careful person would want to know before relying on it.
func (p *program) explainYes(v verdict) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s may stand in under %s until %s (%s left; certification %s, %s)\n",
		p.paint(good, "yes"), v.Target, v.Contract, stamp(*v.ExpiresAt), remaining(v.left), *v.CertificationID, *v.Source)
	p.explainWarnings(&text, v)
	for _, found := range v.RecordWarnings {
		fmt.Fprintf(&text, "  %s: %s\n", p.paint(strong, visible(found.Reason)), visible(found.Detail))
	}
	return text.String()
}

func (p *program) explainWarnings(text *strings.Builder, v verdict) {
	for _, each := range v.WarningDetails {
		fmt.Fprintf(text, "  %s: %s\n", p.paint(strong, string(each.Warning)), visible(each.Meaning))
		text.WriteString(each.lines())
	}
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
