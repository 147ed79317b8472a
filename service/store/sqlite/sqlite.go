// Package sqlite is the embedded store: one file, one writer.
//
// It promises durable commits (WAL with synchronous FULL), transactions that take the write lock at
// their beginning, and another try where the file is busy all the same. Statements stand in sqlcore.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fallproof/fallproof/migrations"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/sqlcore"
)

const (
	readers      = 4
	busyTimeout  = 10 * time.Second
	busyAttempts = 20
	// pollInterval is what a waiting attempt's doorbell may ring late. Every provider's queue is polled, each
	// time in a transaction of its own: at 30 ms a dozen providers cost a fifth of a core of an idle service.
	pollInterval = 100 * time.Millisecond
	// timeFormat sorts as time runs: fixed width, UTC.
	timeFormat = "2006-01-02T15:04:05.000000Z"
)

// Open opens or creates the file that url names ("sqlite:PATH" or a plain path) and migrates it.
func Open(ctx context.Context, url string) (store.Store, error) {
	files, err := open(url)
	if err != nil {
		return nil, err
	}
	if err := migrations.SQLite(ctx, files.writer); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite %s: %w", files.path, err), files.Close())
	}
	return sqlcore.New(files), nil
}

// Status lists the migrations of the file and which of them were applied; it creates nothing.
func Status(ctx context.Context, url string) (_ []migrations.Status, err error) {
	if _, err := os.Stat(Path(url)); err != nil {
		return nil, err
	}
	files, err := open(url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	return migrations.SQLiteStatus(ctx, files.writer)
}

// Path is the file that a store's url names.
func Path(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, "sqlite:"), "//")
}

// engine is one file, reached by three pools: River's own connection may wait while ours writes.
type engine struct {
	path   string
	writer *sql.DB
	reader *sql.DB
	queue  *sql.DB
	insert *river.Client[*sql.Tx] // only inserts
}

func open(url string) (*engine, error) {
	path := Path(url)
	if path == "" {
		return nil, errors.New("sqlite: the url names no file, e.g. sqlite:fallproof.db")
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("sqlite %s: %w", path, err)
	}
	e := &engine{path: path}
	var err error
	if e.writer, err = pool(path, 1); err != nil {
		return nil, err
	}
	if e.reader, err = pool(path, readers); err != nil {
		return nil, errors.Join(err, e.writer.Close())
	}
	if e.queue, err = pool(path, 1); err != nil {
		return nil, errors.Join(err, e.writer.Close(), e.reader.Close())
	}
	if e.insert, err = river.NewClient(riversqlite.New(e.queue), &river.Config{}); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func pool(path string, size int) (*sql.DB, error) {
	query := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
			"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		},
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// Dialect: one writer needs no row locks.
func (e *engine) Dialect() sqlcore.Dialect {
	return sqlcore.Dialect{Now: "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')"}
}

func (e *engine) Write(ctx context.Context, do func(sqlcore.Tx) error) error {
	return retryBusy(ctx, func() error { return e.inTx(ctx, e.writer, nil, do) })
}

func (e *engine) Read(ctx context.Context, do func(sqlcore.Tx) error) error {
	return retryBusy(ctx, func() error { return e.inTx(ctx, e.reader, &sql.TxOptions{ReadOnly: true}, do) })
}

func (e *engine) inTx(ctx context.Context, db *sql.DB, options *sql.TxOptions, do func(sqlcore.Tx) error) error {
	begun, err := db.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	if err := do(tx{Tx: begun, insert: e.insert}); err != nil {
		return errors.Join(err, ignoreDone(begun.Rollback()))
	}
	return begun.Commit()
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// retryBusy tries again where SQLite was busy in spite of its own waiting: nothing was written then.
func retryBusy(ctx context.Context, do func() error) error {
	var err error
	for range busyAttempts {
		if err = do(); !isBusy(err) || ctx.Err() != nil {
			break
		}
	}
	if isUnavailable(err) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// isUnavailable tells the file's own trouble (busy beyond all patience, disk full or broken, gone) from what
// SQLite said about a statement.
func isUnavailable(err error) bool {
	var broken *driver.Error
	if !errors.As(err, &broken) {
		return errors.Is(err, sql.ErrConnDone)
	}
	switch broken.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return true
	}
	return false
}

func isBusy(err error) bool {
	var broken *driver.Error
	return errors.As(err, &broken) && (broken.Code()&0xff == sqlite3.SQLITE_BUSY || broken.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// BrokenConstraint is what a trigger of ours says first, "other" where SQLite's own constraint spoke.
func (e *engine) BrokenConstraint(err error) string { return brokenConstraint(err) }

func brokenConstraint(err error) string {
	var broken *driver.Error
	if !errors.As(err, &broken) || broken.Code()&0xff != sqlite3.SQLITE_CONSTRAINT {
		return ""
	}
	for _, name := range []string{
		"jobs_one_per_key", "jobs_one_winner", "attempts_one_blocking", "attempts_open_job", "attempts_below_maximum",
		"attempts_proof_standing", "attempts_proof_required", "attempts_sent_once", "certification_events_one_of_a_kind",
	} {
		if strings.Contains(broken.Error(), name) {
			return name
		}
	}
	return "other"
}

// StartQueue polls: SQLite has no notifications.
func (e *engine) StartQueue(ctx context.Context, config *river.Config) (func(context.Context) error, error) {
	settings := *config
	settings.PollOnly = true
	if settings.FetchPollInterval == 0 {
		settings.FetchPollInterval = pollInterval
	}
	if settings.FetchCooldown == 0 {
		settings.FetchCooldown = 5 * time.Millisecond
	}
	client, err := river.NewClient(riversqlite.New(e.queue), &settings)
	if err != nil {
		return nil, err
	}
	return client.Stop, client.Start(ctx)
}

// Watch has nothing to tell: one process serves the file, and what it changes it knows.
func (e *engine) Watch(ctx context.Context, watcher store.Watcher) {
	watcher.State(nil)
	<-ctx.Done()
}

func (e *engine) Ping(ctx context.Context) error { return e.reader.PingContext(ctx) }

func (e *engine) Close() error {
	return errors.Join(e.queue.Close(), e.reader.Close(), e.writer.Close())
}
