package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
)

func (p *program) migrateCommand() *cobra.Command {
	var asJSON bool
	status := &cobra.Command{
		Use: "status", Short: "Say which migrations were applied, and apply none", Args: cobra.NoArgs,
		Long:    "Looks alone: nothing is created and nothing changed.\n\n" + exits{ok: "the schema is up to date", no: "it is not, or there is no store yet"}.String(),
		Example: "  fallproof migrate status\n  DATABASE_URL=postgres://db.example/fallproof fallproof migrate status --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.migrateStatus(cmd.Context(), asJSON) },
	}
	status.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts")
	up := &cobra.Command{
		Use: "up", Short: "Bring the store's schema up to date", Args: cobra.NoArgs,
		Long:    "Every verb that opens the store does the same first; this one does nothing else.",
		Example: "  fallproof migrate up\n  DATABASE_URL=postgres://db.example/fallproof fallproof migrate up",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd.Context(), nil, func(*config.Config, store.Store) error { return p.print("the schema is up to date\n") })
		},
	}
	return group("migrate", "The store's schema", up, status)
}

func (p *program) migrateStatus(ctx context.Context, asJSON bool) error {
	c, err := p.load()
	if err != nil {
		return err
	}
	found, err := migrationStatus(ctx, c.Store.URL)
	if errors.Is(err, fs.ErrNotExist) {
		return failed(errors.New("there is no store yet: fallproof migrate up creates it"))
	}
	if err != nil {
		return usage(err)
	}
	code := exitOK
	rows := make([][]string, len(found))
	for i, migration := range found {
		word := "applied"
		if !migration.Applied {
			word, code = "pending", exitNo
		}
		rows[i] = []string{migration.Name, word, stamp(migration.AppliedAt)}
	}
	if asJSON {
		err = p.printJSON(found)
	} else {
		err = p.table("MIGRATION STATE AT", rows)
	}
	if err != nil {
		return err
	}
	return exit(code)
}
