package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/postgres"
)

// Whatever took the connections away costs one call, which says so; the next one has a new connection.
func TestDeadConnectionsCostOneCall(t *testing.T) {
	g := gomega.NewWithT(t)
	url := migrated(t)
	opened, err := postgres.Open(t.Context(), url)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { g.Expect(opened.Close()).To(gomega.Succeed()) })
	raw, err := pgx.Connect(t.Context(), url)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { g.Expect(raw.Close(t.Context())).To(gomega.Succeed()) })

	// As many connections as simultaneous calls make.
	together := make(chan error, 8)
	for range cap(together) {
		go func() {
			_, err := opened.Clock(t.Context())
			together <- err
		}()
	}
	for range cap(together) {
		g.Expect(<-together).To(gomega.Succeed())
	}
	_, err = raw.Exec(t.Context(), "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = opened.Clock(t.Context())
	g.Expect(err).To(gomega.Or(gomega.BeNil(), gomega.MatchError(store.ErrUnavailable)), "the pool itself finds out after a second")
	_, err = opened.Clock(t.Context())
	g.Expect(err).NotTo(gomega.HaveOccurred())
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	g := gomega.NewWithT(t)
	opened, err := postgres.Open(t.Context(), migrated(t))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(opened.Close()).To(gomega.Succeed())
	_, err = opened.Clock(t.Context())
	g.Expect(err).To(gomega.MatchError(store.ErrUnavailable))
}
