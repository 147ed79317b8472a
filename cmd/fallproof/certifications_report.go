package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts/report"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/suites/certify"
)

func (p *program) certificationsReportCommand() *cobra.Command {
	var html, markdown string
	var failing bool
	command := &cobra.Command{
		Use: "report ID…", Short: "Show records with what they rest on, as HTML or Markdown", Args: cobra.MinimumNArgs(1),
		Long: "Made of the records and the evidence kept beside them: nobody is called. Without --html and --markdown the Markdown\n" +
			"goes to standard output.",
		Example: "  fallproof certifications report 0197b1c4-0000-7000-8000-000000000000 --html report.html\n" +
			"  fallproof certifications report 0197b1c4-0000-7000-8000-000000000000 0197c2d5-0000-7000-8000-000000000000 --filter-failing",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := distinctFiles(reportFile{"html", html}, reportFile{"markdown", markdown}); err != nil {
				return usage(err)
			}
			return p.withStore(cmd.Context(), nil, func(c *config.Config, s store.Store) error {
				shown, err := p.reportOf(cmd.Context(), c, s, args)
				if err != nil {
					return err
				}
				if failing {
					shown = shown.Failing()
				}
				if html == "" && markdown == "" {
					var text bytes.Buffer
					if err := report.Markdown(&text, shown); err != nil {
						return failed(err)
					}
					return p.print(text.String())
				}
				if err := errors.Join(certify.WriteReport(html, shown, report.HTML), certify.WriteReport(markdown, shown, report.Markdown)); err != nil {
					return usage(err)
				}
				return nil
			})
		},
	}
	command.Flags().StringVar(&html, "html", "", "write one page that needs nothing else to this file")
	command.Flags().StringVar(&markdown, "markdown", "", "write Markdown to this file, for a comment or a job summary")
	command.Flags().BoolVar(&failing, "filter-failing", false, "only what is not certified")
	return command
}

// reportOf reads the records that are named, each with its evidence and what has become of it.
func (p *program) reportOf(ctx context.Context, c *config.Config, s store.Store, ids []string) (report.Report, error) {
	shown := report.Report{Title: fmt.Sprintf("%d certification records", len(ids))}
	if len(ids) == 1 {
		shown.Title = "certification record " + ids[0]
	}
	records := make([]store.StoredRecord, len(ids))
	for i, id := range ids {
		record, err := s.Record(ctx, id)
		if err != nil {
			return shown, p.missingRecord(id, err)
		}
		records[i] = record
	}
	worth, err := worthOf(ctx, c, s, records)
	if err != nil {
		return shown, failed(err)
	}
	for i, record := range records {
		kept, err := certify.LoadEvidence(ctx, s, record.Record)
		if err != nil {
			return shown, failed(fmt.Errorf("evidence of record %s: %w", record.ID, err))
		}
		shown.Entries = append(shown.Entries, report.Entry{Record: record.Record, Lapse: worth[i].lapse, Evidence: kept})
	}
	return shown, nil
}
