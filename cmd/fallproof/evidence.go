package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
)

func (p *program) certificationsEvidenceCommand() *cobra.Command {
	var out string
	command := &cobra.Command{
		Use: "evidence ID", Short: "Write out what a record rests on: every request as sent, every answer as received", Args: cobra.ExactArgs(1),
		Long: "The document is JSON (contracts/evidence/evidence.schema.json describes it): the prompts as sent, and as the target's\n" +
			"chat template renders them where one is declared, the exchanges,\n" +
			"and what was found in each. Credentials were taken out before it was stored. Its SHA-256 stands in the record.",
		Example: "  fallproof certifications evidence 0197b1c4-0000-7000-8000-000000000000 --out evidence.json\n" +
			"  fallproof certifications evidence 0197b1c4-0000-7000-8000-000000000000 | sha256sum",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withStore(cmd.Context(), nil, func(_ *config.Config, s store.Store) error {
				text, err := p.evidenceOf(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				if out == "" {
					return p.print(string(text))
				}
				if err := os.WriteFile(out, text, 0o644); err != nil {
					return usage(err)
				}
				return nil
			})
		},
	}
	command.Flags().StringVar(&out, "out", "", "write to this file instead of to standard output")
	return command
}

// evidenceOf is the document that a record names, byte for byte.
func (p *program) evidenceOf(ctx context.Context, s store.Store, id string) ([]byte, error) {
	record, err := s.Record(ctx, id)
	if err != nil {
		return nil, p.missingRecord(id, err)
	}
	if record.Evidence == nil {
		return nil, failed(fmt.Errorf("no evidence is kept beside certification %q", id))
	}
	kept, err := s.Evidence(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, failed(fmt.Errorf("the evidence that certification %q names is gone", id))
	}
	if err != nil {
		return nil, failed(err)
	}
	text, err := evidence.Text(kept.Content, *record.Evidence)
	if err != nil {
		return nil, failed(err)
	}
	return text, nil
}
