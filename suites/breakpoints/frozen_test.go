package breakpoints

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	_ "modernc.org/sqlite" // the driver
)

// frozen is a deployment of two replicas, of which one stops in the middle for longer than its lease, and
// then goes on as if nothing had been.
func frozen(on engine) func(context.Context) {
	return func(ctx context.Context) {
		g := &stage{}
		g.prepare(on, strings.Replace(lostConfig, "queue_timeout: 20s", "queue_timeout: 2m", 1), "alpha-large", "beta-medium", "hasty-large", "narrow-large")
		g.contract(contract)
		g.certify(pair{contract, fallback, 0})
		g.Contract, g.Primary, g.Fallback = contract, primary, fallback
		s := &scene{Deployment: &g.Deployment}
		s.begin(ctx)
		g.Key = g.makeKey("acme", "client,operator")
		first := g.hasty()
		g.URL = address(first)
		for _, target := range []string{primary, narrow} {
			Expect(g.control().behave(ctx, target, "hold")).To(Succeed())
		}
		answers, races := s.newJob(ctx, ""), s.newJob(ctx, "")
		awaited, raced := s.arrives(ctx, answers.ID, 1), s.arrives(ctx, races.ID, 1)
		holder := s.newJob(ctx, narrow)
		held := s.arrives(ctx, holder.ID, 1)
		queued := s.newJob(ctx, narrow)
		Expect(s.attempt(ctx, queued.ID, 1).State).To(Equal("starting"))

		By("freezing it: another one finds its attempts in doubt, and sends nothing again")
		second := g.hasty()
		g.URL = address(second)
		g.freeze(ctx, first)
		for _, each := range []jobView{answers, races, holder} {
			Expect(s.attemptBecomes(ctx, each.ID, 1, "unknown").why()).To(Equal("worker_lost"))
		}
		Expect(s.end(ctx, races.ID, 1, "release", "").Status).To(Equal(http.StatusOK))
		s.wonByFallback(ctx, races.ID)

		By("running elsewhere what had only waited there")
		elsewhere := s.arrives(ctx, queued.ID, 1)
		s.letGo(ctx, elsewhere.ID)
		s.becomes(ctx, queued.ID, "succeeded")
		Expect(s.attempts(ctx, queued.ID)).To(HaveLen(1))

		By("waking it: what it still hears goes through the same compare-and-swap")
		s.letGo(ctx, awaited.ID) // the answer waits in its socket
		first.Signal(syscall.SIGCONT)
		done := s.becomes(ctx, answers.ID, "succeeded")
		Expect(*done.CompletedBy).To(Equal(1))
		Expect(s.attempts(ctx, answers.ID)).To(HaveLen(1))
		s.letGo(ctx, raced.ID)
		s.attemptBecomes(ctx, races.ID, 1, "superseded")

		Expect(s.end(ctx, holder.ID, 1, "cancel", "").Status).To(Equal(http.StatusOK))
		s.letGo(ctx, held.ID) // somebody still listens to it
		s.expectOneWinner(ctx)
		s.expectLedgerEqualsAttempts(ctx)
		for _, each := range []*gexec.Session{first, second} {
			Eventually(each.Signal(syscall.SIGTERM)).WithTimeout(patience).WithPolling(poll).Should(gexec.Exit(0))
		}
	}
}

// freeze stops a replica in the middle. One that is stopped while it writes to an SQLite file holds the file's
// lock for as long, and nobody else can do anything: such a moment is not what the spec is about.
func (g *stage) freeze(ctx context.Context, replica *gexec.Session) {
	GinkgoHelper()
	Eventually(func() error {
		replica.Signal(syscall.SIGSTOP)
		err := g.writable(ctx)
		if err != nil {
			replica.Signal(syscall.SIGCONT)
		}
		return err
	}).WithTimeout(patience).WithPolling(poll).Should(Succeed())
}

// writable asks whether somebody else may write to the database.
func (g *stage) writable(ctx context.Context) error {
	path, isFile := strings.CutPrefix(g.store, "sqlite:")
	if !isFile {
		return nil
	}
	file, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(300)")
	if err != nil {
		return err
	}
	tx, err := file.BeginTx(ctx, nil)
	if err == nil {
		err = tx.Rollback()
	}
	return errors.Join(err, file.Close())
}

// hasty starts a replica that notices a lost one soon.
func (g *stage) hasty() *gexec.Session {
	GinkgoHelper()
	return g.run("serve", "--lease", "2s", "--renew", "500ms", "--sweep", "500ms")
}
