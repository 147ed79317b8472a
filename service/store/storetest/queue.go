package storetest

import (
	"cmp"
	"slices"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// doubts is the queue that somebody works through by hand.
var doubts = []behaviour{
	{"the queue of doubts counts an owner's jobs and knows the oldest", countsDoubts},
	{"jobs in doubt are listed oldest doubt first", oldestDoubtFirst},
	{"the cursor of the queue of doubts holds when the job there leaves it", doubtCursorHolds},
}

func countsDoubts(w *world) {
	count := func(owner string) store.Doubts {
		found, err := w.Store.Doubts(w.ctx, owner)
		w.Expect(err).NotTo(HaveOccurred())
		return found
	}
	none := count("acme")
	w.Expect(none.Jobs).To(BeZero())
	w.Expect(none.Oldest.IsZero()).To(BeTrue())
	w.Expect(none.Now.IsZero()).To(BeFalse())

	first, second := w.attemptIn(job.Unknown), w.attemptIn(job.Unknown)
	since := w.job(first).UnknownSince
	w.Expect(since.IsZero()).To(BeFalse())
	both := count("acme")
	w.Expect(both.Jobs).To(Equal(2))
	w.Expect(both.Oldest).To(Equal(since))
	w.Expect(both.Now).To(BeTemporally(">=", since))
	w.Expect(count("globex").Jobs).To(BeZero(), "another owner's doubts are nobody else's")

	w.apply(store.Change{Ref: first.Attempt.Ref, Event: job.EventRelease, Decision: stop()})
	w.Expect(w.job(first).UnknownSince).To(Equal(since), "a released attempt that is heard goes on being the same doubt")
	w.apply(answer(first.Attempt.Ref, `1`))
	w.Expect(w.job(first).UnknownSince.IsZero()).To(BeTrue())
	w.apply(store.Change{Ref: second.Attempt.Ref, Event: job.EventResolveFailed, Reason: "resolved", Decision: stop()})
	w.Expect(w.job(second).UnknownSince.IsZero()).To(BeTrue())
	w.Expect(count("acme")).To(HaveField("Jobs", 0))
	cancelled := w.attemptIn(job.Unknown)
	_, err := w.Store.CancelJob(w.ctx, "acme", cancelled.Job.ID, "test")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(count("acme")).To(HaveField("Jobs", 0))
}

// inDoubt makes n jobs in doubt, the youngest job's doubt the oldest, and two of one and the same moment. Where
// the database's clock gave others of them one moment too, their ids decide.
func (w *world) inDoubt(n int) (oldestFirst []store.Made) {
	w.t.Helper()
	made := make([]store.Made, n)
	for i := range made {
		made[i] = w.create()
	}
	for i := n - 1; i >= 0; i-- {
		w.doubt(made[i].Attempt.Ref)
		oldestFirst = append(oldestFirst, made[i])
	}
	moment := w.job(oldestFirst[1])
	w.Expect(w.raw("UPDATE jobs SET unknown_since = (SELECT unknown_since FROM jobs WHERE id = ¿) WHERE id = ¿",
		moment.ID, oldestFirst[2].Job.ID)).To(Succeed())
	slices.SortFunc(oldestFirst, func(a, b store.Made) int {
		return cmp.Or(w.job(a).UnknownSince.Compare(w.job(b).UnknownSince), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	return oldestFirst
}

func (w *world) doubtPage(limit int, cursor string) (ids []string, next string) {
	w.t.Helper()
	items, next, err := w.Store.ListJobs(w.ctx, store.JobFilter{Owner: "acme", State: job.JobUnknown, Limit: limit, Cursor: cursor})
	w.Expect(err).NotTo(HaveOccurred())
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	return ids, next
}

func oldestDoubtFirst(w *world) {
	queue := w.inDoubt(5)
	w.create() // running
	var seen []string
	pages, cursor := 0, ""
	for pages == 0 || cursor != "" {
		var ids []string
		ids, cursor = w.doubtPage(2, cursor)
		seen = append(seen, ids...)
		pages++
	}
	var want []string
	for _, made := range queue {
		want = append(want, made.Job.ID)
	}
	w.Expect(seen).To(Equal(want))
	w.Expect(pages).To(Equal(3))
}

func doubtCursorHolds(w *world) {
	queue := w.inDoubt(5)
	first, cursor := w.doubtPage(2, "")
	w.Expect(first).To(HaveExactElements(queue[0].Job.ID, queue[1].Job.ID))
	w.apply(answer(queue[1].Attempt.Ref, `1`)) // the job that the cursor names
	w.apply(store.Change{Ref: queue[0].Attempt.Ref, Event: job.EventResolveFailed, Reason: "resolved", Decision: stop()})
	rest, cursor := w.doubtPage(10, cursor)
	w.Expect(rest).To(HaveExactElements(queue[2].Job.ID, queue[3].Job.ID, queue[4].Job.ID))
	w.Expect(cursor).To(BeEmpty())

	moved := w.job(queue[2])
	w.Expect(w.Store.NoteReference(w.ctx, queue[2].Attempt.Ref, "resp_1")).To(Succeed())
	w.apply(store.Change{Ref: queue[2].Attempt.Ref, Event: job.EventUnheard, Reason: "give_up", Decision: planned(job.DueReconcile, time.Hour)})
	w.Expect(w.job(queue[2]).UnknownSince).To(Equal(moved.UnknownSince), "its place in the queue is its first doubt's")
}
