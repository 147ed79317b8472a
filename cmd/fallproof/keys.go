package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/service/api"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
)

func (p *program) keysCommand() *cobra.Command {
	return group("keys", "API keys", p.keysCreateCommand(), p.keysListCommand(), p.keysRevokeCommand())
}

func (p *program) keysCreateCommand() *cobra.Command {
	var owner string
	var scopes []string
	command := &cobra.Command{
		Use: "create", Short: "Make a key; it is printed once and stored only as a hash", Args: cobra.NoArgs,
		Long: "Prints the key alone on stdout. Scopes: client creates, reads and cancels the owner's jobs; operator\n" +
			"resolves, releases and cancels attempts, and revokes certifications.",
		Example: "  fallproof keys create --owner billing\n  KEY=$(fallproof keys create --owner billing --scope client,operator)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOwner(owner); err != nil {
				return err
			}
			wanted, err := checkScopes(scopes)
			if err != nil {
				return err
			}
			return p.withStore(cmd.Context(), nil, func(_ *config.Config, s store.Store) error {
				return p.createKey(cmd.Context(), s, owner, wanted)
			})
		},
	}
	command.Flags().StringVar(&owner, "owner", "", "the tenant that the key belongs to (required)")
	command.Flags().StringSliceVar(&scopes, "scope", []string{store.ScopeClient}, "client, operator, or both")
	return command
}

// checkOwner keeps owners printable and short: they stand in logs, metrics and addresses of pages.
func checkOwner(owner string) error {
	switch {
	case owner == "":
		return usagef("--owner is required: the tenant that the key belongs to")
	case len(owner) > 128 || strings.ContainsFunc(owner, func(r rune) bool { return r <= ' ' || r > '~' }):
		return usagef("--owner: want at most 128 visible ASCII characters without spaces")
	}
	return nil
}

func checkScopes(written []string) ([]string, error) {
	var scopes []string
	for _, scope := range written {
		scope = strings.TrimSpace(scope)
		if scope != store.ScopeClient && scope != store.ScopeOperator {
			return nil, usagef("--scope %q: want client, operator, or both", scope)
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	if len(scopes) == 0 {
		return nil, usagef("--scope: want client, operator, or both")
	}
	return scopes, nil
}

func (p *program) createKey(ctx context.Context, s store.Store, owner string, scopes []string) error {
	id, err := uuid.NewV7()
	if err != nil {
		return failed(err)
	}
	key := api.NewKey()
	record := store.APIKey{ID: id.String(), Owner: owner, Hash: api.HashKey(key), Scopes: scopes}
	if err := s.CreateKey(ctx, record); err != nil {
		return failed(err)
	}
	fmt.Fprintf(p.stderr, "key %s of %s (%s); it is shown this once\n", record.ID, owner, strings.Join(scopes, ", "))
	return p.print(key + "\n")
}

type keyView struct {
	ID        string     `json:"id"`
	Owner     string     `json:"owner"`
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at"`
}

func (p *program) keysListCommand() *cobra.Command {
	var owner string
	var asJSON bool
	command := &cobra.Command{
		Use: "list", Short: "List keys, never the secrets", Args: cobra.NoArgs,
		Example: "  fallproof keys list\n  fallproof keys list --owner billing --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd.Context(), nil, func(_ *config.Config, s store.Store) error {
				return p.listKeys(cmd.Context(), s, owner, asJSON)
			})
		},
	}
	command.Flags().StringVar(&owner, "owner", "", "only this owner's")
	command.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts")
	return command
}

func (p *program) listKeys(ctx context.Context, s store.Store, owner string, asJSON bool) error {
	found, err := s.ListKeys(ctx, owner)
	if err != nil {
		return failed(err)
	}
	views, rows := make([]keyView, len(found)), make([][]string, len(found))
	for i, key := range found {
		views[i] = keyView{ID: key.ID, Owner: key.Owner, Scopes: key.Scopes, CreatedAt: key.CreatedAt}
		if !key.RevokedAt.IsZero() {
			views[i].RevokedAt = &key.RevokedAt
		}
		rows[i] = []string{key.ID, key.Owner, strings.Join(key.Scopes, ","), stamp(key.CreatedAt), stamp(key.RevokedAt)}
	}
	if asJSON {
		return p.printJSON(views)
	}
	return p.table("ID OWNER SCOPES CREATED REVOKED", rows)
}

func (p *program) keysRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a key's use, for good", Args: cobra.ExactArgs(1),
		Example: "  fallproof keys revoke 0197b1c4-0000-7000-8000-000000000000",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withStore(cmd.Context(), nil, func(_ *config.Config, s store.Store) error {
				err := s.RevokeKey(cmd.Context(), args[0])
				if errors.Is(err, store.ErrNotFound) {
					return failed(fmt.Errorf("no key has the id %q", args[0]))
				}
				if err != nil {
					return failed(err)
				}
				return p.print("key " + args[0] + " is revoked\n")
			})
		},
	}
}
