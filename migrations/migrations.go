// Package migrations holds the schema of both engines and brings a database up to it.
//
// It promises that Postgres and SQLite may be called by any number of processes at once, that each
// leaves the database at the newest version or changes nothing, and that River's own tables come along.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// advisoryLock serialises migrating replicas; the number only has to be ours.
const advisoryLock = 4_117_362_118

// Status is one migration and whether it was applied.
type Status struct {
	Name      string    `json:"name"`
	Applied   bool      `json:"applied"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
}

// Postgres migrates the database behind pool, which needs two connections for it. The lock is a
// transaction's, not a session's: a connection pooler in transaction mode hands the next statement to
// another session, and the lock would stay with the first one for good.
func Postgres(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(lock pgx.Tx) error {
		if _, err := lock.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(advisoryLock)); err != nil {
			return err
		}
		return postgresLocked(ctx, pool)
	})
}

func postgresLocked(ctx context.Context, pool *pgxpool.Pool) error {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }() // gives its connection back to the pool
	if err := up(ctx, goose.DialectPostgres, db, "postgres"); err != nil {
		return err
	}
	river, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	_, err = river.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// SQLite migrates the database behind db. SQLite has no lock that outlasts a transaction, so the loser
// of a race between two processes fails, looks again, and finds the work done.
func SQLite(ctx context.Context, db *sql.DB) error {
	var err error
	for range 5 {
		if err = sqliteOnce(ctx, db); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func sqliteOnce(ctx context.Context, db *sql.DB) error {
	if err := up(ctx, goose.DialectSQLite3, db, "sqlite"); err != nil {
		return err
	}
	river, err := rivermigrate.New(riversqlite.New(db), nil)
	if err != nil {
		return err
	}
	_, err = river.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// PostgresStatus lists the migrations of this binary and which of them were applied.
func PostgresStatus(ctx context.Context, pool *pgxpool.Pool) ([]Status, error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }() // gives its connection back to the pool
	return status(ctx, goose.DialectPostgres, db, "postgres")
}

// SQLiteStatus does the same for SQLite.
func SQLiteStatus(ctx context.Context, db *sql.DB) ([]Status, error) {
	return status(ctx, goose.DialectSQLite3, db, "sqlite")
}

func up(ctx context.Context, dialect goose.Dialect, db *sql.DB, folder string) error {
	provider, err := provider(dialect, db, folder)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

func status(ctx context.Context, dialect goose.Dialect, db *sql.DB, folder string) ([]Status, error) {
	provider, err := provider(dialect, db, folder)
	if err != nil {
		return nil, err
	}
	found, err := provider.Status(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Status, 0, len(found))
	for _, migration := range found {
		out = append(out, Status{
			Name:      migration.Source.Path,
			Applied:   migration.State == goose.StateApplied,
			AppliedAt: migration.AppliedAt,
		})
	}
	return out, nil
}

func provider(dialect goose.Dialect, db *sql.DB, folder string) (*goose.Provider, error) {
	sub, err := fs.Sub(files, folder)
	if err != nil {
		return nil, fmt.Errorf("migrations of %s: %w", folder, err)
	}
	return goose.NewProvider(dialect, db, sub)
}
