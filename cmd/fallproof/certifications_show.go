package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/statistics"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
)

func (p *program) certificationsShowCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use: "show ID", Short: "Show one record with its figures and findings, and what changed since the last certified one", Args: cobra.ExactArgs(1),
		Example: "  fallproof certifications show 0197b1c4-0000-7000-8000-000000000000",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withStore(cmd.Context(), nil, func(c *config.Config, s store.Store) error {
				return p.showRecord(cmd.Context(), c, s, args[0], asJSON)
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts")
	return command
}

// shownRecord is a record for scripts, with what changed since the certified one before it.
type shownRecord struct {
	recordView
	SinceCertified *certification.Comparison `json:"since_certified"` // null where none was certified before
}

func (p *program) showRecord(ctx context.Context, c *config.Config, s store.Store, id string, asJSON bool) error {
	record, err := s.Record(ctx, id)
	if err != nil {
		return p.missingRecord(id, err)
	}
	since, err := sinceCertified(ctx, s, record)
	if err != nil {
		return failed(err)
	}
	if asJSON {
		return p.printJSON(shownRecord{viewRecord(record), since})
	}
	worth, err := worthOf(ctx, c, s, []store.StoredRecord{record})
	if err != nil {
		return failed(err)
	}
	text := p.describe(record, worth[0])
	if since != nil {
		text += "\n" + p.describeComparison("since it was last certified", *since)
	}
	return p.print(text)
}

// sinceCertified compares a record with the newest certified one before it; nil where there is none.
func sinceCertified(ctx context.Context, s store.Store, record store.StoredRecord) (*certification.Comparison, error) {
	var since *certification.Comparison
	below := false
	err := eachRecord(ctx, s, record.Contract, record.Target, func(other store.StoredRecord) bool {
		if below && other.Verdict == certification.Certified {
			compared := certification.Compare(other.Record, record.Record)
			since = &compared
			return false
		}
		below = below || other.ID == record.ID
		return true
	})
	return since, err
}

// describe is a record for people.
func (p *program) describe(r store.StoredRecord, worth worth) string {
	var text strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&text, "%-16s %s\n", name, visible(value))
		}
	}
	fmt.Fprintf(&text, "%s at %s: %s\n", visible(r.Contract), visible(r.Target.String()), p.paint(styleOf(r.Verdict), string(r.Verdict)))
	if worth.text != "" {
		fmt.Fprintf(&text, "%-16s %s\n", "certified", p.paint(worth.style, worth.text))
	}
	line("id", r.ID)
	line("source", string(r.Source))
	line("run", fmt.Sprintf("%s by %s on %s, harness %s", r.RunName, r.RunBy, r.RunOn, r.HarnessVersion))
	line("issued", stamp(r.IssuedAt))
	if r.Verdict == certification.Certified {
		line("expires", stamp(r.ExpiresAt))
	}
	if !r.RevokedAt.IsZero() {
		line("revoked", fmt.Sprintf("%s by %s: %s", stamp(r.RevokedAt), r.RevokedBy, r.RevokedReason))
	}
	for _, event := range r.Events {
		if event.Type != certification.EventRevoked { // said above, with who did it
			line(string(event.Type), happened(event))
		}
	}
	line("served models", strings.Join(r.ServedModels, ", "))
	line("contract digest", r.ContractDigest)
	line("proof digest", r.ProofDigest)
	line("token checks", r.Parameters.TokenChecks)
	line("not available", strings.Join(r.Parameters.Unavailable, ", "))
	line("schema", string(r.Enforcement))
	line("samples", samplesLine(r.Record))
	line("latency", latencyLine(r.Latency))
	line("pass^k", r.PassAllWords())
	if m := r.Mutation; m != nil {
		line("checks", fmt.Sprintf("refuse %d of %d wrong answers, %s; %s is asked", m.Killed, m.Total, statistics.Shown(m.Score), certification.Asked(m.Floor)))
	}
	if e := r.Evidence; e != nil {
		line("evidence", fmt.Sprintf("%d samples, sha256 %s: %s", e.Samples, e.Digest, p.command("certifications evidence "+r.ID)))
	}
	for _, d := range r.Dimensions {
		fmt.Fprintf(&text, "\n%s: %s\n", p.paint(strong, d.Name), visible(figure(d)))
		text.WriteString(findingLines(d.Findings))
	}
	if len(r.Warnings) > 0 {
		fmt.Fprintf(&text, "\n%s\n%s", p.paint(doubt, "warnings"), findingLines(r.Warnings))
	}
	text.WriteString(p.describeCases(r.Cases))
	return text.String()
}

func findingLines(findings []certification.Finding) string {
	var text strings.Builder
	for _, finding := range findings {
		fmt.Fprintf(&text, "  %d × %s%s\n", finding.Count, visible(finding.Reason), visible(instance(finding)))
	}
	return text.String()
}

// describeCases is a table of the cases' figures.
func (p *program) describeCases(cases []certification.CaseFigures) string {
	if len(cases) == 0 {
		return ""
	}
	rows := make([][]cell, len(cases))
	for i, c := range cases {
		outcome := c.Outcome()
		count := func(n int) cell { return cell{text: strconv.Itoa(n)} }
		rows[i] = []cell{
			{text: c.Case}, {strings.ReplaceAll(string(outcome), "_", " "), styleOfCase(outcome)},
			count(c.Samples), count(c.Usable), count(c.Structure), count(c.Business),
		}
	}
	return "\n" + p.painted([]string{"CASE", "CAME OUT", "SAMPLES", "USABLE", "STRUCTURE", "BUSINESS"}, rows)
}

func styleOfCase(outcome certification.CaseOutcome) style {
	switch outcome {
	case certification.CasePassed:
		return good
	case certification.CaseFailed:
		return bad
	}
	return doubt
}

func samplesLine(r certification.Record) string {
	switch {
	case r.Planned == 0:
		return ""
	case r.Taken < r.Planned:
		return fmt.Sprintf("%d of %d planned (%d a case)", r.Taken, r.Planned, r.SamplesPerCase)
	}
	return fmt.Sprintf("%d, %d a case", r.Taken, r.SamplesPerCase)
}

func latencyLine(l *certification.Latency) string {
	if l == nil {
		return ""
	}
	return l.String()
}

// figure is a dimension's verdict with what it rests on.
func figure(d certification.Dimension) string {
	bound := "lower 95 % bound "
	if d.Census {
		bound = "every one counts: "
	}
	text := fmt.Sprintf("%s, %d of %d, %s%s against %s", d.Status, d.Successes, d.Samples, bound,
		statistics.Shown(d.LowerBound), certification.Asked(d.Threshold))
	if unseen := d.Unseen(); unseen != "" {
		text += "; could not be seen: " + unseen
	}
	return text
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
