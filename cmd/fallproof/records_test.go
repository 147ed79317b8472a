package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
)

const recordsConfig = `
server: {accept_sources: [live]}
store: {url: "sqlite:records.db"}
providers:
  sim: {base_url: "http://192.0.2.1/v1", models: {one: {}, two: {}}}
routes:
  support-triage: {primary: sim/one, fallbacks: [sim/two]}
`

// shelf is a store with records that no provider had to be called for.
type shelf struct {
	*terminal
	store  store.Store
	config *config.Config
}

func newShelf(t *testing.T) shelf {
	s := newTerminal(t)
	s.write("fallproof.yaml", recordsConfig)
	return s.shelf()
}

// shelf opens the store of the terminal's configuration.
func (s *terminal) shelf() shelf {
	s.t.Helper()
	configured, err := config.Load("fallproof.yaml", s.getenv)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	opened, err := openURL(s.t.Context(), configured.Store.URL)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.t.Cleanup(func() { s.Expect(opened.Close()).To(gomega.Succeed()) })
	return shelf{s, opened, configured}
}

// put appends a record of a model as it would be judged today, changed as the test wants it.
func (s shelf) put(model string, verdict certification.Verdict, validFor time.Duration, change func(*certification.Record)) certification.Record {
	s.t.Helper()
	contract, _ := s.config.Catalog.Get("support-triage")
	target := providers.Target{Provider: "sim", Model: model}
	profile, _ := s.config.Profile(target)
	status := map[certification.Verdict]string{certification.Certified: "passed", certification.Rejected: "failed"}[verdict]
	record := certification.Record{
		ID: uuid.Must(uuid.NewV7()).String(), Contract: contract.Name, ContractDigest: contract.Digest(), Target: target, Verdict: verdict,
		EffectiveDigest: contract.EffectiveDigest(target), ProfileDigest: profile.Digest(), ProofDigest: contract.ProofDigest(target, profile),
		Dimensions: []certification.Dimension{{Name: "business", Status: status, Successes: 40, Samples: 40, LowerBound: 0.928, Threshold: 0.9}},
		Cases:      []certification.CaseFigures{{Case: "a parcel", Samples: 5, Usable: 5, Structure: 5, Business: 5}},
		Source:     providers.SourceLive, ServedModels: []string{"one-2026"}, Planned: 40, Taken: 40, SamplesPerCase: 5,
	}
	if change != nil {
		change(&record)
	}
	run, err := s.store.OpenRun(s.t.Context(), store.Run{
		ID: uuid.NewString(), Name: uuid.NewString(), Contract: record.Contract, ProofDigest: record.ProofDigest, Target: target,
	})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	packed, err := evidence.Pack(evidence.Document{
		CertificationID: record.ID, Contract: record.Contract, Target: target.String(),
		Cases: []evidence.Case{{Name: "a parcel", Messages: []evidence.Message{{Role: "user", Content: "איפה החבילה?"}}}},
		Samples: []evidence.Sample{{
			Case: "a parcel", Kind: certification.Answered, Content: `{"urgency":"low"}`,
			Business: []evidence.Finding{{Reason: "the urgency", Detail: "does not hold", Pointers: []string{"/urgency"}}},
		}},
	})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	stored, _, err := s.store.FinishRunWithEvidence(s.t.Context(), run.ID, record, packed, validFor)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	return stored
}

func TestTheListSaysWhatIsCertifiedUntilWhen(t *testing.T) {
	s := newShelf(t)
	old := s.put("one", certification.Certified, 100*time.Hour, func(r *certification.Record) { r.ProofDigest, r.ProfileDigest = "another", "another" })
	first := s.put("one", certification.Certified, 100*time.Hour, nil)
	second := s.put("one", certification.Certified, 3*time.Hour+time.Minute, nil)
	rejected := s.put("two", certification.Rejected, time.Hour, nil)
	expired := s.put("two", certification.Certified, -time.Hour, nil)
	revoked := s.put("two", certification.Certified, time.Hour, nil)
	_, err := s.store.Revoke(t.Context(), revoked.ID, "a test", "tester")
	s.Expect(err).NotTo(gomega.HaveOccurred())

	list := s.must("certifications", "list")
	s.Expect(list).NotTo(gomega.ContainSubstring("\x1b"), "no colours but on a terminal")
	lines := map[string]string{}
	for _, line := range strings.Split(list, "\n") {
		s.Expect(line).To(gomega.Equal(strings.TrimRight(line, " ")))
		id, rest, _ := strings.Cut(line, " ")
		lines[id] = rest
	}
	for id, want := range map[string]string{
		old.ID: "no: contract or profile changed", first.ID: "no: displaced by another record", second.ID: "until " + stamp(second.ExpiresAt) + " (3 hours left)",
		rejected.ID: "rejected ", expired.ID: "no: expired " + stamp(expired.ExpiresAt), revoked.ID: "no: revoked",
	} {
		s.Expect(lines[id]).To(gomega.ContainSubstring(want))
	}
	s.Expect(s.must("certifications", "show", second.ID)).To(gomega.ContainSubstring("certified        until " + stamp(second.ExpiresAt)))
	s.Expect(list).NotTo(gomega.ContainSubstring("for who accepts its source"))
	s.write("fallproof.yaml", strings.Replace(recordsConfig, "accept_sources: [live]", "accept_sources: [replay]", 1))
	s.Expect(s.must("certifications", "list")).To(gomega.ContainSubstring("until " + stamp(second.ExpiresAt) + " (3 hours left), for who accepts its source"))
}

func TestRecordsAreCompared(t *testing.T) {
	s := newShelf(t)
	before := s.put("one", certification.Certified, time.Hour, func(r *certification.Record) { r.ProfileDigest, r.ProofDigest = strings.Repeat("0a", 32), "another" })
	s.put("one", certification.Inconclusive, time.Hour, nil)
	after := s.put("one", certification.Rejected, time.Hour, func(r *certification.Record) {
		r.ServedModels = []string{"one-2027"}
		r.Dimensions[0].Successes, r.Dimensions[0].LowerBound = 30, 0.6
		r.Dimensions[0].Findings = []certification.Finding{{Reason: "the urgency", Count: 10, Case: "a parcel", Detail: "does not hold"}}
		r.Cases[0].Business = 1
	})
	said := s.must("certifications", "diff", before.ID, after.ID)
	s.Expect(said).To(gomega.HavePrefix("support-triage at sim/one: certified (" + before.ID))
	for _, line := range []string{
		"  profile of the target: 0a0a0a0a0a0a… → " + after.ProfileDigest[:12] + "…\n", "  served models: one-2026 → one-2027\n",
		"  business: passed, 40 of 40, at least 0.928 of 0.90 → failed, 30 of 40, at least 0.600 of 0.90\n",
		"  case a parcel: passed → failed\n", "  new business: 10 × the urgency, e.g. case \"a parcel\" sample 0: does not hold\n",
	} {
		s.Expect(said).To(gomega.ContainSubstring(line))
	}
	s.Expect(s.must("certifications", "diff", "--contract", "support-triage", "--target", "sim/one")).To(gomega.Equal(said), "the inconclusive one is no judgement")
	s.Expect(s.must("certifications", "show", after.ID)).To(gomega.HaveSuffix(strings.Replace(said, "support-triage at sim/one", "since it was last certified", 1)))
	s.Expect(s.must("certifications", "diff", after.ID, after.ID)).To(gomega.HaveSuffix("\n  nothing changed\n"))

	var compared certification.Comparison
	s.Expect(json.Unmarshal([]byte(s.must("certifications", "diff", before.ID, after.ID, "--json")), &compared)).To(gomega.Succeed())
	s.Expect(compared.Flipped).To(gomega.Equal([]certification.Flip{{Case: "a parcel", Before: "passed", After: "failed"}}))
	var shown shownRecord
	s.Expect(json.Unmarshal([]byte(s.must("certifications", "show", after.ID, "--json")), &shown)).To(gomega.Succeed())
	s.Expect(shown.SinceCertified).To(gomega.Equal(&compared))
	s.Expect(json.Unmarshal([]byte(s.must("certifications", "show", before.ID, "--json")), &shown)).To(gomega.Succeed())
	s.Expect(shown.SinceCertified).To(gomega.BeNil())

	for _, has := range []string{"no judged record", "one judged record"} {
		s.Expect(s.refuses(exitNo, "certifications", "diff", "--contract", "support-triage", "--target", "sim/two")).To(
			gomega.Equal("support-triage at sim/two has " + has + ", and two are needed"))
		s.put("two", certification.Rejected, time.Hour, nil)
	}
	s.Expect(s.refuses(exitNo, "certifications", "diff", before.ID, "nothing")).To(gomega.ContainSubstring(`no certification has the id "nothing"`))
	for _, args := range [][]string{{before.ID}, {}, {"--contract", "support-triage"}, {before.ID, after.ID, "--target", "sim/one"}} {
		s.Expect(s.refuses(exitUsage, append([]string{"certifications", "diff"}, args...)...)).To(gomega.ContainSubstring("want two records"))
	}
}

func TestEvidenceIsWrittenOut(t *testing.T) {
	s := newShelf(t)
	record := s.put("one", certification.Rejected, time.Hour, nil)
	text := s.must("certifications", "evidence", record.ID)
	sum := sha256.Sum256([]byte(text))
	s.Expect(hex.EncodeToString(sum[:])).To(gomega.Equal(record.Evidence.Digest), "the digest is that of what is written")
	s.Expect(s.must("certifications", "evidence", record.ID, "--out", "evidence.json")).To(gomega.BeEmpty())
	written, err := os.ReadFile("evidence.json")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(string(written)).To(gomega.Equal(text))
	s.Expect(s.must("certifications", "show", record.ID)).To(gomega.ContainSubstring(
		fmt.Sprintf("1 samples, sha256 %s: fallproof certifications evidence %s", record.Evidence.Digest, record.ID)))
	s.Expect(s.refuses(exitNo, "certifications", "evidence", "nothing")).To(gomega.ContainSubstring(`no certification has the id "nothing"`))
}

// The second revocation changes nothing, and says what the first one said.
func TestRevokingAgainSaysWhoDidBefore(t *testing.T) {
	s := newShelf(t)
	record := s.put("two", certification.Certified, time.Hour, nil)
	revoke := func(reason string) string { return s.must("certifications", "revoke", record.ID, "--reason", reason) }
	s.Expect(revoke("wrong model served")).To(gomega.HavePrefix("revoked: support-triage at sim/two may not stand in"))
	stored, err := s.store.Record(t.Context(), record.ID)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	already := "revoked already: support-triage at sim/two, on " + stamp(stored.RevokedAt) + " by " + stored.RevokedBy + ": wrong model served; nothing was changed\n"
	for _, reason := range []string{"something else", "wrong model served"} {
		s.Expect(revoke(reason)).To(gomega.Equal(already))
	}
	newer := s.put("two", certification.Certified, time.Hour, nil)
	s.Expect(revoke("wrong model served")).To(gomega.Equal(already + "it still may by certification " + newer.ID +
		"; what ends that as well:\n  fallproof certifications revoke " + newer.ID + " --reason 'wrong model served'\n"))
	s.Expect(s.refuses(exitNo, "certifications", "revoke", "nothing", "--reason", "r")).To(gomega.HavePrefix(`no certification has the id "nothing"; `))
}

// A figure that would do, and is not judged all the same, says what is missing.
func TestShowSaysWhatCouldNotBeSeen(t *testing.T) {
	s := newShelf(t)
	record := s.put("two", certification.Inconclusive, time.Hour, func(r *certification.Record) {
		r.Dimensions = []certification.Dimension{{
			Name: "prompt", Status: certification.StatusNotJudged, Successes: 13, Samples: 13, LowerBound: 1, Threshold: 1, Census: true,
			Findings: []certification.Finding{{Reason: "canary_unanswered", Count: 1, Detail: "timeout"}},
		}}
	})
	s.Expect(s.must("certifications", "show", record.ID)).To(gomega.ContainSubstring(
		"\nprompt: not_judged, 13 of 13, every one counts: 1.000 against 1.00; could not be seen: canary unanswered\n"))
}
