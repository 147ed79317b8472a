package main

import (
	"fmt"
	"strings"
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

const substituteConfig = `
server: {accept_sources: [simulated]}
store: {url: "sqlite:records.db"}
providers:
  sim: {base_url: "%s", source: simulated, models: {renamed: {%s}}}
routes:
  support-triage: {primary: sim/renamed}
`

// What drifted may be certified again as what it is now, and then people are told what that is.
func TestASubstituteIsNotCertifiedWithoutAWord(t *testing.T) {
	terminal := newTerminal(t)
	base, _ := terminal.background("simulate", "--listen", "127.0.0.1:0")
	terminal.write("fallproof.yaml", fmt.Sprintf(substituteConfig, base, ""))
	s := terminal.shelf()
	before := s.put("renamed", certification.Certified, time.Hour, func(r *certification.Record) {
		r.Source, r.ServedModels = providers.SourceSimulated, []string{"renamed"}
	})
	s.answers("renamed", "renamed-previous")
	s.Expect(s.run("can-failover", "--contract", "support-triage", "--to", "sim/renamed").stdout).To(gomega.ContainSubstring("suspended"))

	terminal.write("fallproof.yaml", fmt.Sprintf(substituteConfig, base, "context_window: 9000"))
	s.Expect(s.run("can-failover", "--contract", "support-triage", "--to", "sim/renamed").stdout).To(gomega.And(
		gomega.MatchRegexp(`profile_changed: .*certified; it was suspended before, which the change does not mend: .*served_model_changed: "renamed-previous" served`),
		gomega.ContainSubstring("or:   fallproof certify --requested\n")))
	terminal.write("fallproof.yaml", fmt.Sprintf(substituteConfig, base, ""))

	code, output := s.certify("--requested", "--run", "again")
	s.Expect(code).To(gomega.Equal(exitOK), output)
	s.Expect(output).To(gomega.ContainSubstring("\n  warning: model_alias: renamed is served by renamed-previous, and may be served by another one tomorrow\n"))
	s.Expect(output).To(gomega.MatchRegexp(`prompt +passed .* is asked; \d+ checks not verified: no tokenizer is declared`))
	since := "\nsupport-triage at sim/renamed, since it was last certified (" + stamp(before.IssuedAt) + ", record " + before.ID + "):\n"
	s.Expect(output).To(gomega.ContainSubstring(since))
	_, after, _ := strings.Cut(output, since)
	s.Expect(after).To(gomega.ContainSubstring("  served models: renamed → renamed-previous\n"))

	code, output = s.certify("--run", "once more")
	s.Expect(code).To(gomega.Equal(exitOK), output)
	s.Expect(output).To(gomega.ContainSubstring("warning: model_alias: "))
	s.Expect(output).NotTo(gomega.ContainSubstring("since it was last certified"), "the same as then")

	terminal.write("fallproof.yaml", fmt.Sprintf(substituteConfig, base, "context_window: 9000"))
	_, output = s.certify("--run", "another profile")
	s.Expect(output).To(gomega.MatchRegexp(`since it was last certified \(.*\):\n(  .*\n)*  profile: context_window: 0 → 9000\n`))
}
