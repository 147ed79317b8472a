package store

import (
	"context"
	"time"
)

// Keys keeps API keys, hashed.
type Keys interface {
	// CreateKey stores a key's hash. The key itself never reaches the store.
	CreateKey(ctx context.Context, key APIKey) error
	// KeyByHash finds an unrevoked key. ErrNotFound.
	KeyByHash(ctx context.Context, hash string) (APIKey, error)
	ListKeys(ctx context.Context, owner string) ([]APIKey, error)
	// RevokeKey ends a key's use. Repeating it changes nothing. ErrNotFound.
	RevokeKey(ctx context.Context, id string) error
}

// APIKey is a tenant's credential without its secret.
type APIKey struct {
	ID        string
	Owner     string
	Hash      string // SHA-256 of the key, hex
	Scopes    []string
	CreatedAt time.Time
	RevokedAt time.Time // zero = not revoked
}

// Scopes of a key.
const (
	ScopeClient   = "client"   // create, read and cancel the owner's jobs
	ScopeOperator = "operator" // resolve, release and cancel attempts; revoke certifications
)
