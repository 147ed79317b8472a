package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/onsi/gomega"
	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/postgres"
	"github.com/fallproof/fallproof/service/store/storetest"
	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// TestStoreBehindPgBouncer is the suite through a pooler in transaction mode, where each transaction may
// meet another session: no statement is prepared by name there, no lock is a session's, nobody is notified.
func TestStoreBehindPgBouncer(t *testing.T) {
	pooler := pgcluster.Pooler(t)
	through := func(url string) string { return pooler(url) + "&default_query_exec_mode=cache_describe" }

	t.Run("it says that nobody is notified, and says it again", func(t *testing.T) {
		direct := migrated(t)
		w := watch(t, direct, through(direct))
		for range 2 {
			var why error
			w.Eventually(w.states).WithTimeout(patience).Should(gomega.Receive(&why))
			w.Expect(why).To(gomega.MatchError(gomega.ContainSubstring("pooler in transaction mode")))
		}
		w.Expect(w.told).To(gomega.BeEmpty())
	})
	t.Run("it migrates, and answers doorbells by polling", func(t *testing.T) { answersDoorbells(t, through(pgcluster.Database(t))) })
	storetest.Run(t, func(tb testing.TB) storetest.Backend {
		direct := migrated(tb)
		opened, err := postgres.Hasty(tb.Context(), through(direct))
		if err != nil {
			tb.Fatal(err)
		}
		raw, err := sql.Open("pgx", direct)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := errors.Join(raw.Close(), opened.Close()); err != nil {
				tb.Error(err)
			}
		})
		return storetest.Backend{Store: opened, Raw: raw, Postgres: true, Unheard: true, Pause: pause(raw), Copies: copies(direct)}
	})
}

// bell is a worker that says which doorbell rang.
type bell struct {
	river.WorkerDefaults[store.TurnArgs]
	rung chan store.TurnArgs
}

func (b *bell) Work(_ context.Context, rung *river.Job[store.TurnArgs]) error {
	b.rung <- rung.Args
	return nil
}

// answersDoorbells has a waiting attempt's doorbell answered.
func answersDoorbells(t *testing.T, url string) {
	t.Helper()
	g := gomega.NewWithT(t)
	ctx := context.WithoutCancel(t.Context())
	opened, err := postgres.Hasty(ctx, url)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	workers, b := river.NewWorkers(), &bell{rung: make(chan store.TurnArgs, 10)}
	river.AddWorker(workers, b)
	const queue = "provider_alpha"
	stop, err := opened.StartQueue(ctx, &river.Config{
		Queues: map[string]river.QueueConfig{queue: {MaxWorkers: 2}}, Workers: workers, MaxAttempts: 1,
	})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	wanted := storetest.WaitingAttempt(t, opened, queue)
	var rung store.TurnArgs
	g.Eventually(b.rung).WithTimeout(patience).Should(gomega.Receive(&rung))
	g.Expect(rung.Ref).To(gomega.Equal(wanted))
	g.Expect(errors.Join(stop(ctx), opened.Close())).To(gomega.Succeed())
}
