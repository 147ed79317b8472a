package storetest

import (
	"errors"
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
	w.Expect(record.ExpiresAt.Sub(record.IssuedAt)).To(Equal(time.Hour))
}

func samples(w *world) {
	run := w.openRun(fresh("night"))
	claim := func(by string, lease time.Duration) bool {
		got, err := w.Store.ClaimSample(w.ctx, store.SampleClaim{RunID: run.ID, Case: "one", Index: 0, By: by, Lease: lease})
		w.Expect(err).NotTo(HaveOccurred())
		return got
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
		done, err := w.Store.FinishSample(w.ctx, store.Sample{RunID: run.ID, Case: "one", Index: 0, By: "b", Evidence: evidence})
		w.Expect(err).NotTo(HaveOccurred())
		return done
	}
	w.Expect(finish(`{"n":1}`)).To(BeTrue())
	w.Expect(finish(`{"n":2}`)).To(BeFalse())
	w.Expect(claim("d", time.Minute)).To(BeFalse(), "what is done is not claimed again")
	found, err := w.Store.Samples(w.ctx, run.ID)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(found).To(HaveExactElements(HaveField("Evidence", `{"n":1}`)))
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
