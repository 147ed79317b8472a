package dispatch_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// watched notes what a dispatcher asks of its store.
type watched struct {
	store.Store
	queue     *river.Config
	unbounded atomic.Int64 // reads of a job without an end
	longest   atomic.Int64 // time that a change of an attempt was given
}

func (w *watched) StartQueue(ctx context.Context, config *river.Config) (func(context.Context) error, error) {
	w.queue = config
	return w.Store.StartQueue(ctx, config)
}

func (w *watched) Job(ctx context.Context, owner, jobID string) (job.Job, error) {
	if _, ok := ctx.Deadline(); !ok {
		w.unbounded.Add(1)
	}
	return w.Store.Job(ctx, owner, jobID)
}

func (w *watched) Apply(ctx context.Context, change store.Change) (store.Applied, error) {
	if deadline, ok := ctx.Deadline(); ok {
		w.longest.Store(max(w.longest.Load(), int64(time.Until(deadline))))
	}
	return w.Store.Apply(ctx, change)
}

func TestNoCallOfAnOperatorWaitsForeverForTheStore(t *testing.T) {
	seen := &watched{}
	w := newWorld(t, settings{Timeout: "60ms", Wrap: func(real store.Store) store.Store {
		seen.Store = real
		return seen
	}})
	made := w.inDoubt()
	_, err := w.d.Release(context.WithoutCancel(w.ctx), made.Attempt.Ref, "key:operator", "")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(seen.unbounded.Load()).To(gomega.BeZero())
	w.Expect(time.Duration(seen.longest.Load())).To(gomega.And(
		gomega.BeNumerically(">", 0), gomega.BeNumerically("<=", 10*time.Second)), "three tries end before an HTTP answer is due")
}

func TestSQLiteIsNotReindexed(t *testing.T) {
	for url, never := range map[string]bool{"sqlite:jobs.db": true, "postgres://db/jobs": false} {
		t.Run(strings.SplitN(url, ":", 2)[0], func(t *testing.T) {
			seen := &watched{}
			s := settings{Idle: true, Wrap: func(real store.Store) store.Store {
				seen.Store = real
				return seen
			}}
			w := newWorld(t, s)
			w.config.Store.URL = url
			d := w.replica(s)
			w.Expect(d.Start(w.ctx)).To(gomega.Succeed())
			t.Cleanup(func() { w.end(d) })
			w.Expect(seen.queue.ReindexerSchedule != nil).To(gomega.Equal(never))
			if never {
				w.Expect(seen.queue.ReindexerSchedule.Next(time.Now())).To(gomega.BeTemporally(">", time.Now().AddDate(200, 0, 0)))
			}
		})
	}
}
