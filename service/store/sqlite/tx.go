package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/store/sqlcore"
)

// tx spells sqlcore's statements and times as SQLite wants them.
type tx struct {
	*sql.Tx
	insert *river.Client[*sql.Tx]
}

func (t tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.ExecContext(ctx, ordinal(query), spelled(args)...)
	switch {
	case err == nil:
		return result.RowsAffected()
	case insertedNothing(query, err):
		return 0, nil
	}
	return 0, err
}

// insertedNothing tells that a trigger spoke for the conflict that the statement would have passed over: triggers
// come before its ON CONFLICT DO NOTHING is asked.
func insertedNothing(query string, err error) bool {
	switch brokenConstraint(err) {
	case "jobs_one_per_key", "certification_events_one_of_a_kind":
		return strings.HasSuffix(query, "DO NOTHING")
	}
	return false
}

func (t tx) Query(ctx context.Context, query string, args ...any) (sqlcore.Rows, error) {
	found, err := t.QueryContext(ctx, ordinal(query), spelled(args)...) //nolint:rowserrcheck // sqlcore reads them to their end
	if err != nil {
		return nil, err
	}
	return rows{found}, nil
}

// Announce tells nobody: those who wait are in the process that writes, which knows, or look by themselves.
func (t tx) Announce(ctx context.Context, insert string, args ...any) (int64, error) {
	return t.Exec(ctx, insert, args...)
}

func (t tx) Ring(ctx context.Context, args river.JobArgs, opts *river.InsertOpts) error {
	_, err := t.insert.InsertTx(ctx, t.Tx, args, opts)
	return err
}

type rows struct{ *sql.Rows }

func (r rows) Close() { _ = r.Rows.Close() } // a failed read was reported by Err already

var ordinals sync.Map // statement → the same with ?1 for $1; the statements are few and fixed

func ordinal(query string) string {
	if known, ok := ordinals.Load(query); ok {
		return known.(string)
	}
	spelled := strings.ReplaceAll(query, "$", "?")
	ordinals.Store(query, spelled)
	return spelled
}

func spelled(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if moment, ok := arg.(time.Time); ok {
			arg = moment.UTC().Format(timeFormat)
		}
		out[i] = arg
	}
	return out
}
