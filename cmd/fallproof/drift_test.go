package main

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/drift"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// answers lets a model answer one job of the service, and says by which attempt.
func (s shelf) answers(model, servedModel string) job.Attempt {
	s.t.Helper()
	contract, _ := s.config.Catalog.Get("support-triage")
	target := providers.Target{Provider: "sim", Model: model}
	profile, _ := s.config.Profile(target)
	id := uuid.NewString()
	made, err := s.store.CreateJob(s.t.Context(), store.CreateJob{
		Job: job.Job{
			ID: id, Owner: "acme", IdempotencyKey: id, Fingerprint: id, Contract: contract.Name, ContractDigest: contract.Digest(),
			Input: "{}", Target: target, Plan: job.Plan{MaxAttempts: 1},
		},
		ContractContent: contract.Archive(),
		Decision: store.Decision{Decide: func(store.View) store.Step {
			return store.Step{Attempt: &store.NewAttempt{
				ID: uuid.NewString(), IdempotencyKey: id, Role: job.RolePrimary, Target: target, BootID: "boot", Lease: time.Minute,
			}}
		}},
	})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = s.store.Apply(s.t.Context(), store.Change{
		Ref: made.Attempt.Ref, Event: job.EventAnswer, By: "boot", Answer: &store.Answer{Result: "{}", ServedModel: servedModel},
		Watch: &store.Watch{
			Proof:    certification.Key{Contract: contract.Name, Target: target, ProofDigest: contract.ProofDigest(target, profile)},
			Settings: drift.Defaults(), Judged: true,
		},
	})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	return *made.Attempt
}

// Whoever asks whether a target may stand in learns what its answers showed, and what ends the suspension.
func TestASuspensionIsShownWithItsReasonAndItsRemedy(t *testing.T) {
	s := newShelf(t)
	record := s.put("two", certification.Certified, time.Hour, nil)
	s.answers("two", "one-2026")
	ask := []string{"can-failover", "--contract", "support-triage", "--to", "sim/two"}
	s.Expect(s.must(ask...)).To(gomega.HavePrefix("yes: "))
	s.Expect(s.must("certify", "--requested")).To(gomega.Equal("no re-certification is requested\n"))

	attempt := s.answers("two", "one-2027")
	const why = `served_model_changed: "one-2027" served an answer; certified was "one-2026"`
	no := s.run(ask...)
	s.Expect(no.code).To(gomega.Equal(exitNo), no.stderr)
	s.Expect(no.stdout).To(gomega.And(gomega.HavePrefix("no: "), gomega.ContainSubstring("suspended: "),
		gomega.ContainSubstring(why), gomega.ContainSubstring("fallproof certify --contract support-triage --target sim/two")))
	var told struct {
		Reasons []string              `json:"reasons"`
		Events  []certification.Event `json:"events"`
	}
	s.Expect(json.Unmarshal([]byte(s.run(append(ask, "--json")...).stdout), &told)).To(gomega.Succeed())
	s.Expect(told.Reasons).To(gomega.HaveExactElements("suspended"))
	s.Expect(told.Events).To(gomega.ContainElement(gomega.SatisfyAll(
		gomega.HaveField("Type", certification.EventSuspended), gomega.HaveField("Grounds.Attempts", gomega.HaveExactElements(
			certification.AttemptRef{Owner: "acme", JobID: attempt.JobID, Number: 1, ID: attempt.ID})))))
	s.Expect(s.must("certifications", "show", record.ID)).To(gomega.And(
		gomega.ContainSubstring(why), gomega.MatchRegexp(`recertification_requested .*suspended`)))
	s.Expect(s.must("certifications", "list")).To(gomega.ContainSubstring("suspended"))

	s.put("two", certification.Certified, time.Hour, func(r *certification.Record) { r.ServedModels = []string{"one-2027"} })
	s.Expect(s.must(ask...)).To(gomega.HavePrefix("yes: "))
	s.Expect(s.must("certify", "--requested")).To(gomega.Equal("no re-certification is requested\n"))
}
