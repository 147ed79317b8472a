package postgres_test

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the raw side of the suite

	"github.com/fallproof/fallproof/service/store/postgres"
	"github.com/fallproof/fallproof/service/store/storetest"
	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

func TestMain(m *testing.M) { pgcluster.Main(m) }

// migrated copies a database that was migrated once.
var migrated = pgcluster.Template(func(url string) error {
	opened, err := postgres.Open(context.Background(), url)
	if err != nil {
		return err
	}
	return opened.Close()
})

func TestStore(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Backend { return backend(tb, migrated(tb)) })
}

// backend is the store on the database that url names.
func backend(tb testing.TB, url string) storetest.Backend {
	tb.Helper()
	opened, err := postgres.Open(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := sql.Open("pgx", url)
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
	return storetest.Backend{Store: opened, Raw: raw, Postgres: true, Pause: pause(raw), Copies: copies(url)}
}
