package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var identity = []behaviour{
	{"the first create makes the job and its attempt", firstCreate},
	{"the same key and intent replay the job in every state", replays},
	{"another intent under the key is a conflict and changes nothing", conflicts},
	{"a hundred simultaneous creates make one job", doubleClick},
	{"a creator that rolls back leaves the key to another", creatorRollsBack},
	{"a repeated create whose COMMIT's answer was lost finds its own job", lostCommitOfCreate},
	{"keys belong to their owner", keysPerOwner},
	{"a job that no target may serve is created failed, with the reason", createdFailed},
	{"a job whose contract has no route is read back", routeless},
	{"jobs are listed in pages, newest first", pages},
	{"texts with escapes, right-to-left and exponents come back as stored", texts},
}

func firstCreate(w *world) {
	made := w.create()
	w.Expect(made.Job.State).To(Equal(job.JobRunning))
	w.Expect(made.Job.Version).To(BeEquivalentTo(1))
	w.Expect(made.Attempt.State).To(Equal(job.Running))
	w.Expect(made.Attempt.Sends).To(Equal(1))
	stored := w.job(made)
	w.Expect(stored).To(Equal(made.Job))
	w.Expect(w.attempts(made)).To(HaveExactElements(*made.Attempt))
	content, err := w.Store.ContractContent(w.ctx, stored.ContractDigest)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(content)).To(Equal(`{"contract.yaml":"name: greeting"}`))
}

func replays(w *world) {
	again := func(made store.Made, state job.JobState) {
		repeat := made.Job
		repeat.ID = fresh("job")
		found, err := w.Store.CreateJob(w.ctx, createOf(repeat, sendAt(primary, "")))
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(found.Created).To(BeFalse())
		w.Expect(found.Attempt).To(BeNil())
		w.Expect(found.Job.ID).To(Equal(made.Job.ID))
		w.Expect(found.Job.State).To(Equal(state))
		w.Expect(w.attempts(made)).To(HaveLen(1))
	}
	won := w.create()
	again(won, job.JobRunning)
	w.doubt(won.Attempt.Ref)
	again(won, job.JobUnknown)
	w.apply(answer(won.Attempt.Ref, `"done"`))
	again(won, job.JobSucceeded)

	failed := w.create()
	w.apply(failure(failed.Attempt.Ref, stop()))
	again(failed, job.JobFailed)

	cancelled := w.create()
	_, err := w.Store.CancelJob(w.ctx, cancelled.Job.Owner, cancelled.Job.ID, "test")
	w.Expect(err).NotTo(HaveOccurred())
	again(cancelled, job.JobCancelled)
}

func conflicts(w *world) {
	made := w.create()
	other := made.Job
	other.ID, other.Input, other.SentTarget = fresh("job"), `{"name":"Bob","extra":[1]}`, primary.String()
	_, err := w.Store.CreateJob(w.ctx, createOf(fingerprinted(other), sendAt(primary, "")))
	var conflict *store.KeyConflict
	w.Expect(errors.As(err, &conflict)).To(BeTrue(), "%v", err)
	w.Expect(conflict.Pointers).To(Equal([]string{"/input/extra", "/input/name", "/target"}))
	w.Expect(w.job(made)).To(Equal(made.Job))
	w.Expect(w.history(made)).To(Equal(map[string]int{job.HistoryJobCreated: 1, job.HistoryAttemptCreated: 1}))
}

func doubleClick(w *world) {
	intent := newJob("acme")
	const clicks = 100
	made := make([]store.Made, clicks)
	errs := make([]error, clicks)
	together(clicks, func(i int) {
		click := intent
		click.ID = fmt.Sprintf("%s-%d", intent.ID, i)
		made[i], errs[i] = w.Store.CreateJob(w.ctx, createOf(click, sendAt(primary, "")))
	})
	created := 0
	for i := range made {
		w.Expect(errs[i]).NotTo(HaveOccurred())
		w.Expect(made[i].Job.ID).To(Equal(made[0].Job.ID))
		if made[i].Created {
			created++
		}
	}
	w.Expect(created).To(Equal(1))
	w.Expect(w.attempts(made[0])).To(HaveLen(1))
}

// together runs do n times at once, released by one signal.
func together(n int, do func(i int)) {
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			do(i)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
}

func creatorRollsBack(w *world) {
	intent := newJob("acme")
	refuse := store.Decision{Decide: func(store.View) store.Step {
		bad := running(primary, "")
		bad.Role = "nobody" // the database refuses the attempt, and with it the whole transaction
		return store.Step{Attempt: bad}
	}}
	const callers = 12
	made := make([]store.Made, callers)
	errs := make([]error, callers)
	together(callers, func(i int) {
		click, decision := intent, sendAt(primary, "")
		click.ID = fmt.Sprintf("%s-%d", intent.ID, i)
		if i%3 == 0 {
			decision = refuse
		}
		made[i], errs[i] = w.Store.CreateJob(w.ctx, createOf(click, decision))
	})
	ids, created := map[string]bool{}, 0
	for i := range made {
		if errs[i] != nil {
			w.Expect(i%3).To(Equal(0), "only a refused creator may fail: %v", errs[i])
			continue
		}
		ids[made[i].Job.ID] = true
		if made[i].Created {
			created++
		}
	}
	w.Expect(created).To(Equal(1))
	w.Expect(ids).To(HaveLen(1))
}

func lostCommitOfCreate(w *world) {
	made := w.create()
	again, err := w.Store.CreateJob(w.ctx, createOf(made.Job, sendAt(primary, "")))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(again.Created).To(BeTrue())
	w.Expect(again.Attempt).To(HaveValue(Equal(*made.Attempt)))
	w.Expect(w.attempts(made)).To(HaveLen(1))
}

func keysPerOwner(w *world) {
	made := w.create()
	theirs := made.Job
	theirs.ID, theirs.Owner = fresh("job"), "globex"
	other, err := w.Store.CreateJob(w.ctx, createOf(theirs, sendAt(primary, "")))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(other.Created).To(BeTrue())
	_, err = w.Store.Job(w.ctx, "globex", made.Job.ID)
	w.Expect(err).To(MatchError(store.ErrNotFound))
	_, err = w.Store.Attempts(w.ctx, "globex", made.Job.ID)
	w.Expect(err).To(MatchError(store.ErrNotFound))
	_, err = w.Store.Events(w.ctx, "globex", made.Job.ID, 0)
	w.Expect(err).To(MatchError(store.ErrNotFound))
	_, err = w.Store.CancelJob(w.ctx, "globex", made.Job.ID, "test")
	w.Expect(err).To(MatchError(store.ErrNotFound))
	found, err := w.Store.JobByKey(w.ctx, "acme", made.Job.IdempotencyKey)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(found.ID).To(Equal(made.Job.ID))
}

func createdFailed(w *world) {
	why := &job.Failure{Reason: "fallback-not-certified", Targets: []job.TargetRefusal{{Target: fallback, Reasons: []string{"expired"}}}}
	made, err := w.Store.CreateJob(w.ctx, createOf(newJob("acme"), decide(func(store.View) store.Step { return store.Step{Failure: why} })))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(made.Attempt).To(BeNil())
	w.Expect(w.job(made).State).To(Equal(job.JobFailed))
	w.Expect(w.job(made).Error).To(Equal(why))
}

func routeless(w *world) {
	j := newJob("acme")
	j.Plan.Primary, j.Plan.Fallbacks, j.SentTarget = providers.Target{}, nil, primary.String()
	made, err := w.Store.CreateJob(w.ctx, createOf(fingerprinted(j), sendAt(primary, "")))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.job(made)).To(Equal(made.Job))
}

func pages(w *world) {
	var ids []string
	for range 5 {
		ids = append([]string{w.create().Job.ID}, ids...)
	}
	cursor := ""
	var seen []string
	for range 3 {
		items, next, err := w.Store.ListJobs(w.ctx, store.JobFilter{Owner: "acme", Limit: 2, Cursor: cursor, State: job.JobRunning})
		w.Expect(err).NotTo(HaveOccurred())
		for _, item := range items {
			seen = append(seen, item.ID)
		}
		cursor = next
	}
	w.Expect(cursor).To(BeEmpty())
	w.Expect(seen).To(Equal(ids))
	none, _, err := w.Store.ListJobs(w.ctx, store.JobFilter{Owner: "acme", State: job.JobFailed})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(none).To(BeEmpty())
}

func texts(w *world) {
	made := w.create()
	result := `{"zero":"\u0000","hebrew":"שלום","big":9007199254740993,"exponent":1e131071}`
	change := answer(made.Attempt.Ref, result)
	change.Answer.ServedModel = "model\x00with NUL"
	w.apply(change)
	stored := w.job(made)
	w.Expect(stored.Result).To(Equal(result))
	w.Expect(stored.State).To(Equal(job.JobSucceeded))

	exponents := w.create()
	long := "[" + strings.Repeat("1e131071,", 10_000) + "0]" // 90 kB that a jsonb column could not give back
	w.apply(answer(exponents.Attempt.Ref, long))
	w.Expect(w.job(exponents).Result).To(Equal(long))

	failed := w.create()
	broken := failure(failed.Attempt.Ref, stop())
	broken.Detail = "answer \x00 was \xff"
	w.apply(broken)
	w.Expect(w.attempts(failed)[0].Detail).To(Equal("answer \uFFFD was \uFFFD"))
}
