package postgres_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fallproof/fallproof/service/store/storetest"
	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// copies are the ways of PostgreSQL's own tools to take and restore a backup of one database.
func copies(url string) []storetest.Copy {
	return []storetest.Copy{
		{Tool: "pg_dump and psql", Take: func(tb testing.TB) storetest.Backend {
			tb.Helper()
			dump, restored := filepath.Join(tb.TempDir(), "dump.sql"), pgcluster.Database(tb)
			tool(tb, "pg_dump", "--dbname", url, "--file", dump)
			tool(tb, "psql", "--dbname", restored, "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--single-transaction", "--file", dump)
			return backend(tb, restored)
		}},
		{Tool: "pg_dump and pg_restore", Take: func(tb testing.TB) storetest.Backend {
			tb.Helper()
			dump, restored := filepath.Join(tb.TempDir(), "dump"), pgcluster.Database(tb)
			tool(tb, "pg_dump", "--dbname", url, "--format", "custom", "--file", dump)
			tool(tb, "pg_restore", "--dbname", restored, "--exit-on-error", dump)
			return backend(tb, restored)
		}},
	}
}

func tool(tb testing.TB, name string, args ...string) {
	tb.Helper()
	path, err := pgcluster.Tool(name)
	if err != nil {
		tb.Fatal(err)
	}
	output, err := exec.CommandContext(tb.Context(), path, args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, bytes.TrimSpace(output))
	}
}
