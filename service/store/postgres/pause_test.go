package postgres_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
)

// pause stops the next transaction that changes a job, by a trigger of the test's own that asks for a lock
// which the test holds.
func pause(raw *sql.DB) func(testing.TB) (<-chan struct{}, func()) {
	return func(tb testing.TB) (<-chan struct{}, func()) {
		tb.Helper()
		ctx := context.WithoutCancel(tb.Context())
		holder, err := raw.Conn(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		for _, statement := range []string{
			"SELECT pg_advisory_lock(7)",
			`CREATE OR REPLACE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END $$`,
			"CREATE OR REPLACE TRIGGER stand_still BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION stand_still()",
		} {
			if _, err := holder.ExecContext(ctx, statement); err != nil {
				tb.Fatal(err)
			}
		}
		entered := make(chan struct{})
		go func() {
			defer close(entered)
			for n := 0; n == 0; {
				if err := raw.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity
					WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`).Scan(&n); err != nil {
					return // the database is gone, and with it the test
				}
			}
		}()
		return entered, sync.OnceFunc(func() {
			if _, err := holder.ExecContext(ctx, "SELECT pg_advisory_unlock(7)"); err != nil {
				tb.Error(err)
			}
			_ = holder.Close() // it goes back to the pool
		})
	}
}
