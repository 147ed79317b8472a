package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	driversqlite "modernc.org/sqlite"

	"github.com/fallproof/fallproof/service/store/storetest"
)

// copies are SQLite's own ways to take a backup of a database in use: the statement, and the interface that the
// shell's .backup uses.
func copies(raw *sql.DB) []storetest.Copy {
	return []storetest.Copy{
		{Tool: "VACUUM INTO", Take: func(tb testing.TB) storetest.Backend {
			tb.Helper()
			path := filepath.Join(tb.TempDir(), "vacuumed.db")
			if _, err := raw.ExecContext(tb.Context(), "VACUUM INTO ?", path); err != nil {
				tb.Fatal(err)
			}
			return backend(tb, path)
		}},
		{Tool: "the online backup", Take: func(tb testing.TB) storetest.Backend {
			tb.Helper()
			path := filepath.Join(tb.TempDir(), "backup.db")
			if err := onlineBackup(tb, raw, path); err != nil {
				tb.Fatal(err)
			}
			return backend(tb, path)
		}},
	}
}

func onlineBackup(tb testing.TB, raw *sql.DB, path string) error {
	tb.Helper()
	connection, err := raw.Conn(tb.Context())
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }() // it goes back to the pool
	return connection.Raw(func(opened any) error {
		backup, err := opened.(interface {
			NewBackup(to string) (*driversqlite.Backup, error)
		}).NewBackup(path)
		if err != nil {
			return err
		}
		for more := true; more; {
			if more, err = backup.Step(-1); err != nil {
				return err
			}
		}
		return backup.Finish()
	})
}
