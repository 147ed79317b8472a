package storetest

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var runs = []behaviour{
	{"two runners with one run name share the work and agree on one record", sharedRun},
	{"a sample is claimed by one, taken over after its lease, finished once", samples},
	{"steps of samples are one transaction, whose order no runner's order can cross", steps},
	{"evidence is kept beside the record of the runner that won, or not at all", keptEvidence},
}

func (w *world) openRun(name string) store.Run {
	w.t.Helper()
	run, err := w.Store.OpenRun(w.ctx, store.Run{ID: fresh("run"), Name: name, Contract: "greeting", ProofDigest: "proof-beta/medium", Target: fallback})
	w.Expect(err).NotTo(HaveOccurred())
	return run
}

func sharedRun(w *world) {
	name := fresh("night")
	run := w.openRun(name)
	w.Expect(w.openRun(name)).To(Equal(run), "the second runner finds the first one's run")
	ids := make([]string, 8)
	var winners atomic.Int64
	together(len(ids), func(i int) {
		record, won, err := w.Store.FinishRun(w.ctx, run.ID, certification.Record{
			ID: fresh("cert"), Contract: "greeting", ProofDigest: "proof-beta/medium", Target: fallback,
			Verdict: certification.Certified, Source: providers.SourceLive,
		}, time.Hour)
		w.Expect(err).NotTo(HaveOccurred())
		ids[i] = record.ID
		if won {
			winners.Add(1)
		}
	})
	w.Expect(winners.Load()).To(BeEquivalentTo(1))
	for _, id := range ids {
		w.Expect(id).To(Equal(ids[0]))
	}
	w.Expect(w.openRun(name).RecordID).To(Equal(ids[0]))
	record, err := w.Store.Record(w.ctx, ids[0])
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(record.RunName).To(Equal(name))
	w.Expect(record.ExpiresAt.Sub(run.StartedAt)).To(Equal(time.Hour), "no answer is older than the run")
}

func samples(w *world) {
	run := w.openRun(fresh("night"))
	one := store.Place{Case: "one"}
	claim := func(by string, lease time.Duration) bool {
		return w.step(store.SampleStep{RunID: run.ID, Place: one, By: by, Lease: lease})[0]
	}
	var got atomic.Int64
	together(8, func(i int) {
		if claim(fresh("runner"), time.Minute) {
			got.Add(1)
		}
	})
	w.Expect(got.Load()).To(BeEquivalentTo(1))
	w.Expect(w.raw("UPDATE certification_samples SET claimed_until = started_at FROM (SELECT started_at FROM certification_runs) r")).To(Succeed())
	w.Expect(claim("b", time.Minute)).To(BeTrue(), "a claim whose lease is over is taken over")
	w.Expect(claim("c", time.Minute)).To(BeFalse())
	w.Expect(claim("b", time.Minute)).To(BeTrue(), "one's own claim is renewed")

	finish := func(evidence string) bool {
		return w.step(store.SampleStep{RunID: run.ID, Place: one, By: "b", Evidence: evidence})[0]
	}
	w.Expect(finish(`{"n":1}`)).To(BeTrue())
	w.Expect(finish(`{"n":2}`)).To(BeFalse())
	w.Expect(claim("d", time.Minute)).To(BeFalse(), "what is done is not claimed again")
	w.Expect(w.finished(run.ID, 10)).To(HaveExactElements(HaveField("Evidence", `{"n":1}`)))
}

// step takes steps that are expected to go through.
func (w *world) step(steps ...store.SampleStep) []bool {
	w.t.Helper()
	taken, err := w.Store.StepSamples(w.ctx, steps)
	w.Expect(err).NotTo(HaveOccurred())
	return taken
}

// finished are all samples of a run, read page by page.
func (w *world) finished(runID string, page int) []store.Sample {
	w.t.Helper()
	var all []store.Sample
	for after := store.FirstPlace; ; after = all[len(all)-1].Place {
		found, err := w.Store.Samples(w.ctx, runID, after, page)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(len(found)).To(BeNumerically("<=", page))
		if len(found) == 0 {
			return all
		}
		all = append(all, found...)
	}
}

// Steps of many samples are one transaction, each with its own answer; runners that step the same samples in
// opposite orders do not stand in one another's way.
func steps(w *world) {
	run := w.openRun(fresh("night"))
	const cases, each = 4, 3
	var places []store.Place
	for name := range cases {
		for index := range each {
			places = append(places, store.Place{Case: string(rune('a'+name)) + " ק", Index: index})
		}
	}
	places = append(places, store.Place{Index: 2}) // of no case
	claims := make([][]bool, 6)
	together(len(claims), func(i int) {
		wanted, by := slices.Clone(places), fresh("runner")
		if i%2 == 1 {
			slices.Reverse(wanted)
		}
		var steps []store.SampleStep
		for _, place := range wanted {
			steps = append(steps, store.SampleStep{RunID: run.ID, Place: place, By: by, Lease: time.Minute})
		}
		claims[i] = w.step(steps...)
		if i%2 == 1 {
			slices.Reverse(claims[i])
		}
		for j := range steps {
			steps[j].Evidence = `{"by":"` + by + `"}`
		}
		taken := w.step(steps[:2]...)
		w.Expect(w.step(steps[:2]...)).To(Equal([]bool{false, false}), "what is finished stays")
		w.Expect(taken[0]).To(Equal(taken[1]))
	})
	for at := range places {
		owners := 0
		for _, claimed := range claims {
			if claimed[at] {
				owners++
			}
		}
		w.Expect(owners).To(Equal(1), "%+v is claimed by one", places[at])
	}
	mixed := w.step(
		store.SampleStep{RunID: run.ID, Place: places[4], By: "x", Evidence: `{}`},
		store.SampleStep{RunID: run.ID, Place: places[0], By: "x", Lease: time.Minute},
		store.SampleStep{RunID: run.ID, Place: store.Place{Case: "z"}, By: "x", Lease: time.Minute},
	)
	w.Expect(mixed).To(Equal([]bool{true, false, true}))
	for _, page := range []int{1, 2, 100} {
		found := w.finished(run.ID, page)
		w.Expect(found).To(HaveLen(5))
		w.Expect(slices.IsSortedFunc(found, func(a, b store.Sample) int {
			return cmp.Or(cmp.Compare(a.Case, b.Case), cmp.Compare(a.Index, b.Index))
		})).To(BeTrue())
		w.Expect(found[0].Place).To(Equal(store.Place{Index: 2}))
	}
	w.Expect(w.step()).To(BeEmpty())
	_, err := w.Store.StepSamples(w.ctx, []store.SampleStep{
		{RunID: run.ID, Place: store.Place{Case: "y"}, By: "x", Lease: time.Minute},
		{RunID: "no such run", Place: places[0], By: "x", Lease: time.Minute},
	})
	w.Expect(err).To(HaveOccurred())
	w.Expect(w.step(store.SampleStep{RunID: run.ID, Place: store.Place{Case: "y"}, By: "other", Lease: time.Minute})).To(
		Equal([]bool{true}), "all steps or none")
}

func keptEvidence(w *world) {
	run := w.openRun(fresh("night"))
	packed := make([]evidence.Packed, 6)
	ids, winner := make([]string, len(packed)), atomic.Int64{}
	together(len(packed), func(i int) {
		ids[i] = fresh("cert")
		kept, err := evidence.Pack(evidence.Document{CertificationID: ids[i], Samples: []evidence.Sample{{Content: "\u0000 שלום"}}})
		w.Expect(err).NotTo(HaveOccurred())
		packed[i] = kept
		record, won, err := w.Store.FinishRunWithEvidence(w.ctx, run.ID, certification.Record{
			ID: ids[i], Contract: "greeting", ProofDigest: "proof-beta/medium", Target: fallback,
			Verdict: certification.Certified, Source: providers.SourceLive,
		}, kept, time.Hour)
		w.Expect(err).NotTo(HaveOccurred())
		if won {
			winner.Store(int64(i))
			w.Expect(record.Evidence).To(Equal(&kept.Ref))
		}
	})
	for i, id := range ids {
		kept, err := w.Store.Evidence(w.ctx, id)
		if int64(i) != winner.Load() {
			w.Expect(err).To(MatchError(store.ErrNotFound), "a loser's evidence is not kept")
			continue
		}
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(kept).To(Equal(packed[i]))
		record, err := w.Store.Record(w.ctx, id)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(record.Evidence).To(Equal(&kept.Ref), "the record that is stored names it")
		document, err := evidence.Open(kept.Content, *record.Evidence)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(document.CertificationID).To(Equal(id))
	}
	_, err := w.Store.Evidence(w.ctx, w.certify(fallback))
	w.Expect(err).To(MatchError(store.ErrNotFound), "a record without evidence has none")

	refused := w.openRun(fresh("night"))
	kept := packed[0]
	kept.Content = nil // the schema refuses it
	_, _, err = w.Store.FinishRunWithEvidence(w.ctx, refused.ID, certification.Record{
		ID: fresh("cert"), Contract: "greeting", ProofDigest: "proof-beta/medium", Target: fallback,
		Verdict: certification.Certified, Source: providers.SourceLive,
	}, kept, time.Hour)
	w.Expect(err).To(HaveOccurred())
	w.Expect(w.openRun(refused.Name).RecordID).To(BeEmpty(), "no record without the evidence that it names")
}

var waitingAttempts = []behaviour{
	{"a waiting attempt rings its doorbell in the transaction that made it", doorbell},
	{"a waiting attempt takes its turn once, or is given up past its time", turns},
}

func (w *world) doorbells() int {
	w.t.Helper()
	var n int
	w.Expect(w.Raw.QueryRowContext(w.ctx, "SELECT count(*) FROM river_job WHERE kind = 'attempt_turn'").Scan(&n)).To(Succeed())
	return n
}

func doorbell(w *world) {
	made, err := w.Store.CreateJob(w.ctx, createOf(newJob("acme"), decide(func(store.View) store.Step {
		return store.Step{Attempt: waiting(primary, time.Hour)}
	})))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(made.Job.State).To(Equal(job.JobRunning))
	w.Expect(made.Attempt.Sends).To(BeZero())
	w.Expect(made.Attempt.NotBefore.Sub(made.Attempt.CreatedAt)).To(Equal(time.Hour))
	w.Expect(made.Attempt.StartBy.Sub(made.Attempt.NotBefore)).To(Equal(time.Minute))
	w.Expect(w.doorbells()).To(Equal(1))
	bad := decide(func(store.View) store.Step {
		attempt := waiting(primary, 0)
		attempt.Role = "nobody"
		return store.Step{Attempt: attempt}
	})
	_, err = w.Store.CreateJob(w.ctx, createOf(newJob("acme"), bad))
	w.Expect(err).To(HaveOccurred())
	w.Expect(w.doorbells()).To(Equal(1), "no doorbell without its attempt")

	_, err = w.Store.Apply(w.ctx, store.Change{Ref: made.Attempt.Ref, Event: job.EventTurn, BootID: bootID, Lease: time.Minute})
	var early *store.NotYet
	w.Expect(errors.As(err, &early)).To(BeTrue(), "a doorbell that rings early sends nothing: %v", err)
	w.Expect(early.In).To(BeNumerically("~", time.Hour, 10*time.Minute))
	w.Expect(w.attempts(made)).To(HaveExactElements(*made.Attempt))
}

func turns(w *world) {
	made := w.attemptIn(job.Starting)
	turn := store.Change{Ref: made.Attempt.Ref, Event: job.EventTurn, BootID: bootID, Lease: time.Minute}
	var moved atomic.Int64
	together(6, func(int) {
		if applied, err := w.Store.Apply(w.ctx, turn); err == nil && applied.Moved {
			moved.Add(1)
		}
	})
	w.Expect(moved.Load()).To(BeEquivalentTo(1), "one turn, one send")
	attempt := w.attempts(made)[0]
	w.Expect(attempt.State).To(Equal(job.Running))
	w.Expect(attempt.Sends).To(Equal(1))
	w.Expect(attempt.BootID).To(Equal(bootID))

	late := w.attemptIn(job.Starting)
	giveUp := store.Change{Ref: late.Attempt.Ref, Event: job.EventNotSent, Reason: "queue_timeout", OnlyIfOverdue: true, Decision: stop()}
	w.Expect(w.apply(giveUp).Moved).To(BeFalse(), "not before its time")
	w.Expect(w.raw("UPDATE attempts SET start_by = created_at WHERE job_id = ¿", late.Job.ID)).To(Succeed())
	given := w.apply(giveUp)
	w.Expect(given.Attempt.State).To(Equal(job.Failed))
	w.Expect(given.Attempt.Reason).To(Equal("queue_timeout"))
	w.Expect(given.Attempt.Sends).To(BeZero())
}
