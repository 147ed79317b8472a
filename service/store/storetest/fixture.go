// Package storetest is the one behavioural suite that every engine of the store passes.
//
// It promises that each guard of the design is shown twice: through the store's own methods, and by
// going around them with raw SQL. An engine's own test file hands it a [Backend] and nothing else.
package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Backend is one fresh, migrated database.
type Backend struct {
	Store store.Store
	Raw   *sql.DB // the same database, around the store
	// Numbered says whether raw placeholders are $1 (PostgreSQL) rather than ?1 (SQLite).
	Postgres bool
	// Unheard says that something between Store and the database swallows notifications.
	Unheard bool
	// Pause makes the next transaction that changes a job's row stand still there. entered is closed when it
	// stands; goOn lets it go on.
	Pause func(testing.TB) (entered <-chan struct{}, goOn func())
	// Copies are backups by the engine's own tools, each restored into a database of its own.
	Copies []Copy
}

// Copy takes a backup with a tool, while the store is in use, and restores it.
type Copy struct {
	Tool string
	Take func(testing.TB) Backend
}

// world is a backend with what most tests need.
type world struct {
	gomega.Gomega
	Backend
	t   *testing.T
	ctx context.Context
}

var (
	primary  = providers.Target{Provider: "alpha", Model: "large"}
	fallback = providers.Target{Provider: "beta", Model: "medium"}
	accepted = []providers.Source{providers.SourceLive}
)

const bootID = "boot-1"

var sequence atomic.Int64

// fresh is an id that no other test uses; it sorts by creation.
func fresh(prefix string) string { return fmt.Sprintf("%s-%08d", prefix, sequence.Add(1)) }

func (w *world) key(target providers.Target) certification.Key {
	return certification.Key{
		Contract: "greeting", Target: target, EffectiveDigest: "effective", ProfileDigest: "profile-" + target.String(),
		ProofDigest: "proof-" + target.String(),
	}
}

// sendAt decides for an attempt that is sent at once.
func sendAt(target providers.Target, certificationID string) store.Decision {
	return decide(func(store.View) store.Step { return store.Step{Attempt: running(target, certificationID)} })
}

func running(target providers.Target, certificationID string) *store.NewAttempt {
	id := fresh("att")
	role := job.RolePrimary
	if target != primary {
		role = job.RoleFallback
	}
	return &store.NewAttempt{
		ID: id, IdempotencyKey: id, Role: role, Target: target, CertificationID: certificationID,
		BootID: bootID, Lease: time.Minute,
	}
}

func waiting(target providers.Target, delay time.Duration) *store.NewAttempt {
	id := fresh("att")
	return &store.NewAttempt{
		ID: id, IdempotencyKey: id, Role: job.RoleRetry, Target: target,
		Delay: delay, Wait: time.Minute, Queue: store.QueueName(target.Provider),
	}
}

func decide(do store.Decide) store.Decision { return store.Decision{Decide: do} }

func stop() store.Decision { return decide(func(store.View) store.Step { return store.Step{} }) }

// newJob is an intent nobody has had yet.
func newJob(owner string) job.Job {
	j := job.Job{
		ID: fresh("job"), Owner: owner, IdempotencyKey: fresh("key"), Contract: "greeting", ContractDigest: "digest-1",
		Input: `{"name":"Ada"}`, Target: primary,
		Plan: job.Plan{Primary: primary, Fallbacks: []providers.Target{fallback}, MaxAttempts: 3, OnRefusal: "final"},
	}
	return fingerprinted(j)
}

func fingerprinted(j job.Job) job.Job {
	intent, err := j.Intent()
	if err != nil {
		panic(err)
	}
	j.Fingerprint = intent.Fingerprint()
	return j
}

func createOf(j job.Job, decision store.Decision) store.CreateJob {
	return store.CreateJob{Job: j, ContractContent: []byte(`{"contract.yaml":"name: greeting"}`), Decision: decision}
}

// create makes a job whose first attempt runs at the intended target.
func (w *world) create() store.Made {
	w.t.Helper()
	made, err := w.Store.CreateJob(w.ctx, createOf(newJob("acme"), sendAt(primary, "")))
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(made.Created).To(gomega.BeTrue())
	return made
}

func (w *world) apply(change store.Change) store.Applied {
	w.t.Helper()
	applied, err := w.Store.Apply(w.ctx, change)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return applied
}

func (w *world) doubt(ref job.Ref) store.Applied {
	w.t.Helper()
	return w.apply(store.Change{Ref: ref, Event: job.EventDoubt, Reason: "timeout", Heard: true})
}

func answer(ref job.Ref, result string) store.Change {
	return store.Change{Ref: ref, Event: job.EventAnswer, Answer: &store.Answer{
		Result: result, ServedModel: "large-1", Usage: &providers.Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5},
		Latency: 20 * time.Millisecond,
	}}
}

func failure(ref job.Ref, decision store.Decision) store.Change {
	return store.Change{Ref: ref, Event: job.EventFailure, Reason: "malformed", Retryable: true, Decision: decision}
}

// certify gives a target a standing proof and returns the record's id.
func (w *world) certify(target providers.Target) string {
	w.t.Helper()
	return w.judge(target, certification.Certified, providers.SourceLive, time.Hour).ID
}

func (w *world) judge(target providers.Target, verdict certification.Verdict, source providers.Source, validFor time.Duration) certification.Record {
	w.t.Helper()
	return w.judgeKey(w.key(target), verdict, source, validFor)
}

func (w *world) judgeKey(key certification.Key, verdict certification.Verdict, source providers.Source, validFor time.Duration) certification.Record {
	w.t.Helper()
	return w.finishRun(w.openRunFor(key), key, certification.Record{Verdict: verdict, Source: source}, validFor)
}

func (w *world) openRunFor(key certification.Key) store.Run {
	w.t.Helper()
	run, err := w.Store.OpenRun(w.ctx, store.Run{
		ID: fresh("run"), Name: fresh("night"), Contract: key.Contract, ProofDigest: key.ProofDigest, Target: key.Target,
	})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return run
}

// finishRun ends a run by what is given of a record; the rest follows from the key.
func (w *world) finishRun(run store.Run, key certification.Key, record certification.Record, validFor time.Duration) certification.Record {
	w.t.Helper()
	record.ID, record.Contract, record.ContractDigest, record.Target = fresh("cert"), key.Contract, "digest-1", key.Target
	record.EffectiveDigest, record.ProfileDigest, record.ProofDigest = key.EffectiveDigest, key.ProfileDigest, key.ProofDigest
	stored, won, err := w.Store.FinishRun(w.ctx, run.ID, record, validFor)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(won).To(gomega.BeTrue())
	return stored
}

func (w *world) reasons(target providers.Target) []certification.Reason {
	w.t.Helper()
	standings, err := w.Store.Standings(w.ctx, []certification.Key{w.key(target)})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return standings[0].Reasons(accepted)
}

func (w *world) attempts(made store.Made) []job.Attempt {
	w.t.Helper()
	attempts, err := w.Store.Attempts(w.ctx, made.Job.Owner, made.Job.ID)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return attempts
}

func (w *world) job(made store.Made) job.Job {
	w.t.Helper()
	found, err := w.Store.Job(w.ctx, made.Job.Owner, made.Job.ID)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return found
}

// history counts a job's events by type.
func (w *world) history(made store.Made) map[string]int {
	w.t.Helper()
	found, err := w.Store.Events(w.ctx, made.Job.Owner, made.Job.ID, 0)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	counts := map[string]int{}
	for i, event := range found.Events {
		w.Expect(event.Seq).To(gomega.BeEquivalentTo(i+1), "history has no gaps")
		counts[event.Type]++
	}
	return counts
}

func (w *world) detail(made store.Made, kind string) map[string]any {
	w.t.Helper()
	found, err := w.Store.Events(w.ctx, made.Job.Owner, made.Job.ID, 0)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	for _, event := range found.Events {
		if event.Type == kind {
			var out map[string]any
			w.Expect(json.Unmarshal([]byte(event.Detail), &out)).To(gomega.Succeed())
			return out
		}
	}
	w.t.Fatalf("no event %s", kind)
	return nil
}
