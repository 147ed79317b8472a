package dispatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// certifyAs gives a target a proof by a new record that says what answered.
func (w *world) certifyAs(target providers.Target, validFor time.Duration, model, print string) string {
	w.t.Helper()
	served, _ := w.config.Catalog.Get(contract)
	profile, ok := w.config.Profile(target)
	w.Expect(ok).To(gomega.BeTrue())
	record := certification.Record{
		ID: fmt.Sprint("cert-", w.clicks.Add(1)), Contract: contract, ContractDigest: served.Digest(), Target: target,
		EffectiveDigest: served.EffectiveDigest(target), ProfileDigest: profile.Digest(),
		ProofDigest: served.ProofDigest(target, profile), Verdict: certification.Certified, Source: providers.SourceLive,
		ServedModels: []string{model}, Fingerprints: []string{print},
	}
	run, err := w.store.OpenRun(w.ctx, store.Run{
		ID: "run-" + record.ID, Name: "run-" + record.ID, Contract: contract, ProofDigest: record.ProofDigest, Target: target,
	})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	_, _, err = w.store.FinishRun(w.ctx, run.ID, record, validFor)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return record.ID
}

// print is the fingerprint that a target answers with, as one job shows it.
func (w *world) print(target providers.Target) string {
	w.t.Helper()
	wish := w.submission()
	wish.Target = target.String()
	made, err := w.d.Submit(w.ctx, wish)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded))
	answered := w.attempts(made)[0]
	w.Expect(answered.ServedModel).To(gomega.Equal(target.Model))
	w.Expect(answered.SystemPrint).NotTo(gomega.BeEmpty())
	return answered.SystemPrint
}

func (w *world) happened(id string) []certification.Event {
	w.t.Helper()
	record, err := w.store.Record(w.ctx, id)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return record.Events
}

func (w *world) status(target providers.Target) failover.TargetStatus {
	w.t.Helper()
	all, err := w.d.Targets(w.ctx, contract)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	for _, status := range all {
		if status.Target == target {
			return status
		}
	}
	w.t.Fatalf("no status of %s", target)
	return failover.TargetStatus{}
}

func typed(kind certification.EventType, cause string) any {
	return gomega.SatisfyAll(gomega.HaveField("Type", kind), gomega.HaveField("Cause", cause))
}

// The model behind a certified name changes while the service runs: the first answer closes the fallback, and
// a new record alone opens it.
func TestAnotherServedModelSuspendsTheFallbackUntilItIsCertifiedAnew(t *testing.T) {
	w := newWorld(t, settings{})
	id := w.certifyAs(beta, time.Hour, beta.Model, w.print(beta))
	w.behave(alpha, "unauthorized")
	first := w.submit()
	w.Expect(w.outcome(first).CompletedBy).To(gomega.Equal(2))
	w.Expect(w.happened(id)).To(gomega.BeEmpty())

	w.behave(beta, "renamed:two-mini")
	drifted := w.submit()
	w.Expect(w.outcome(drifted).CompletedBy).To(gomega.Equal(2), "the answer met the contract")
	answered := w.attempts(drifted)[1]
	w.Expect(w.happened(id)).To(gomega.ConsistOf(
		typed(certification.EventSuspended, "served_model_changed"), typed(certification.EventRequested, "suspended")))
	status := w.status(beta)
	w.Expect(status.Reasons).To(gomega.HaveExactElements(certification.Suspended))
	w.Expect(status.Events[0].Detail + status.Events[1].Detail).To(gomega.Equal(`"two-mini" served an answer; certified was "two"`))
	suspended := w.happened(id)[0]
	if suspended.Type != certification.EventSuspended {
		suspended = w.happened(id)[1]
	}
	w.Expect(suspended.By).To(gomega.Equal(w.d.BootID()))
	w.Expect(suspended.Grounds.Attempts).To(gomega.HaveExactElements(
		certification.AttemptRef{Owner: owner, JobID: drifted.Job.ID, Number: 2, ID: answered.ID}))

	refused := w.submit()
	j := w.outcome(refused)
	w.Expect(j.State).To(gomega.Equal(job.JobFailed))
	w.Expect(j.Error.Targets).To(gomega.HaveExactElements(job.TargetRefusal{Target: beta, Reasons: []string{"suspended"}}))

	w.certifyAs(beta, time.Hour, "two-mini", "")
	again := w.submit()
	w.Expect(w.outcome(again).CompletedBy).To(gomega.Equal(2))
	w.Expect(w.status(beta).Eligible).To(gomega.BeTrue())
}

// The model gets worse in a way that its schema does not show; the checks notice, on either replica.
func TestViolationsAboveTheDeclaredRateSuspendTheProof(t *testing.T) {
	w := newWorld(t, settings{Route: "    drift: {violations: 0.2, window: 10, minimum: 4}\n"})
	other := w.replica(settings{})
	w.certify(beta)
	id := w.certifyAs(alpha, time.Hour, alpha.Model, w.print(alpha))
	w.behave(alpha, "turning:6")
	var bad []store.Made
	for i := range 8 {
		w.Expect(w.happened(id)).To(gomega.BeEmpty(), "after %d answers", i)
		w.d, other = other, w.d
		made := w.submit()
		w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded))
		if first := w.attempts(made)[0]; first.State == job.Failed {
			w.Expect(first.Reason).To(gomega.Equal("contract_violation"))
			bad = append(bad, made)
		}
	}
	w.Expect(bad).To(gomega.HaveLen(2), "six are good, two are plausible")
	events := w.happened(id)
	w.Expect(events).To(gomega.ConsistOf(
		typed(certification.EventSuspended, "contract_violations"), typed(certification.EventRequested, "suspended")))
	for _, event := range events {
		if event.Type == certification.EventSuspended {
			w.Expect(event.Grounds.Answers).To(gomega.Equal(8))
			w.Expect(event.Grounds.Violations).To(gomega.Equal(2))
			w.Expect(event.Grounds.Attempts).To(gomega.HaveExactElements(
				gomega.HaveField("JobID", bad[1].Job.ID), gomega.HaveField("JobID", bad[0].Job.ID)))
		}
	}
	w.Expect(w.status(alpha).Reasons).To(gomega.HaveExactElements(certification.Suspended))
	w.Expect(w.status(beta).Eligible).To(gomega.BeTrue(), "its own answers were good")
	made := w.submit()
	w.Expect(w.attempts(made)[0].Target).To(gomega.Equal(alpha), "the intended target needs no proof unless the route says so")
	w.outcome(made)
}

// An answer that is not even JSON breaks the contract as well; one that was cut or refused, and an error in its
// place, are held against no proof.
func TestProseInPlaceOfJSONViolates(t *testing.T) {
	for behaviour, suspends := range map[string]bool{
		"chatty": true, "not-a-number": true, "raw-newline": true,
		"portal": false, "error-200": false, "truncating": false, "refusing": false, "unauthorized": false,
	} {
		t.Run(behaviour, func(t *testing.T) {
			w := newWorld(t, settings{Route: "    drift: {violations: 0, window: 1}\n"})
			w.certify(beta)
			id := w.certifyAs(alpha, time.Hour, alpha.Model, "")
			w.behave(alpha, behaviour)
			made := w.submit()
			w.outcome(made)
			w.Expect(w.attempts(made)[0].State).To(gomega.Equal(job.Failed))
			suspended := gomega.ContainElement(typed(certification.EventSuspended, "contract_violations"))
			if !suspends {
				suspended = gomega.Not(suspended)
			}
			w.Expect(w.happened(id)).To(suspended)
		})
	}
}

// A suspension may come of the very answer whose job goes on: the step after it already knows.
func TestASuspendedPrimaryThatNeedsProofIsNotTriedAgain(t *testing.T) {
	w := newWorld(t, settings{Route: "    require_certified_primary: true\n    drift: {violations: 0, window: 1}\n"})
	w.certify(beta)
	id := w.certifyAs(alpha, time.Hour, alpha.Model, "")
	w.behave(alpha, "plausible")
	made := w.submit()
	w.Expect(w.outcome(made).CompletedBy).To(gomega.Equal(2))
	w.Expect(w.happened(id)).NotTo(gomega.BeEmpty())
	next := w.submit()
	w.Expect(w.outcome(next).CompletedBy).To(gomega.Equal(1))
	w.Expect(w.attempts(next)[0].Target).To(gomega.Equal(beta))
}

func TestAChangedFingerprintWarnsAndSuspendsNothing(t *testing.T) {
	w := newWorld(t, settings{})
	id := w.certifyAs(alpha, time.Hour, alpha.Model, w.print(alpha))
	w.Expect(w.print(alpha)).NotTo(gomega.BeEmpty())
	w.Expect(w.happened(id)).To(gomega.BeEmpty(), "as certified")
	w.behave(alpha, "retuned:fp_9")
	for range 3 {
		w.Expect(w.print(alpha)).To(gomega.Equal("fp_9"))
	}
	w.Expect(w.happened(id)).To(gomega.ConsistOf(
		typed(certification.EventFingerprint, "fingerprint_changed"), typed(certification.EventRequested, "fingerprint_changed")))
	status := w.status(alpha)
	w.Expect(status.Eligible).To(gomega.BeTrue())
	w.Expect(status.Warnings).To(gomega.HaveExactElements(certification.WarningFingerprint))
}

func TestARouteMayWantNothingCompared(t *testing.T) {
	w := newWorld(t, settings{Route: "    drift: off\n"})
	id := w.certifyAs(alpha, time.Hour, "another-model", "fp_0")
	w.print(alpha)
	w.Expect(w.happened(id)).To(gomega.BeEmpty())
}

// A proof that is suspended while a fallback waits for its slot stops the fallback: it is never sent.
func TestAFallbackWhoseProofIsSuspendedWhileItWaitsIsNotSent(t *testing.T) {
	w := newWorld(t, settings{})
	id := w.certifyAs(beta, time.Hour, beta.Model, "")
	w.behave(beta, "hold:renamed:two-mini")
	w.behave(alpha, "unauthorized")
	first := w.submit() // takes beta's only slot
	w.heard(beta, 1)
	second := w.submit()
	waits := w.until(job.Ref{Owner: owner, JobID: second.Job.ID, Number: 2}, func(job.Attempt) bool { return true })
	w.Expect(waits.State).To(gomega.Equal(job.Starting))
	w.Expect(waits.CertificationID).To(gomega.Equal(id))
	w.sim.Release(simulator.Filter{Model: beta.Model})

	ended := w.becomes(waits.Ref, job.Failed)
	w.Expect(ended.Reason).To(gomega.Equal("not_certified"))
	w.Expect(ended.Detail).To(gomega.ContainSubstring("suspended"))
	w.Expect(ended.Sends).To(gomega.BeZero())
	w.Expect(w.outcome(first).State).To(gomega.Equal(job.JobSucceeded), "the answer that showed it met the contract")
	w.Expect(w.outcome(second).State).To(gomega.Equal(job.JobFailed))
	w.ledgerMatches(first, second)
}

// What the provider is asked for later is an answer like any other.
func TestAnAnswerThatIsFetchedIsComparedToo(t *testing.T) {
	w := newWorld(t, settings{Timeout: "200ms", GiveUp: "400ms", Alpha: stored + "1m"})
	id := w.certifyAs(alpha, time.Hour, "another-model", "")
	w.behave(alpha, "dropping")
	made := w.submit()
	w.becomes(made.Attempt.Ref, job.Succeeded)
	w.Expect(w.happened(id)).To(gomega.ContainElement(typed(certification.EventSuspended, "served_model_changed")))
}

// Nobody certifies for days: it is said, once, by whichever replica is there.
func TestTheEndOfAProofIsAnnouncedOnce(t *testing.T) {
	w := newWorld(t, settings{Idle: true})
	id := w.certifyAs(beta, -time.Second, beta.Model, "")
	other := w.certifyAs(gamma, -time.Second, gamma.Model, "")
	lines := gbytes.NewBuffer()
	tended := make(chan []certification.Event)
	for _, want := range []int{2, 0} {
		d, err := dispatch.New(dispatch.Options{
			Store: tending{w.store, tended}, Config: w.config, Logger: slog.New(slog.NewTextHandler(lines, nil)),
		})
		w.Expect(err).NotTo(gomega.HaveOccurred())
		w.Expect(d.Start(w.ctx)).To(gomega.Succeed())
		w.Expect(<-tended).To(gomega.HaveLen(want))
		w.end(d)
	}
	w.Expect(strings.Count(string(lines.Contents()), "a certification has expired")).To(gomega.Equal(1))
	w.Expect(w.happened(id)).To(gomega.ConsistOf(typed(certification.EventExpired, ""), typed(certification.EventRequested, "expired")))
	w.Expect(w.happened(other)).To(gomega.BeEmpty(), "no route rests on it")
}

// tending says what each look after the proofs noted.
type tending struct {
	store.Store
	noted chan<- []certification.Event
}

func (t tending) TendProofs(ctx context.Context, keys []certification.Key, by string) ([]certification.Event, error) {
	noted, err := t.Store.TendProofs(ctx, keys, by)
	select {
	case t.noted <- noted:
	case <-ctx.Done():
	}
	return noted, err
}
