package dispatch_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// retaining is a world whose closed jobs are purged after retention.
func retaining(t *testing.T, retention time.Duration, s settings) *world {
	t.Helper()
	s.Idle = true
	w := newWorld(t, s)
	w.config.Store.Retention = retention
	s.Idle = false
	w.d = w.replica(s)
	return w
}

func (w *world) purged(made store.Made) {
	w.t.Helper()
	w.Eventually(w.ctx, func() error {
		_, err := w.store.Job(w.ctx, owner, made.Job.ID)
		return err
	}).WithTimeout(20 * time.Second).Should(gomega.MatchError(store.ErrPurged))
}

func TestAClosedJobIsPurgedAfterItsRetention(t *testing.T) {
	w := retaining(t, 50*time.Millisecond, settings{})
	submission := w.submission()
	made, err := w.d.Submit(w.ctx, submission)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.purged(made)
	_, err = w.d.Submit(w.ctx, submission)
	w.Expect(err).To(gomega.MatchError(store.ErrPurged))
	other := submission
	other.Input, other.InputText = map[string]any{"message": "hi"}, `{"message": "hi"}`
	_, err = w.d.Submit(w.ctx, other)
	w.Expect(is[*store.KeyConflict](w, err).Purged).To(gomega.BeTrue())
	_, err = w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	w.Expect(err).To(gomega.MatchError(store.ErrPurged))
	_, err = w.d.CancelJob(w.ctx, owner, made.Job.ID, "client")
	w.Expect(err).To(gomega.MatchError(store.ErrPurged))
	_, err = w.d.Resolve(w.ctx, job.Ref{Owner: owner, JobID: made.Job.ID, Number: 1}, dispatch.Resolution{Outcome: dispatch.OutcomeFailed})
	w.Expect(err).To(gomega.MatchError(store.ErrPurged))
	w.Expect(w.sim.Ledger()).To(gomega.HaveLen(1), "nothing is sent again")

	// A deploy that knows the contract no more says the same of the key.
	w.config.Catalog = &contracts.Catalog{}
	deployed := w.replica(settings{Idle: true})
	_, err = deployed.Submit(w.ctx, submission)
	w.Expect(err).To(gomega.MatchError(store.ErrPurged))
	_, err = deployed.Submit(w.ctx, other)
	w.Expect(is[*store.KeyConflict](w, err).Purged).To(gomega.BeTrue())
}

// purges counts the batches that a replica asks for, and answers them.
type purges struct {
	store.Store
	batches []int
	asked   atomic.Int64
	fault   error
}

func (p *purges) Purge(context.Context, time.Duration, int) (int, error) {
	n := int(p.asked.Add(1))
	if n > len(p.batches) {
		return 0, p.fault
	}
	return p.batches[n-1], nil
}

func TestAPurgeEndsWithABatchThatIsNotFull(t *testing.T) {
	counted := &purges{batches: []int{100, 100, 99, 100}}
	retaining(t, time.Hour, settings{Wrap: func(s store.Store) store.Store { counted.Store = s; return counted }})
	gomega.NewWithT(t).Eventually(counted.asked.Load).WithTimeout(20 * time.Second).Should(gomega.BeEquivalentTo(3))
	gomega.NewWithT(t).Consistently(counted.asked.Load).WithTimeout(100 * time.Millisecond).Should(gomega.BeEquivalentTo(3))
}

func TestAPurgeThatFailsIsTriedAtTheNextRing(t *testing.T) {
	counted := &purges{fault: errors.New("the database is away")}
	retaining(t, 20*time.Millisecond, settings{Wrap: func(s store.Store) store.Store { counted.Store = s; return counted }})
	gomega.NewWithT(t).Eventually(counted.asked.Load).WithTimeout(20 * time.Second).Should(gomega.BeNumerically(">", 1))
}

func TestALateAnswerToAPurgedJobChangesNothingAndIsLogged(t *testing.T) {
	w := newWorld(t, settings{Idle: true})
	lines := gbytes.NewBuffer()
	d, err := dispatch.New(dispatch.Options{Store: w.store, Config: w.config, Logger: slog.New(slog.NewTextHandler(lines, nil))})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(d.Start(w.ctx)).To(gomega.Succeed())
	t.Cleanup(func() { w.end(d) })
	w.d = d
	w.behave(alpha, "hold")
	made := w.submit()
	w.heard(alpha, 1)
	_, err = d.CancelJob(w.ctx, owner, made.Job.ID, "client")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.store.Purge(w.ctx, 0, 10)).To(gomega.Equal(1))
	before, err := w.store.Job(w.ctx, owner, made.Job.ID)
	w.Expect(err).To(gomega.MatchError(store.ErrPurged))
	w.release(alpha)
	w.Eventually(w.ctx, lines).WithTimeout(20 * time.Second).Should(gbytes.Say("belongs to a purged job.*" + made.Job.ID + ".*attempt=1.*total_tokens=\\d+"))
	after, err := w.store.Job(w.ctx, owner, made.Job.ID)
	w.Expect(err).To(gomega.MatchError(store.ErrPurged))
	w.Expect(after).To(gomega.Equal(before))
}

func TestADoorbellOfAPurgedJobSaysNothing(t *testing.T) {
	w := newWorld(t, settings{Concurrency: 1, Idle: true})
	w.behave(alpha, "hold")
	first := w.submit()
	w.heard(alpha, 1)
	second := w.submit()
	_, err := w.d.CancelJob(w.ctx, owner, second.Job.ID, "client")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.store.Purge(w.ctx, 0, 10)).To(gomega.Equal(1))
	w.Expect(w.d.AnswerDoorbell(w.ctx, store.TurnArgs{Ref: second.Attempt.Ref, AttemptID: second.Attempt.ID})).To(gomega.Succeed())
	w.release(alpha)
	w.Expect(w.outcome(first).State).To(gomega.Equal(job.JobSucceeded))
	w.Expect(w.sim.Ledger()).To(gomega.HaveLen(1))
}
