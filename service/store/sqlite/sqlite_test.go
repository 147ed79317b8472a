package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/fallproof/fallproof/service/store/sqlite"
	"github.com/fallproof/fallproof/service/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Backend { return backend(tb, filepath.Join(tb.TempDir(), "store.db")) })
}

// backend is the store on a file.
func backend(tb testing.TB, path string) storetest.Backend {
	tb.Helper()
	opened, err := sqlite.Open(tb.Context(), "sqlite:"+path)
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(10000)")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := raw.Close(); err != nil {
			tb.Error(err)
		}
		if err := opened.Close(); err != nil {
			tb.Error(err)
		}
	})
	return storetest.Backend{Store: opened, Raw: raw, Pause: pause(raw), Copies: copies(raw)}
}
