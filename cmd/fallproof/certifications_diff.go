package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
)

func (p *program) certificationsDiffCommand() *cobra.Command {
	var contract, target string
	var asJSON bool
	command := &cobra.Command{
		Use: "diff [ID1 ID2]", Short: "Say what changed from one record to another", Args: cobra.MaximumNArgs(2),
		Long: "Of two records, or with --contract and --target of the newest judged one (certified or rejected) and the one before:\n" +
			"contract, profile and parameters, who answered, figures, findings that came or went, cases that came out otherwise.",
		Example: "  fallproof certifications diff 0197b1c4-0000-7000-8000-000000000000 0197c2d5-0000-7000-8000-000000000000\n" +
			"  fallproof certifications diff --contract invoice-extraction --target beta/beta-medium --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			var at providers.Target
			switch named := contract != "" && target != ""; {
			case named && len(args) == 0:
				parsed, err := providers.ParseTarget(target)
				if err != nil {
					return usagef("--%w", err)
				}
				at = parsed
			case len(args) != 2 || contract != "" || target != "":
				return usagef("want two records, the older one first, or --contract and --target")
			}
			return p.withStore(cmd.Context(), nil, func(_ *config.Config, s store.Store) error {
				before, after, err := p.toCompare(cmd.Context(), s, args, contract, at)
				if err != nil {
					return err
				}
				compared := certification.Compare(before, after)
				if asJSON {
					return p.printJSON(compared)
				}
				heading := fmt.Sprintf("%s at %s", after.Contract, after.Target)
				return p.print(p.describeComparison(heading, compared))
			})
		},
	}
	command.Flags().StringVar(&contract, "contract", "", "the contract, with --target")
	command.Flags().StringVar(&target, "target", "", "the PROVIDER/MODEL, with --contract")
	command.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts")
	return command
}

// toCompare finds the two records that are meant.
func (p *program) toCompare(ctx context.Context, s store.Store, ids []string, contract string, target providers.Target) (before, after certification.Record, err error) {
	if len(ids) == 2 {
		var found [2]certification.Record
		for i, id := range ids {
			record, err := s.Record(ctx, id)
			if err != nil {
				return before, after, p.missingRecord(id, err)
			}
			found[i] = record.Record
		}
		return found[0], found[1], nil
	}
	var judged []certification.Record
	err = eachRecord(ctx, s, contract, target, func(r store.StoredRecord) bool {
		if r.Verdict != certification.Inconclusive {
			judged = append(judged, r.Record)
		}
		return len(judged) < 2
	})
	if err != nil {
		return before, after, failed(err)
	}
	if len(judged) < 2 {
		return before, after, failed(fmt.Errorf("%s at %s has %s, and two are needed", contract, target, []string{"no judged record", "one judged record"}[len(judged)]))
	}
	return judged[1], judged[0], nil
}

// describeComparison is what changed, for people.
func (p *program) describeComparison(heading string, c certification.Comparison) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s (%s, %s) → %s (%s, %s)\n", visible(heading),
		p.paint(styleOf(c.Before.Verdict), string(c.Before.Verdict)), c.Before.ID, stamp(c.Before.IssuedAt),
		p.paint(styleOf(c.After.Verdict), string(c.After.Verdict)), c.After.ID, stamp(c.After.IssuedAt))
	if c.Empty() {
		text.WriteString("  nothing changed\n")
		return text.String()
	}
	for _, change := range append(append([]certification.Change{}, c.Settings...), c.Served...) {
		fmt.Fprintf(&text, "  %s: %s → %s\n", change.Name, shortened(change.Before), shortened(change.After))
	}
	for _, d := range c.Dimensions {
		fmt.Fprintf(&text, "  %s: %s → %s\n", p.paint(strong, visible(d.Name)), figureOrNone(d.Before), figureOrNone(d.After))
	}
	for _, f := range c.Flipped {
		fmt.Fprintf(&text, "  case %s: %s → %s\n", visible(f.Case), outcomeText(f.Before), p.paint(styleOfCase(f.After), outcomeText(f.After)))
	}
	seen := func(sign string, s style, list []certification.Seen) {
		for _, one := range list {
			fmt.Fprintf(&text, "  %s %s: %d × %s%s\n", p.paint(s, sign), visible(one.Dimension), one.Finding.Count, visible(one.Finding.Reason), visible(instance(one.Finding)))
		}
	}
	seen("new", bad, c.Came)
	seen("gone", good, c.Gone)
	return text.String()
}

func outcomeText(outcome certification.CaseOutcome) string {
	return strings.ReplaceAll(string(outcome), "_", " ")
}

// shortened spares people most of a digest.
func shortened(text string) string {
	const digest = 64
	switch {
	case text == "":
		return "(none)"
	case len(text) == digest && !strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }):
		return text[:12] + "…"
	}
	return visible(text)
}

func figureOrNone(f *certification.Figure) string {
	if f == nil {
		return "(none)"
	}
	return visible(f.String())
}
