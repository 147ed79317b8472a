// Package postgres is the store of one or many equal replicas.
//
// It promises read-committed transactions in which sqlcore's row locks decide, and another try where
// PostgreSQL itself gave a transaction up (deadlock, serialisation). Statements stand in sqlcore.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/fallproof/fallproof/migrations"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/sqlcore"
)

const (
	connectionsPerCore = 6 // 4–8 were measured best; more made it slower
	minConnections     = 8
	abortedAttempts    = 10
)

// Open connects to the database that url names and migrates it.
func Open(ctx context.Context, url string) (store.Store, error) {
	pool, insert, err := prepare(ctx, url)
	if err != nil {
		return nil, err
	}
	return sqlcore.New(newEngine(pool, insert)), nil
}

func prepare(ctx context.Context, url string) (*pgxpool.Pool, *river.Client[pgx.Tx], error) {
	pool, err := connect(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	if err := migrations.Postgres(ctx, pool); err != nil {
		pool.Close()
		return nil, nil, fmt.Errorf("postgres: %w", err)
	}
	insert, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return pool, insert, nil
}

// Status lists the migrations of the database and which of them were applied.
func Status(ctx context.Context, url string) ([]migrations.Status, error) {
	pool, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	return migrations.PostgresStatus(ctx, pool)
}

func connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err) // pgx redacts the password
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = int32(max(minConnections, connectionsPerCore*runtime.GOMAXPROCS(0)))
	}
	config.ConnConfig.RuntimeParams["application_name"] = "fallproof"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return pool, nil
}

type engine struct {
	pool   *pgxpool.Pool
	insert *river.Client[pgx.Tx] // only inserts
	ears   ears
}

func newEngine(pool *pgxpool.Pool, insert *river.Client[pgx.Tx]) *engine {
	return &engine{pool: pool, insert: insert, ears: newEars(pool)}
}

// Dialect: the clock that goes on inside a transaction, since a decision may have waited for its lock.
func (e *engine) Dialect() sqlcore.Dialect {
	return sqlcore.Dialect{
		Now: "clock_timestamp()", ForUpdate: " FOR UPDATE", ForShare: " FOR SHARE", SkipLocked: " FOR UPDATE SKIP LOCKED",
		// Row locks alone let new sharers overtake a waiting updater; the queue of table locks is fair, and
		// FOR SHARE stands in it.
		LockProofs: "LOCK TABLE proofs IN EXCLUSIVE MODE",
	}
}

func (e *engine) Write(ctx context.Context, do func(sqlcore.Tx) error) error {
	var err error
	for range abortedAttempts {
		err = pgx.BeginFunc(ctx, e.pool, func(begun pgx.Tx) error { return do(tx{begun: begun, insert: e.insert}) })
		if !wasAborted(err) || ctx.Err() != nil {
			break
		}
	}
	return e.told(err)
}

func (e *engine) Read(ctx context.Context, do func(sqlcore.Tx) error) error {
	options := pgx.TxOptions{AccessMode: pgx.ReadOnly, IsoLevel: pgx.RepeatableRead}
	return e.told(pgx.BeginTxFunc(ctx, e.pool, options, func(begun pgx.Tx) error { return do(tx{begun: begun, insert: e.insert}) }))
}

// told says of an error that came of the connection that it did. The pool's other connections may be as
// dead as that one: they are made anew, lest every one of them costs somebody a try.
func (e *engine) told(err error) error {
	if !isUnavailable(err) {
		return err
	}
	e.pool.Reset()
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// wasAborted: PostgreSQL rolled the transaction back and says that it may be tried again.
func wasAborted(err error) bool {
	var broken *pgconn.PgError
	return errors.As(err, &broken) && (broken.Code == "40001" || broken.Code == "40P01")
}

// BrokenConstraint: integrity violations are SQLSTATE class 23 and carry the constraint's name.
func (e *engine) BrokenConstraint(err error) string {
	var broken *pgconn.PgError
	if !errors.As(err, &broken) || !strings.HasPrefix(broken.Code, "23") {
		return ""
	}
	if broken.ConstraintName == "" {
		return "other"
	}
	return broken.ConstraintName
}

// StartQueue listens for new jobs and polls under it for those whose notification was lost; it only polls
// where a pooler swallows notifications.
func (e *engine) StartQueue(ctx context.Context, config *river.Config) (func(context.Context) error, error) {
	settings := *config
	if settings.FetchPollInterval == 0 {
		settings.FetchPollInterval = time.Second
	}
	if settings.FetchCooldown == 0 {
		settings.FetchCooldown = 5 * time.Millisecond
	}
	settings.PollOnly = settings.PollOnly || e.ears.deaf(ctx)
	client, err := river.NewClient(riverpgxv5.New(e.pool), &settings)
	if err != nil {
		return nil, err
	}
	err = client.Start(ctx)
	if err != nil && strings.Contains(err.Error(), "prepared statement") {
		err = fmt.Errorf("%w; behind a pooler in transaction mode add default_query_exec_mode=cache_describe to the URL", err)
	}
	return client.Stop, err
}

// Watch listens on a connection of its own.
func (e *engine) Watch(ctx context.Context, watcher store.Watcher) { e.ears.listen(ctx, watcher) }

func (e *engine) Ping(ctx context.Context) error { return e.pool.Ping(ctx) }

func (e *engine) Close() error {
	e.pool.Close()
	return nil
}

// tx is pgx's transaction in sqlcore's words.
type tx struct {
	begun  pgx.Tx
	insert *river.Client[pgx.Tx]
}

func (t tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := t.begun.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (t tx) Query(ctx context.Context, query string, args ...any) (sqlcore.Rows, error) {
	return t.begun.Query(ctx, query, args...) //nolint:sqlclosecheck // sqlcore closes them
}

// Announce: PostgreSQL delivers what one transaction notifies several times over only once, and only if it
// commits. As a part of the statement it costs no round trip.
func (t tx) Announce(ctx context.Context, insert string, args ...any) (int64, error) {
	return t.Exec(ctx, insert+" RETURNING pg_notify('"+jobsChannel+"', job_id)", args...)
}

func (t tx) Ring(ctx context.Context, args river.JobArgs, opts *river.InsertOpts) error {
	_, err := t.insert.InsertTx(ctx, t.begun, args, opts)
	return err
}
