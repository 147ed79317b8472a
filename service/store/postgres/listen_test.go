package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/onsi/gomega"
	"go.uber.org/goleak"

	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/postgres"
)

const patience = 20 * time.Second

// watched is a store that watches until the test ends, and what it says.
type watched struct {
	*gomega.WithT
	states <-chan error
	told   <-chan string
	raw    *pgx.Conn
}

// watch opens the database at url through via, which is url itself or an address in front of it.
func watch(t *testing.T, url, via string) *watched {
	t.Helper()
	g := gomega.NewWithT(t)
	before := goleak.IgnoreCurrent()
	opened, err := postgres.Hasty(t.Context(), via)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	raw, err := pgx.Connect(ctx, url)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	states, told, ended := make(chan error, 1000), make(chan string, 1000), make(chan struct{})
	go func() {
		defer close(ended)
		opened.Watch(ctx, store.Watcher{
			Changed: func(jobID string) { told <- jobID },
			State:   func(err error) { states <- err },
		})
	}()
	t.Cleanup(func() {
		g.Expect(raw.Close(ctx)).To(gomega.Succeed())
		stop()
		<-ended
		g.Expect(opened.Close()).To(gomega.Succeed())
		g.Eventually(func() error { return goleak.Find(before) }).Should(gomega.Succeed())
	})
	return &watched{WithT: g, states: states, told: told, raw: raw}
}

// hears waits until changes are told, and expects that everything is looked at then.
func (w *watched) hears() {
	w.Eventually(w.states).WithTimeout(patience).Should(gomega.Receive(gomega.BeNil()))
	w.Eventually(w.told).WithTimeout(patience).Should(gomega.Receive(gomega.BeEmpty()))
}

func (w *watched) notify(ctx context.Context, id string) {
	_, err := w.raw.Exec(ctx, "SELECT pg_notify('fallproof_jobs', $1)", id)
	w.Expect(err).NotTo(gomega.HaveOccurred())
}

func (w *watched) hearsOf(id string) {
	w.Eventually(w.told).WithTimeout(patience).Should(gomega.Receive(gomega.Equal(id)))
}

func TestAListenerThatIsCutOffListensAnew(t *testing.T) {
	url := migrated(t)
	w := watch(t, url, url)
	w.hears()
	w.notify(t.Context(), "one")
	w.hearsOf("one")

	var ended int
	w.Expect(w.raw.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = 'fallproof listen' AND datname = current_database()`).Scan(&ended)).To(gomega.Succeed())
	w.Expect(ended).To(gomega.Equal(1), "one connection listens")
	var broken error
	w.Eventually(w.states).WithTimeout(patience).Should(gomega.Receive(&broken))
	w.Expect(broken).To(gomega.MatchError(gomega.ContainSubstring("terminating connection")))
	w.hears()
	w.notify(t.Context(), "two")
	w.hearsOf("two")
}

func TestALostListenIsNoticedAlthoughNothingBreaks(t *testing.T) {
	url := migrated(t)
	between := filterNotifications(t, url)
	w := watch(t, url, between.url)
	w.hears()
	between.swallow.Store(true)
	var why error
	w.Eventually(w.states).WithTimeout(patience).Should(gomega.Receive(&why))
	w.Expect(why).To(gomega.MatchError(gomega.ContainSubstring("do not arrive")))
	w.notify(t.Context(), "unheard")
	between.swallow.Store(false)
	w.hears()
	w.notify(t.Context(), "heard")
	w.hearsOf("heard")
}

func TestListeningBeginsWhenTheDatabaseIsBack(t *testing.T) {
	address := migrated(t)
	between := filterNotifications(t, address)
	w := watch(t, address, between.url)
	w.hears()
	between.refuse(true)
	var why error
	w.Eventually(w.states).WithTimeout(patience).Should(gomega.Receive(&why))
	w.Expect(why).To(gomega.HaveOccurred())
	w.Eventually(w.states).WithTimeout(patience).Should(gomega.Receive(gomega.Not(gomega.BeNil())), "it tries again and again")
	between.refuse(false)
	w.Eventually(w.told).WithTimeout(patience).Should(gomega.Receive(gomega.BeEmpty()))
}

// socket is where a database of the test's cluster listens.
func socket(address string) (network, at string, err error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", "", err
	}
	if folder := parsed.Query().Get("host"); folder != "" {
		return "unix", folder + "/.s.PGSQL.5432", nil
	}
	if parsed.Port() == "" {
		return "", "", errors.New("the server's URL names no port")
	}
	return "tcp", parsed.Host, nil
}
