package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/postgres"
	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// never is a net that catches nothing within a test.
const never = time.Hour

// onPostgres moves an idle world to a database that tells what changes.
func (w *world) onPostgres() {
	w.t.Helper()
	cluster, err := pgcluster.Open()
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.t.Cleanup(func() { w.Expect(cluster.Stop()).To(gomega.Succeed()) })
	url, drop, err := cluster.NewDatabase(w.t.Name())
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.t.Cleanup(func() { w.Expect(drop()).To(gomega.Succeed()) })
	w.Expect(w.store.Close()).To(gomega.Succeed())
	w.store, err = postgres.Open(w.ctx, url) // closed as the first one would have been
	w.Expect(err).NotTo(gomega.HaveOccurred())
}

// waits has a replica wait for a job's outcome, and returns once it does.
func (w *world) waits(d *dispatch.Dispatcher, made store.Made) <-chan job.Job {
	w.t.Helper()
	done, before := make(chan job.Job, 1), d.Waiting(made.Job.ID)
	go func() {
		if j, err := d.Wait(w.ctx, made.Job.Owner, made.Job.ID); err == nil {
			done <- j
		}
	}()
	w.Eventually(func() int { return d.Waiting(made.Job.ID) }).WithTimeout(20 * time.Second).Should(gomega.Equal(before + 1))
	return done
}

// follows has a replica follow a job to its end, and returns once it knows what there is.
func (w *world) follows(d *dispatch.Dispatcher, made store.Made) <-chan []job.EventRecord {
	w.t.Helper()
	done, before := make(chan []job.EventRecord, 1), d.Waiting(made.Job.ID)
	go func() {
		var all []job.EventRecord
		for after := int64(0); ; after = all[len(all)-1].Seq {
			history, err := d.Follow(w.ctx, made.Job.Owner, made.Job.ID, after)
			if err != nil {
				return
			}
			all = append(all, history.Events...)
			if history.Over {
				done <- all
				return
			}
		}
	}()
	w.Eventually(func() int { return d.Waiting(made.Job.ID) }).WithTimeout(20 * time.Second).Should(gomega.Equal(before + 1))
	return done
}

func (w *world) letGo() {
	w.t.Helper()
	w.Eventually(func() int { return w.sim.Release(simulator.Filter{}) }).WithTimeout(20 * time.Second).Should(gomega.Equal(1))
}

func TestWhatOneReplicaDoesWakesWhoWaitsAtAnother(t *testing.T) {
	w := newWorld(t, settings{Idle: true})
	w.onPostgres()
	w.d = w.replica(settings{Options: dispatch.Options{Net: never}})
	other := w.replica(settings{Options: dispatch.Options{Net: never}})
	w.Eventually(other.Watching).WithTimeout(20 * time.Second).Should(gomega.Succeed())

	w.behave(alpha, "hold")
	made := w.submit()
	outcome, history := w.waits(other, made), w.follows(other, made)
	w.letGo()
	var seen job.Job
	w.Eventually(outcome).WithTimeout(20 * time.Second).Should(gomega.Receive(&seen))
	w.Expect(seen.State).To(gomega.Equal(job.JobSucceeded))
	var told []job.EventRecord
	w.Eventually(history).WithTimeout(20 * time.Second).Should(gomega.Receive(&told))
	whole, err := w.store.Events(w.ctx, owner, made.Job.ID, 0)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(told).To(gomega.Equal(whole.Events), "each event once, in order")
}

func TestWhoIsNotToldLooksForHimself(t *testing.T) {
	w := newWorld(t, settings{})
	other := w.replica(settings{Options: dispatch.Options{Net: 10 * time.Millisecond}}) // SQLite tells nobody
	w.behave(alpha, "hold")
	made := w.submit()
	outcome, history := w.waits(other, made), w.follows(other, made)
	w.letGo()
	w.Eventually(outcome).WithTimeout(20 * time.Second).Should(gomega.Receive(gomega.HaveField("State", job.JobSucceeded)))
	w.Eventually(history).WithTimeout(20 * time.Second).Should(gomega.Receive())
}

// told is a store whose word the test gives.
type told struct {
	store.Store
	watchers chan store.Watcher
}

func (s told) Watch(ctx context.Context, watcher store.Watcher) {
	s.watchers <- watcher
	<-ctx.Done()
}

func TestEverybodyLooksOnceWhenNotificationsAreBack(t *testing.T) {
	watchers := make(chan store.Watcher, 1)
	w := newWorld(t, settings{})
	other := w.replica(settings{
		Options: dispatch.Options{Net: never}, Wrap: func(s store.Store) store.Store { return told{s, watchers} },
	})
	watcher := <-watchers
	w.behave(alpha, "hold")
	one := w.submit()
	outcome := w.waits(other, one)
	w.letGo()
	w.outcome(one)
	watcher.Changed("another job")
	w.Expect(outcome).NotTo(gomega.Receive())
	watcher.Changed("")
	w.Eventually(outcome).WithTimeout(20 * time.Second).Should(gomega.Receive(gomega.HaveField("State", job.JobSucceeded)))
	w.Expect(other.Waiting(one.Job.ID)).To(gomega.BeZero())
}

func TestALostWatchIsSaidAndLoggedOnce(t *testing.T) {
	w := newWorld(t, settings{Idle: true})
	watchers, log := make(chan store.Watcher, 1), &lines{}
	d, err := dispatch.New(dispatch.Options{
		Store: told{w.store, watchers}, Config: w.config, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(d.Start(w.ctx)).To(gomega.Succeed())
	t.Cleanup(func() { w.end(d) })
	watcher := <-watchers
	w.Expect(d.Watching()).To(gomega.HaveOccurred(), "nothing is known yet")
	lost, worse := errors.New("swallowed"), errors.New("refused")
	watcher.State(lost)
	watcher.State(worse)
	watcher.State(worse)
	w.Expect(d.Watching()).To(gomega.Equal(worse))
	w.Expect(log.count("level=WARN")).To(gomega.Equal(1))
	watcher.State(nil)
	watcher.State(nil)
	w.Expect(d.Watching()).To(gomega.Succeed())
	w.Expect(log.count("are told")).To(gomega.Equal(1))
	watcher.State(lost)
	w.Expect(log.count("level=WARN")).To(gomega.Equal(2))
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) count(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.text.Bytes(), []byte(word))
}
