package sqlcore

import (
	"context"
	"strings"

	"github.com/fallproof/fallproof/service/store"
)

const keyColumns = "id, owner_id, hash, scopes, created_at, revoked_at"

func scanKey(rows Rows) (store.APIKey, error) {
	var (
		key              store.APIKey
		scopes           string
		created, revoked stamp
	)
	err := rows.Scan(&key.ID, &key.Owner, &key.Hash, &scopes, &created, &revoked)
	key.Scopes = strings.Split(scopes, ",")
	key.CreatedAt, key.RevokedAt = created.Time, revoked.Time
	return key, err
}

// CreateKey implements store.Keys.
func (c *Core) CreateKey(ctx context.Context, key store.APIKey) error {
	return c.engine.Write(ctx, func(tx Tx) error {
		now, err := c.now(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO api_keys (id, owner_id, hash, scopes, created_at) VALUES ($1, $2, $3, $4, $5)",
			key.ID, key.Owner, key.Hash, strings.Join(key.Scopes, ","), at(now))
		return err
	})
}

// KeyByHash implements store.Keys.
func (c *Core) KeyByHash(ctx context.Context, hash string) (store.APIKey, error) {
	return read(ctx, c, func(tx Tx) (store.APIKey, error) {
		return one(ctx, tx, scanKey, "SELECT "+keyColumns+" FROM api_keys WHERE hash = $1 AND revoked_at IS NULL", hash)
	})
}

// ListKeys implements store.Keys. Every owner's where owner is "".
func (c *Core) ListKeys(ctx context.Context, owner string) ([]store.APIKey, error) {
	return read(ctx, c, func(tx Tx) ([]store.APIKey, error) {
		return collect(ctx, tx, scanKey, "SELECT "+keyColumns+" FROM api_keys WHERE owner_id = $1 OR $1 = '' ORDER BY owner_id, id", owner)
	})
}

// RevokeKey implements store.Keys.
func (c *Core) RevokeKey(ctx context.Context, id string) error {
	return c.engine.Write(ctx, func(tx Tx) error {
		now, err := c.now(ctx, tx)
		if err != nil {
			return err
		}
		rows, err := tx.Exec(ctx, "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1", id, at(now))
		if err == nil && rows == 0 {
			return store.ErrNotFound
		}
		return err
	})
}
