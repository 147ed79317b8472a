package storetest

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var watching = []behaviour{
	{"every transaction that changes a job is told once, with the job's id alone, and only if it commits", changesAreTold},
	{"a history is read from behind any of its events, and says when it is over", historyGoesOn},
	{"a failed job's history is not over while an attempt of it may still be heard", releasedIsNotOver},
}

// watch starts watching and returns what is told, once it is.
func (w *world) watch() <-chan string {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.ctx)
	told, states, ended := make(chan string, 1000), make(chan error, 10), make(chan struct{})
	go func() {
		defer close(ended)
		w.Store.Watch(ctx, store.Watcher{
			Changed: func(jobID string) { told <- jobID },
			State:   func(err error) { states <- err },
		})
	}()
	w.t.Cleanup(func() {
		stop()
		<-ended
	})
	if w.Unheard {
		w.Eventually(states).WithTimeout(20 * time.Second).Should(Receive(HaveOccurred()))
		return told
	}
	w.Eventually(states).WithTimeout(20 * time.Second).Should(Receive(BeNil()))
	if w.Postgres {
		w.Eventually(told).WithTimeout(20*time.Second).Should(Receive(BeEmpty()), "whatever was told before went unheard")
	}
	return told
}

func changesAreTold(w *world) {
	told := w.watch()
	quiet, won, cancelled := w.create(), w.create(), w.create()
	_, err := w.Store.Apply(w.ctx, failure(quiet.Attempt.Ref, decide(func(store.View) store.Step {
		bad := running(primary, "")
		bad.Role = "nobody" // the database refuses the next attempt, and with it the whole transaction
		return store.Step{Attempt: bad}
	})))
	w.Expect(err).To(HaveOccurred())
	w.apply(answer(won.Attempt.Ref, `1`)) // writes two events
	_, err = w.Store.CancelJob(w.ctx, "acme", cancelled.Job.ID, "test")
	w.Expect(err).NotTo(HaveOccurred())
	w.apply(answer(quiet.Attempt.Ref, `1`))
	if !w.Postgres || w.Unheard { // on SQLite, who waits is in the process that writes
		w.Expect(told).To(BeEmpty())
		return
	}
	for _, id := range []string{won.Job.ID, cancelled.Job.ID, quiet.Job.ID} {
		var next string
		w.Eventually(told).WithTimeout(20 * time.Second).Should(Receive(&next))
		w.Expect(next).To(Equal(id))
	}
	w.Expect(told).To(BeEmpty())
}

func historyGoesOn(w *world) {
	made := w.create()
	read := func(after int64) store.History {
		history, err := w.Store.Events(w.ctx, "acme", made.Job.ID, after)
		w.Expect(err).NotTo(HaveOccurred())
		return history
	}
	begun := read(0)
	w.Expect(begun.Over).To(BeFalse())
	last := begun.Events[len(begun.Events)-1].Seq
	w.Expect(read(last).Events).To(BeEmpty())
	w.Expect(read(last - 1).Events).To(Equal(begun.Events[len(begun.Events)-1:]))
	w.apply(answer(made.Attempt.Ref, `1`))
	ended := read(last)
	w.Expect(ended.Over).To(BeTrue())
	w.Expect(append(begun.Events, ended.Events...)).To(Equal(read(0).Events))
	w.Expect(read(1 << 40)).To(Equal(store.History{Over: true}))
}

func releasedIsNotOver(w *world) {
	over := func(made store.Made) bool {
		history, err := w.Store.Events(w.ctx, made.Job.Owner, made.Job.ID, 0)
		w.Expect(err).NotTo(HaveOccurred())
		return history.Over
	}
	raced := w.attemptIn(job.Released)
	w.Expect(over(raced)).To(BeFalse())
	second, err := w.Store.AddAttempt(w.ctx, manual(raced, fresh("key"), ""))
	w.Expect(err).NotTo(HaveOccurred())
	w.apply(answer(second.Attempt.Ref, `2`))
	w.Expect(w.job(raced).State).To(Equal(job.JobSucceeded))
	w.Expect(over(raced)).To(BeFalse(), "the released one is still heard")
	w.apply(answer(raced.Attempt.Ref, `1`))
	w.Expect(over(raced)).To(BeTrue())

	given := w.attemptIn(job.Released)
	w.apply(store.Change{Ref: given.Attempt.Ref, Event: job.EventUnheard, Reason: "give_up", Decision: stop()})
	w.Expect(w.job(given).State).To(Equal(job.JobFailed))
	w.Expect(over(given)).To(BeTrue())
}

// WaitingAttempt makes a job whose attempt waits for its turn in a queue.
func WaitingAttempt(t testing.TB, s store.Store, queue string) job.Ref {
	t.Helper()
	g := NewGomega(func(message string, _ ...int) { t.Fatal(message) })
	attempt := waiting(primary, 0)
	attempt.Queue = queue
	made, err := s.CreateJob(context.WithoutCancel(t.Context()), createOf(newJob("acme"), decide(func(store.View) store.Step { return store.Step{Attempt: attempt} })))
	g.Expect(err).NotTo(HaveOccurred())
	return made.Attempt.Ref
}
