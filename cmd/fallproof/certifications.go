package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
)

func (p *program) certificationsCommand() *cobra.Command {
	return group("certifications", "Certification records",
		p.certificationsListCommand(), p.certificationsShowCommand(), p.certificationsEvidenceCommand(), p.certificationsRevokeCommand())
}

// recordView is a record as scripts read it: the same members as the API's.
type recordView struct {
	certification.Record
	RevokedAt     *time.Time `json:"revoked_at"`
	RevokedReason string     `json:"revoked_reason,omitzero"`
	RevokedBy     string     `json:"revoked_by,omitzero"`
}

func viewRecord(r store.StoredRecord) recordView {
	view := recordView{Record: r.Record, RevokedReason: r.RevokedReason, RevokedBy: r.RevokedBy}
	if !r.RevokedAt.IsZero() {
		view.RevokedAt = &r.RevokedAt
	}
	return view
}

func (p *program) certificationsListCommand() *cobra.Command {
	var contract, target, cursor string
	var limit int
	var asJSON bool
	command := &cobra.Command{
		Use: "list", Short: "List records, newest first", Args: cobra.NoArgs,
		Example: "  fallproof certifications list\n  fallproof certifications list --contract invoice-extraction --target alpha/alpha-large --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter := store.RecordFilter{Contract: contract, Limit: limit, Cursor: cursor}
			if limit < 1 {
				return usagef("--limit %d: want at least 1", limit)
			}
			if target != "" {
				parsed, err := providers.ParseTarget(target)
				if err != nil {
					return usagef("--%w", err)
				}
				filter.Target = &parsed
			}
			return p.withStore(cmd.Context(), nil, func(_ *config.Config, s store.Store) error {
				return p.listRecords(cmd.Context(), s, filter, asJSON)
			})
		},
	}
	command.Flags().StringVar(&contract, "contract", "", "only this contract's")
	command.Flags().StringVar(&target, "target", "", "only this PROVIDER/MODEL's")
	command.Flags().IntVar(&limit, "limit", 50, "how many at most")
	command.Flags().StringVar(&cursor, "cursor", "", "go on after the page that ended with this cursor")
	command.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts")
	return command
}

func (p *program) listRecords(ctx context.Context, s store.Store, filter store.RecordFilter, asJSON bool) error {
	found, next, err := s.Records(ctx, filter)
	if err != nil {
		return failed(err)
	}
	views, rows := make([]recordView, len(found)), make([][]string, len(found))
	for i, r := range found {
		views[i] = viewRecord(r)
		verdict := string(r.Verdict)
		if !r.RevokedAt.IsZero() {
			verdict += ", revoked"
		}
		rows[i] = []string{r.ID, r.Contract, r.Target.String(), verdict, string(r.Source), stamp(r.IssuedAt), stamp(r.ExpiresAt)}
	}
	if asJSON {
		return p.printJSON(map[string]any{"items": views, "next_cursor": orNull(next)})
	}
	if err := p.table("ID CONTRACT TARGET VERDICT SOURCE ISSUED EXPIRES", rows); err != nil || next == "" {
		return err
	}
	fmt.Fprintf(p.stderr, "there are more: --cursor %s\n", next)
	return nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (p *program) certificationsShowCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use: "show ID", Short: "Show one record with its figures and findings", Args: cobra.ExactArgs(1),
		Example: "  fallproof certifications show 0197b1c4-0000-7000-8000-000000000000",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withStore(cmd.Context(), nil, func(_ *config.Config, s store.Store) error {
				record, err := s.Record(cmd.Context(), args[0])
				if err != nil {
					return missingRecord(args[0], err)
				}
				if asJSON {
					return p.printJSON(viewRecord(record))
				}
				return p.print(p.describe(record))
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts")
	return command
}

func missingRecord(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return failed(fmt.Errorf("no certification has the id %q", id))
	}
	return failed(err)
}

// describe is a record for people.
func (p *program) describe(r store.StoredRecord) string {
	var text strings.Builder
	line := func(name, value string) { fmt.Fprintf(&text, "%-16s %s\n", name, visible(value)) }
	fmt.Fprintf(&text, "%s at %s: %s\n", visible(r.Contract), visible(r.Target.String()), p.paint(styleOf(r.Verdict), string(r.Verdict)))
	line("id", r.ID)
	line("source", string(r.Source))
	line("run", fmt.Sprintf("%s by %s on %s, harness %s", r.RunName, r.RunBy, r.RunOn, r.HarnessVersion))
	line("issued", stamp(r.IssuedAt))
	line("expires", stamp(r.ExpiresAt))
	if !r.RevokedAt.IsZero() {
		line("revoked", fmt.Sprintf("%s by %s: %s", stamp(r.RevokedAt), r.RevokedBy, r.RevokedReason))
	}
	line("served models", strings.Join(r.ServedModels, ", "))
	line("contract digest", r.ContractDigest)
	line("proof digest", r.ProofDigest)
	line("token checks", r.Parameters.TokenChecks)
	for _, d := range r.Dimensions {
		fmt.Fprintf(&text, "\n%s: %s\n", p.paint(strong, d.Name), visible(figure(d)))
		for _, finding := range d.Findings {
			fmt.Fprintf(&text, "  %d × %s%s\n", finding.Count, visible(finding.Reason), visible(instance(finding)))
		}
	}
	return text.String()
}

// figure is a dimension's verdict with what it rests on.
func figure(d certification.Dimension) string {
	bound := "lower 95 % bound "
	if d.Census {
		bound = "every one counts: "
	}
	return fmt.Sprintf("%s, %d of %d, %s%s against %s", d.Status, d.Successes, d.Samples, bound,
		strconv.FormatFloat(d.LowerBound, 'f', 3, 64), strconv.FormatFloat(d.Threshold, 'f', 3, 64))
}

func instance(f certification.Finding) string {
	text := ""
	if f.Case != "" {
		text = fmt.Sprintf(", e.g. case %q sample %d", f.Case, f.Sample)
	}
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	return text
}

func styleOf(verdict certification.Verdict) style {
	switch verdict {
	case certification.Certified:
		return good
	case certification.Rejected:
		return bad
	default:
		return doubt
	}
}

func (p *program) certificationsRevokeCommand() *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use: "revoke ID", Short: "Withdraw the proof that a record gives", Args: cobra.ExactArgs(1),
		Example: "  fallproof certifications revoke 0197b1c4-0000-7000-8000-000000000000 --reason 'wrong model served'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return usagef("--reason is required: it stands in the record from now on")
			}
			return p.withStore(cmd.Context(), nil, func(_ *config.Config, s store.Store) error {
				who, where := operator()
				record, err := s.Revoke(cmd.Context(), args[0], reason, "cli:"+who+"@"+where)
				if err != nil {
					return missingRecord(args[0], err)
				}
				return p.print(fmt.Sprintf("revoked: %s at %s may not stand in by %s any more\n", record.Contract, record.Target, record.ID))
			})
		},
	}
	command.Flags().StringVar(&reason, "reason", "", "why (required)")
	return command
}
