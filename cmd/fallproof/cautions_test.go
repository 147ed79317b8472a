package main

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
)

// cautioned asks about sim/two, which may stand in, and returns the text after the first line and the answer.
func (s shelf) cautioned() (string, verdict) {
	s.t.Helper()
	ask := []string{"can-failover", "--contract", "support-triage", "--to", "sim/two"}
	first, rest, _ := strings.Cut(s.must(ask...), "\n")
	s.Expect(first).To(gomega.HavePrefix("yes: "))
	var answer verdict
	s.Expect(json.Unmarshal([]byte(s.must(append(ask, "--json")...)), &answer)).To(gomega.Succeed())
	s.Expect(answer.Warnings).To(gomega.HaveLen(len(answer.WarningDetails)))
	for i, each := range answer.WarningDetails {
		s.Expect(answer.Warnings[i]).To(gomega.Equal(each.Warning))
		s.Expect(rest).To(gomega.ContainSubstring(string(each.Warning) + ": " + each.Meaning + "\n" + each.lines()))
		for _, line := range []string{each.Fix, each.Then, each.See} {
			if strings.HasPrefix(line, "fallproof ") {
				s.canType(line)
			} else {
				s.Expect(line).NotTo(gomega.ContainSubstring("fallproof "), "a command stands on a line of its own")
			}
		}
	}
	return rest, answer
}

// The soft deadline is no part of what a proof is bound to: whoever shortens it is told what it was certified under.
func TestCanFailoverKnowsTheDeadlineThatWasMet(t *testing.T) {
	for _, row := range []struct {
		name, timeout string
		latency       *certification.Latency
		want          []caution
	}{
		{name: "none was seen", timeout: "100ms"},
		{name: "as it was", timeout: "5s", latency: &certification.Latency{Samples: 40, P99MS: 2900, MaxMS: 3100, DeadlineMS: 5000}},
		{name: "longer", timeout: "6s", latency: &certification.Latency{Samples: 40, P99MS: 2900, MaxMS: 3100, DeadlineMS: 5000}},
		{name: "too short", timeout: "100ms", latency: &certification.Latency{Samples: 40, P99MS: 2900, MaxMS: 3100, DeadlineMS: 5000}, want: []caution{{
			Warning: "deadline_shortened",
			Meaning: "it was certified under a soft deadline of 5s, and its slowest answer took 3.1s, p99 2.9s; providers.sim.timeout is 100ms now, and what comes later is doubt",
			Fix:     "fallproof certify --contract support-triage --target sim/two",
			Or:      "in fallproof.yaml: timeout: 5s under providers.sim, as it was certified",
		}}},
		{name: "shorter than the slowest answer by a hair", timeout: "3099ms", latency: &certification.Latency{Samples: 40, P99MS: 2900, MaxMS: 3100, DeadlineMS: 5000}, want: []caution{{
			Warning: "deadline_shortened",
			Meaning: "it was certified under a soft deadline of 5s, and its slowest answer took 3.1s, p99 2.9s; providers.sim.timeout is 3.099s now, and what comes later is doubt",
			Fix:     "fallproof certify --contract support-triage --target sim/two",
			Or:      "in fallproof.yaml: timeout: 5s under providers.sim, as it was certified",
		}}},
		{name: "even the longer one was not always met", timeout: "4s", latency: &certification.Latency{Samples: 42, Late: 2, P99MS: 5000, MaxMS: 5010, DeadlineMS: 5000}, want: []caution{{
			Warning: "deadline_shortened",
			Meaning: "it was certified under a soft deadline of 5s, and 2 of 42 calls had no answer by then, p99 5s; providers.sim.timeout is 4s now, and what comes later is doubt",
			Fix:     "fallproof certify --contract support-triage --target sim/two",
			Or:      "in fallproof.yaml: timeout: 5s under providers.sim, as it was certified",
		}}},
		{name: "shorter, and long enough", timeout: "3100ms", latency: &certification.Latency{Samples: 40, P99MS: 2900, MaxMS: 3100, DeadlineMS: 5000}, want: []caution{{
			Warning: "deadline_shortened",
			Meaning: "it was certified under a soft deadline of 5s, and its slowest answer took 3.1s, p99 2.9s; providers.sim.timeout is 3.1s now, which all of them would have met",
		}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newShelf(t)
			s.put("two", certification.Certified, 100*time.Hour, func(r *certification.Record) { r.Latency = row.latency })
			s.write("fallproof.yaml", strings.Replace(recordsConfig, "models:", "timeout: "+row.timeout+", models:", 1))
			text, answer := s.cautioned()
			if row.want == nil {
				s.Expect(text).To(gomega.BeEmpty())
				row.want = []caution{}
			}
			s.Expect(answer.WarningDetails).To(gomega.Equal(row.want))
		})
	}
}

// An inconclusive run displaces no proof, and whoever relies on the proof is told of it.
func TestCanFailoverTellsOfNewerRunsThatCouldNotBeJudged(t *testing.T) {
	s := newShelf(t)
	quiet := func(why string) {
		t.Helper()
		text, answer := s.cautioned()
		s.Expect(text).To(gomega.BeEmpty(), why)
		s.Expect(answer.WarningDetails).To(gomega.BeEmpty(), why)
	}
	s.put("two", certification.Inconclusive, time.Hour, nil)
	s.put("two", certification.Certified, 100*time.Hour, nil)
	quiet("it is the newest")
	s.put("one", certification.Inconclusive, time.Hour, nil)
	s.put("two", certification.Inconclusive, time.Hour, func(r *certification.Record) { r.ProofDigest = "another" })
	s.put("two", certification.Inconclusive, time.Hour, func(r *certification.Record) { r.Source = providers.SourceReplay })
	quiet("another target, another proof, and a recording")

	first := s.put("two", certification.Inconclusive, time.Hour, nil)
	told := func(runs string, r certification.Record) {
		t.Helper()
		_, answer := s.cautioned()
		s.Expect(answer.WarningDetails).To(gomega.Equal([]caution{{
			Warning: "newer_inconclusive",
			Meaning: runs + ", certification " + r.ID + " of " + stamp(r.IssuedAt) + ", was inconclusive, and what counts is still the one before",
			Fix:     "fallproof certify --contract support-triage --target sim/two",
			See:     "fallproof certifications show " + r.ID,
		}}))
	}
	told("a newer run", first)
	told("the last of 2 newer runs", s.put("two", certification.Inconclusive, time.Hour, nil))
	s.put("two", certification.Inconclusive, time.Hour, turnedAway)
	_, answer := s.cautioned()
	s.Expect(answer.WarningDetails).To(gomega.ConsistOf(gomega.And(
		gomega.HaveField("Meaning", gomega.HaveSuffix("what counts is still the one before: unauthorized, status 401: no")),
		gomega.HaveField("Fix", "mend the key that providers.sim is called with, or its account there"),
		gomega.HaveField("Then", "fallproof certify --contract support-triage --target sim/two"),
	)))
	s.put("two", certification.Certified, 100*time.Hour, nil)
	quiet("certified again")
}

// Who undoes an edit has an older proof again, and is told what came of the target in between.
func TestCanFailoverTellsWhatCameOfAnotherEdition(t *testing.T) {
	s := newShelf(t)
	edited := func(r *certification.Record) { r.ProofDigest = "another" }
	quiet := func(why string) {
		t.Helper()
		_, answer := s.cautioned()
		s.Expect(answer.WarningDetails).To(gomega.BeEmpty(), why)
	}
	told := func(r certification.Record, became string) {
		t.Helper()
		text, answer := s.cautioned()
		s.Expect(text).To(gomega.ContainSubstring("other_edition_ended: "))
		s.Expect(answer.WarningDetails).To(gomega.HaveExactElements(gomega.And(
			gomega.HaveField("Meaning", gomega.ContainSubstring("certification "+r.ID+" was "+became)),
			gomega.HaveField("Fix", "fallproof certify --contract support-triage --target sim/two"),
			gomega.HaveField("See", "fallproof certifications show "+r.ID),
		)))
	}
	old := s.put("two", certification.Certified, 100*time.Hour, edited)
	s.put("two", certification.Rejected, 100*time.Hour, func(r *certification.Record) { r.ProofDigest = "a third" })
	s.put("two", certification.Certified, 100*time.Hour, nil)
	s.put("one", certification.Rejected, 100*time.Hour, edited)
	quiet("it is the newest of the target")
	_, err := s.store.Revoke(t.Context(), old.ID, "drill", "ada")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	told(old, "revoked, ")
	told(s.put("two", certification.Rejected, 100*time.Hour, edited), "rejected, ")
	s.put("two", certification.Certified, 100*time.Hour, edited)
	s.put("two", certification.Certified, 100*time.Hour, nil)
	quiet("certified again")

	s.write("fallproof.yaml", strings.Replace(recordsConfig, "two: {}", "two: {context_window: 9000}", 1))
	other := s.shelf()
	suspended := other.put("two", certification.Certified, 100*time.Hour, nil)
	s.put("two", certification.Certified, 100*time.Hour, nil)
	other.answers("two", "one-2027")
	s.write("fallproof.yaml", recordsConfig)
	told(suspended, "suspended, ")
}

// turnedAway is a record of a run in which the account was turned away.
func turnedAway(r *certification.Record) {
	lost := certification.Finding{Reason: "provider_trouble", Count: 9, Detail: "too much", Cause: "unauthorized"}
	r.Dimensions = []certification.Dimension{
		{Name: "prompt", Status: certification.StatusNotJudged, Findings: []certification.Finding{{Reason: "canary_unanswered", Count: 1}}},
		{Name: "business", Status: certification.StatusNotJudged, Findings: []certification.Finding{lost}},
		{Name: "round_trip", Status: certification.StatusNotJudged, Findings: []certification.Finding{lost, {Reason: "unauthorized", Count: 9, Detail: "status 401: no"}}},
	}
}
