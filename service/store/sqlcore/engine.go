// Package sqlcore holds every statement of the store, once, for both engines.
//
// It promises the store's semantics over any [Engine]: what an engine adds is a transaction, its clock,
// its row locks, the names of its broken constraints, and its doorbell. Placeholders are $1, $2 …;
// times travel as time.Time; everything that decides runs under the job's row lock.
package sqlcore

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/store"
)

// Engine is what differs between the databases.
type Engine interface {
	// Write runs do in one transaction that conflicts with no other; it may run do again.
	Write(ctx context.Context, do func(Tx) error) error
	// Read runs do on one consistent snapshot.
	Read(ctx context.Context, do func(Tx) error) error
	Dialect() Dialect
	// BrokenConstraint names the constraint that err reports as violated, "" where it reports none.
	BrokenConstraint(err error) string

	StartQueue(ctx context.Context, config *river.Config) (stop func(context.Context) error, err error)
	// Watch hands over the ids that other processes' transactions announced, as store.Store says.
	Watch(ctx context.Context, watcher store.Watcher)
	Ping(ctx context.Context) error
	Close() error
}

// Dialect is the spelling that differs.
type Dialect struct {
	Now       string // an expression for the database's clock
	ForUpdate string // appended to a SELECT that locks its row until the transaction ends
	ForShare  string
	// SkipLocked is appended to a SELECT that locks rows and leaves out those that another transaction holds.
	SkipLocked string
	// LockProofs is run by whoever is about to move a proof: those that read proofs under ForShare from now
	// on queue behind it, so that a stream of fallbacks cannot keep a revocation waiting. "" where one
	// writer at a time does the same.
	LockProofs string
}

// Tx is one transaction.
type Tx interface {
	Exec(ctx context.Context, query string, args ...any) (rows int64, err error)
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	// Announce is Exec of an INSERT into a table with a column job_id. Where the transaction commits, it tells
	// every process that watches that this job has changed, once; where it does not, nobody hears of it.
	Announce(ctx context.Context, insert string, args ...any) (rows int64, err error)
	// Ring inserts a River job that exists exactly if the transaction commits.
	Ring(ctx context.Context, args river.JobArgs, opts *river.InsertOpts) error
}

// Rows are read to their end and closed by collect.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// Core is a store.Store over an engine.
type Core struct {
	engine    Engine
	contents  digestSet // contract contents that are known to be committed
	certified certifiedSet
}

var _ store.Store = (*Core)(nil)

// New is a store over an engine whose schema is up to date.
func New(engine Engine) *Core { return &Core{engine: engine} }

// StartQueue is the engine's own.
func (c *Core) StartQueue(ctx context.Context, config *river.Config) (func(context.Context) error, error) {
	return c.engine.StartQueue(ctx, config)
}

// Clock is the database's.
func (c *Core) Clock(ctx context.Context) (time.Time, error) {
	return read(ctx, c, func(tx Tx) (time.Time, error) { return c.now(ctx, tx) })
}

// Watch is the engine's own.
func (c *Core) Watch(ctx context.Context, watcher store.Watcher) { c.engine.Watch(ctx, watcher) }

// Ping errs where the database cannot be reached.
func (c *Core) Ping(ctx context.Context) error { return c.engine.Ping(ctx) }

// Close releases every connection.
func (c *Core) Close() error { return c.engine.Close() }

// collect reads every row of a query.
func collect[T any](ctx context.Context, tx Tx, scan func(Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, rows.Err()
}

// one reads the single row of a query, or store.ErrNotFound.
func one[T any](ctx context.Context, tx Tx, scan func(Rows) (T, error), query string, args ...any) (T, error) {
	var none T
	found, err := collect(ctx, tx, scan, query, args...)
	if err != nil {
		return none, err
	}
	if len(found) == 0 {
		return none, store.ErrNotFound
	}
	return found[0], nil
}

// read runs one query on a snapshot.
func read[T any](ctx context.Context, c *Core, do func(Tx) (T, error)) (T, error) {
	var out T
	err := c.engine.Read(ctx, func(tx Tx) (err error) {
		out, err = do(tx)
		return err
	})
	return out, err
}

// write runs one change in a transaction.
func write[T any](ctx context.Context, c *Core, do func(Tx) (T, error)) (T, error) {
	var out T
	err := c.engine.Write(ctx, func(tx Tx) (err error) {
		out, err = do(tx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// now is the database's clock.
func (c *Core) now(ctx context.Context, tx Tx) (time.Time, error) {
	return one(ctx, tx, func(rows Rows) (time.Time, error) {
		var at stamp
		err := rows.Scan(&at)
		return at.Time, err
	}, "SELECT "+c.engine.Dialect().Now)
}

// stamp scans a nullable time of either engine; NULL is the zero time.
type stamp struct{ time.Time }

// Scan implements sql.Scanner.
func (s *stamp) Scan(source any) error {
	switch value := source.(type) {
	case nil:
		s.Time = time.Time{}
	case time.Time:
		s.Time = value.UTC()
	case string:
		parsed, err := time.Parse(time.RFC3339Nano, value)
		if err != nil {
			return err
		}
		s.Time = parsed.UTC()
	default:
		return fmt.Errorf("a time came as %T", source)
	}
	return nil
}

// at is the argument for a nullable time: the zero time is NULL.
func at(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// text is the argument for a nullable text: "" is NULL.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
