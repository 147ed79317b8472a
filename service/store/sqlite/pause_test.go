package sqlite_test

import (
	"database/sql"
	"database/sql/driver"
	"sync"
	"testing"

	driversqlite "modernc.org/sqlite"
)

// standing is where a transaction stands that pause has stopped. The driver's functions are the process's, so one at
// a time.
var standing struct {
	sync.Mutex
	entered, goOn chan struct{}
}

func init() {
	driversqlite.MustRegisterScalarFunction("stand_still", 0, func(*driversqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		standing.Lock()
		entered, goOn := standing.entered, standing.goOn
		standing.entered = nil // only the first
		standing.Unlock()
		if entered != nil {
			close(entered)
			<-goOn
		}
		return int64(0), nil
	})
}

// pause stops the next transaction that changes a job, by a trigger of the test's own.
func pause(raw *sql.DB) func(testing.TB) (<-chan struct{}, func()) {
	return func(tb testing.TB) (<-chan struct{}, func()) {
		tb.Helper()
		entered, goOn := make(chan struct{}), make(chan struct{})
		standing.Lock()
		standing.entered, standing.goOn = entered, goOn
		standing.Unlock()
		if _, err := raw.ExecContext(tb.Context(),
			"CREATE TRIGGER IF NOT EXISTS stand_still BEFORE UPDATE ON jobs BEGIN SELECT stand_still(); END"); err != nil {
			tb.Fatal(err)
		}
		return entered, sync.OnceFunc(func() { close(goOn) })
	}
}
