package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
)

func (p *program) certificationsCommand() *cobra.Command {
	return group("certifications", "Certification records",
		p.certificationsListCommand(), p.certificationsShowCommand(), p.certificationsDiffCommand(), p.certificationsEvidenceCommand(),
		p.certificationsReportCommand(), p.certificationsRevokeCommand())
}

// recordView is a record as scripts read it: the same members as the API's.
type recordView struct {
	certification.Record
	RevokedAt     *time.Time `json:"revoked_at"`
	RevokedReason string     `json:"revoked_reason,omitzero"`
	RevokedBy     string     `json:"revoked_by,omitzero"`

	Events []certification.Event `json:"events"` // oldest first
}

func viewRecord(r store.StoredRecord) recordView {
	view := recordView{Record: r.Record, RevokedReason: r.RevokedReason, RevokedBy: r.RevokedBy, Events: r.Events}
	if view.Events == nil {
		view.Events = []certification.Event{}
	}
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
			if cursor != "" && uuid.Validate(cursor) != nil { // it would only be compared with ids
				return usagef("--cursor %q: is not the cursor of an earlier page", cursor)
			}
			if target != "" {
				parsed, err := providers.ParseTarget(target)
				if err != nil {
					return usagef("--%w", err)
				}
				filter.Target = &parsed
			}
			return p.withStore(cmd.Context(), nil, func(c *config.Config, s store.Store) error {
				return p.listRecords(cmd.Context(), c, s, filter, asJSON)
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

func (p *program) listRecords(ctx context.Context, c *config.Config, s store.Store, filter store.RecordFilter, asJSON bool) error {
	found, next, err := s.Records(ctx, filter)
	if err != nil {
		return failed(err)
	}
	if asJSON {
		views := make([]recordView, len(found))
		for i, r := range found {
			views[i] = viewRecord(r)
		}
		return p.printJSON(map[string]any{"items": views, "next_cursor": orNull(next)})
	}
	worth, err := worthOf(ctx, c, s, found)
	if err != nil {
		return failed(err)
	}
	rows := make([][]cell, len(found))
	for i, r := range found {
		rows[i] = []cell{
			{text: r.ID}, {text: r.Contract}, {text: r.Target.String()}, {string(r.Verdict), styleOf(r.Verdict)},
			{worth[i].text, worth[i].style}, {text: string(r.Source)}, {text: stamp(r.IssuedAt)},
		}
	}
	if err := p.print(p.painted([]string{"ID", "CONTRACT", "TARGET", "VERDICT", "CERTIFIED", "SOURCE", "ISSUED"}, rows)); err != nil || next == "" {
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

func (p *program) missingRecord(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return failed(fmt.Errorf("no certification has the id %q; `%s` has them all", id, p.command("certifications list")))
	}
	return failed(err)
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
		Long: "From then on the record opens no fallback, at any replica; another certification does. Revoking again changes nothing,\n" +
			"and says who did it before.\n\n" + exits{ok: "it is revoked, now or before", no: "there is no such record"}.String(),
		Example: "  fallproof certifications revoke 0197b1c4-0000-7000-8000-000000000000 --reason 'wrong model served'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return usagef("--reason is required: it stands in the record from now on")
			}
			return p.withStore(cmd.Context(), nil, func(c *config.Config, s store.Store) error {
				record, err := p.revokeRecord(cmd.Context(), s, args[0], reason)
				if err != nil {
					return err
				}
				return p.stillStands(cmd.Context(), c, s, record)
			})
		},
	}
	command.Flags().StringVar(&reason, "reason", "", "why (required)")
	return command
}

// revokeRecord says of a record that was revoked before when that was, and why: the first reason is the one
// that stands in it.
func (p *program) revokeRecord(ctx context.Context, s store.Store, id, reason string) (store.StoredRecord, error) {
	before, err := s.Record(ctx, id)
	if err != nil {
		return before, p.missingRecord(id, err)
	}
	who, where := operator()
	by := "cli:" + who + "@" + where
	record, err := s.Revoke(ctx, id, reason, by)
	if err != nil {
		return record, p.missingRecord(id, err)
	}
	overtaken := record.RevokedReason != reason || record.RevokedBy != by // by somebody in between
	if !before.RevokedAt.IsZero() || overtaken {
		return record, p.print(visible(fmt.Sprintf("revoked already: %s at %s, on %s by %s: %s", record.Contract, record.Target,
			stamp(record.RevokedAt), record.RevokedBy, record.RevokedReason)) + "; nothing was changed\n")
	}
	return record, p.print(fmt.Sprintf("revoked: %s at %s may not stand in by %s any more\n", record.Contract, record.Target, record.ID))
}

// stillStands says of a target that it may stand in all the same, by another record than the one that was revoked.
func (p *program) stillStands(ctx context.Context, c *config.Config, s store.Store, revoked store.StoredRecord) error {
	contract, known := c.Catalog.Get(revoked.Contract)
	if _, declared := c.Profile(revoked.Target); !known || !declared {
		return nil
	}
	status, _, err := standingOf(ctx, c, s, contract, revoked.Target)
	if err != nil || !status.Eligible {
		return err
	}
	revoke := p.command("certifications revoke " + status.CertificationID + " --reason " + typed(revoked.RevokedReason))
	return p.print(fmt.Sprintf("it still may by certification %s; what ends that as well:\n  %s\n", status.CertificationID, visible(revoke)))
}
