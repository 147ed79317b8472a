package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var races = []behaviour{
	{"of two attempts the first to return wins, the other is superseded and logged", reverseFinish},
	{"a repeated completion after a lost COMMIT answer changes nothing", lostCommitOfCompletion},
	{"a repeated failure after a lost COMMIT answer changes nothing", lostCommitOfFailure},
	{"many completions of racing attempts have one winner", oneWinner},
	{"completion against sweep ends in one terminal event", completionAgainstSweep},
	{"an attempt cannot be inserted under a job that is being completed", insertAgainstCompletion},
	{"a revocation that was acknowledged stops the fallback, whichever came first", revokeAgainstInsert},
	{"a stream of fallbacks cannot keep a revocation waiting", revocationIsFair},
}

// race leaves a job with a released and a running attempt.
func (w *world) race() (made store.Made, second *job.Attempt) {
	w.t.Helper()
	made = w.create()
	w.doubt(made.Attempt.Ref)
	released := w.apply(store.Change{Ref: made.Attempt.Ref, Event: job.EventRelease, Decision: sendAt(primary, "")})
	return made, released.Next
}

func reverseFinish(w *world) {
	made, second := w.race()
	w.apply(answer(second.Ref, `"second"`))
	loser := w.apply(answer(made.Attempt.Ref, `"first"`))
	w.Expect(loser.Attempt.State).To(Equal(job.Superseded))
	stored := w.job(made)
	w.Expect(stored.Result).To(Equal(`"second"`))
	w.Expect(stored.CompletedBy).To(Equal(2))
	w.Expect(w.detail(made, job.HistoryRace)).To(And(
		HaveKeyWithValue("winner", BeEquivalentTo(2)), HaveKeyWithValue("loser", BeEquivalentTo(1)),
		HaveKey("late_by_ms"), HaveKeyWithValue("usage", HaveKeyWithValue("total_tokens", BeEquivalentTo(5)))))
}

func lostCommitOfCompletion(w *world) {
	made := w.create()
	w.apply(answer(made.Attempt.Ref, `"once"`))
	before, history := w.job(made), w.history(made)
	again := w.apply(answer(made.Attempt.Ref, `"once"`))
	w.Expect(again.Moved).To(BeFalse())
	w.Expect(again.Attempt.State).To(Equal(job.Succeeded))
	w.Expect(w.job(made)).To(Equal(before))
	w.Expect(w.history(made)).To(Equal(history))
}

func lostCommitOfFailure(w *world) {
	made := w.create()
	failed := failure(made.Attempt.Ref, stop())
	failed.By = bootID
	w.apply(failed)
	before, history := w.job(made), w.history(made)
	w.Expect(w.apply(failed).Moved).To(BeFalse())
	w.Expect(w.job(made)).To(Equal(before))
	w.Expect(w.history(made)).To(Equal(history), "the same failure is no late answer")
}

func oneWinner(w *world) {
	for range 20 {
		made, second := w.race()
		refs := []job.Ref{made.Attempt.Ref, second.Ref}
		states := make([]job.State, 8)
		together(len(states), func(i int) {
			ref := refs[i%2]
			applied, err := w.Store.Apply(w.ctx, answer(ref, fmt.Sprintf("%d", ref.Number)))
			if err == nil {
				states[i] = applied.Attempt.State
			}
		})
		stored := w.job(made)
		w.Expect(stored.Result).To(Equal(fmt.Sprintf("%d", stored.CompletedBy)), "the result is the winner's own")
		for i, state := range states {
			if refs[i%2].Number == stored.CompletedBy {
				w.Expect(state).To(Equal(job.Succeeded))
			} else {
				w.Expect(state).To(Equal(job.Superseded))
			}
		}
		w.Expect(w.history(made)).To(And(HaveKeyWithValue(job.HistoryJobSucceeded, 1), HaveKeyWithValue(job.HistoryRace, 1)))
	}
}

// completionAgainstSweep starts either side first in turns, many jobs at a time, so that all interleavings
// have their chance.
func completionAgainstSweep(w *world) {
	const rounds, jobs = 25, 8
	for round := range rounds {
		made := make([]store.Made, jobs)
		for i := range made {
			made[i] = w.attemptWithLease(-time.Second)
		}
		together(2*jobs, func(i int) {
			ref := made[i/2].Attempt.Ref
			change := answer(ref, `1`)
			if (i+round)%2 == 1 {
				change = orphan(ref)
			}
			_, _ = w.Store.Apply(w.ctx, change)
		})
		for _, each := range made {
			w.Expect(w.job(each).State).To(Equal(job.JobSucceeded), "whichever came first, the answer counts")
			w.Expect(w.history(each)).To(HaveKeyWithValue(job.HistoryJobSucceeded, 1))
			w.Expect(w.ends(each)).To(Equal(1), "the attempt ends once")
		}
	}
}

// ends counts the moves of a job's attempts into a state that nothing leaves.
func (w *world) ends(made store.Made) (ends int) {
	w.t.Helper()
	found, err := w.Store.Events(w.ctx, made.Job.Owner, made.Job.ID, 0)
	w.Expect(err).NotTo(HaveOccurred())
	for _, event := range found.Events {
		if event.Type != job.HistoryAttemptMoved {
			continue
		}
		var moved struct {
			To job.State `json:"to"`
		}
		w.Expect(json.Unmarshal([]byte(event.Detail), &moved)).To(Succeed())
		if !slices.ContainsFunc(job.Table, func(row job.Transition) bool { return row.From == moved.To }) {
			ends++
		}
	}
	return ends
}

func insertAgainstCompletion(w *world) {
	for range 30 {
		made := w.attemptIn(job.Released)
		together(2, func(i int) {
			if i == 0 {
				_, _ = w.Store.Apply(w.ctx, answer(made.Attempt.Ref, `1`))
				return
			}
			_, _ = w.Store.AddAttempt(w.ctx, manual(made, fresh("key"), ""))
		})
		history, err := w.Store.Events(w.ctx, made.Job.Owner, made.Job.ID, 0)
		w.Expect(err).NotTo(HaveOccurred())
		done := false
		for _, event := range history.Events {
			w.Expect(done && event.Type == job.HistoryAttemptCreated).To(BeFalse(), "an attempt started under a succeeded job")
			done = done || event.Type == job.HistoryJobSucceeded
		}
		w.Expect(done).To(BeTrue())
	}
}

// revokeAgainstInsert shows the interleaving that the lock on the proofs row exists for. Each round a
// revocation and a fallback run at once; an attempt must never carry a proof whose revocation had been
// acknowledged before the attempt's transaction looked.
func revokeAgainstInsert(w *world) {
	for range 20 {
		id := w.certify(fallback)
		made := w.create()
		var acknowledged atomic.Bool
		var startedAfter atomic.Bool
		decision := sendAt(fallback, id)
		decision.Candidates = append(decision.Candidates, w.key(fallback))
		inner := decision.Decide
		decision.Decide = func(view store.View) store.Step {
			before := acknowledged.Load()
			if len(view.Standings[fallback].Reasons(accepted)) > 0 {
				return store.Step{}
			}
			startedAfter.Store(before)
			return inner(view)
		}
		together(2, func(i int) {
			if i == 0 {
				_, err := w.Store.Revoke(w.ctx, id, "drill", "test")
				w.Expect(err).NotTo(HaveOccurred())
				acknowledged.Store(true)
				return
			}
			_, err := w.Store.Apply(w.ctx, failure(made.Attempt.Ref, decision))
			var refused *store.NotCertified
			w.Expect(err == nil || errors.As(err, &refused)).To(BeTrue(), "%v", err)
		})
		w.Expect(startedAfter.Load()).To(BeFalse(), "a fallback saw a proof stand after its revocation was acknowledged")
	}
	w.revokeWaits()
}

// revokeWaits holds a fallback's transaction open between its look at the proof and its end: the
// revocation is acknowledged only afterwards, so it cannot have been ignored.
func (w *world) revokeWaits() {
	w.t.Helper()
	id := w.certify(fallback)
	made := w.create()
	looked, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	defer release() // a test that fails here leaves no transaction open
	decision := sendAt(fallback, id)
	decision.Candidates = append(decision.Candidates, w.key(fallback))
	inner := decision.Decide
	decision.Decide = func(view store.View) store.Step {
		close(looked)
		<-goOn
		return inner(view)
	}
	applied := make(chan error, 1)
	go func() {
		_, err := w.Store.Apply(w.ctx, failure(made.Attempt.Ref, decision))
		applied <- err
	}()
	<-looked
	revoked := make(chan error, 1)
	go func() {
		_, err := w.Store.Revoke(w.ctx, id, "drill", "test")
		revoked <- err
	}()
	w.revocationIsWaiting()
	w.Expect(revoked).NotTo(Receive(), "the revocation was acknowledged while a fallback stood on the proof")
	release()
	w.Expect(<-applied).To(Succeed())
	w.Expect(<-revoked).To(Succeed())
	w.Expect(w.reasons(fallback)).To(HaveLen(1))
	w.Expect(w.attempts(made)).To(HaveLen(2))
}

// revocationIsWaiting returns once the database shows the revocation waiting for a lock. SQLite has one
// writer, which the open transaction is: there is nothing to observe but that.
func (w *world) revocationIsWaiting() {
	if !w.Postgres {
		return
	}
	w.Eventually(func(g Gomega) {
		var n int
		g.Expect(w.Raw.QueryRowContext(w.ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'LOCK TABLE proofs%'`).Scan(&n)).To(Succeed())
		g.Expect(n).To(Equal(1))
	}).WithTimeout(20 * time.Second).Should(Succeed())
}

// revocationIsFair: while a first fallback stands on the proof a revocation waits for it; a second
// fallback that comes after the revocation does not overtake it, and sees the proof revoked. With one
// writer, as SQLite has, nobody can stand on the proof beside another, and there is nothing to overtake.
func revocationIsFair(w *world) {
	if !w.Postgres {
		w.revokeWaits()
		return
	}
	id := w.certify(fallback)
	first, second := w.create(), w.create()
	looked, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	defer release() // a test that fails here leaves no transaction open
	standing := sendAt(fallback, id)
	standing.Candidates = append(standing.Candidates, w.key(fallback))
	inner := standing.Decide
	holding := standing
	holding.Decide = func(view store.View) store.Step {
		close(looked)
		<-goOn
		return inner(view)
	}
	var done [3]chan error
	for i := range done {
		done[i] = make(chan error, 1)
	}
	go func() { _, err := w.Store.Apply(w.ctx, failure(first.Attempt.Ref, holding)); done[0] <- err }()
	<-looked
	go func() { _, err := w.Store.Revoke(w.ctx, id, "drill", "test"); done[1] <- err }()
	w.revocationIsWaiting()
	seen := make(chan []certification.Reason, 1)
	late := standing
	late.Decide = func(view store.View) store.Step {
		seen <- view.Standings[fallback].Reasons(accepted)
		return store.Step{}
	}
	go func() { _, err := w.Store.Apply(w.ctx, failure(second.Attempt.Ref, late)); done[2] <- err }()
	w.Eventually(func(g Gomega) {
		var n int
		g.Expect(w.Raw.QueryRowContext(w.ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM proofs%FOR SHARE'`).Scan(&n)).To(Succeed())
		g.Expect(n+len(seen)).To(Equal(1), "it waits, or it has overtaken")
	}).WithTimeout(20 * time.Second).Should(Succeed())
	w.Expect(seen).NotTo(Receive(), "a later fallback overtook the waiting revocation")
	release()
	for _, each := range done {
		w.Expect(<-each).To(Succeed())
	}
	w.Expect(<-seen).To(HaveExactElements(certification.Revoked))
}
