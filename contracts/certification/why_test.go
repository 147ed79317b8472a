package certification_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
)

// Where a good figure is not judged, it says what could not be seen.
func TestUnseen(t *testing.T) {
	found := func(reasons ...string) (list []certification.Finding) {
		for _, reason := range reasons {
			list = append(list, certification.Finding{Reason: reason, Count: 1})
		}
		return list
	}
	census := func(good int, findings ...string) certification.Dimension {
		return certification.Dimension{
			Status: certification.StatusNotJudged, Successes: good, Samples: 13, LowerBound: float64(good) / 13, Threshold: 0.9, Census: true, Findings: found(findings...),
		}
	}
	sampled := func(status string, bound float64, findings ...string) certification.Dimension {
		return certification.Dimension{Status: status, Successes: 40, Samples: 40, LowerBound: bound, Threshold: 0.9, Findings: found(findings...)}
	}
	const open = certification.StatusNotJudged
	for _, row := range []struct {
		name string
		d    certification.Dimension
		want string
	}{
		{"the canary", census(13, "canary_unanswered"), "canary unanswered"},
		{"the canary, where tokens cannot be counted", census(13, "not_verified", "canary_unanswered"), "canary unanswered"},
		{"tokens that have to be counted", census(13, "not_verified"), "not verified"},
		{"faults beside it, too few to fail", census(12, "token_count_differs", "canary_unanswered"), "some checks"},
		{"nothing that was seen", certification.Dimension{Status: open, Census: true, Findings: found("canary_unanswered")}, ""},
		{"trouble, and a fault beside it", sampled(open, 0.92, "provider_trouble", "the total"), "provider trouble"},
		{"enforcement", sampled(open, 0.92, "not_probed"), "not probed"},
		{"a figure that says enough", sampled(open, 0.89, "too_few_samples", "incomplete"), ""},
		{"passed", sampled(certification.StatusPassed, 0.92, "incomplete"), ""},
		{"failed", sampled(certification.StatusFailed, 0.92, "not_enforced"), ""},
	} {
		t.Run(row.name, func(t *testing.T) { NewWithT(t).Expect(row.d.Unseen()).To(Equal(row.want)) })
	}
}

// What kept a dimension from being judged is what is named, and not a fault that was seen besides.
func TestWhy(t *testing.T) {
	fault := certification.Finding{Reason: "unknown_key", Count: 30}
	spent := certification.Finding{Reason: certification.FindingTroubleBudget, Count: 9, Cause: "server_error"}
	down := certification.Finding{Reason: "server_error", Count: 8, Detail: "status 500"}
	canary := certification.Finding{Reason: "canary_unanswered", Count: 1, Cause: "unauthorized"}
	unverified := certification.Finding{Reason: "not_verified", Count: 9}
	for _, row := range []struct {
		status   string
		findings []certification.Finding
		want     string
	}{
		{failed, []certification.Finding{fault, spent}, "unknown_key"},
		{failed, []certification.Finding{{Reason: certification.FindingStoppedEarly, Count: 40}, {Reason: "not_enforced", Count: 1}}, "not_enforced"},
		{failed, []certification.Finding{unverified, canary}, "not_verified"},
		{notJudged, []certification.Finding{fault, spent}, "provider_trouble"},
		{notJudged, []certification.Finding{fault, spent, down}, "server_error"},
		{notJudged, []certification.Finding{unverified, canary}, "canary_unanswered"},
		{notJudged, []certification.Finding{unverified}, "not_verified"},
		{failed, []certification.Finding{unverified, fault}, "unknown_key"},
	} {
		why, ok := certification.Dimension{Status: row.status, Findings: row.findings}.Why()
		g := NewWithT(t)
		g.Expect(ok).To(BeTrue())
		g.Expect(why.Reason).To(Equal(row.want), "%+v", row)
	}
	_, ok := certification.Dimension{Status: notJudged}.Why()
	NewWithT(t).Expect(ok).To(BeFalse())

	few := certification.Finding{Reason: certification.FindingTooFewSamples, Count: 8}
	for _, row := range []struct {
		prompt, structure, roundTrip []certification.Finding
		want                         string
	}{
		{[]certification.Finding{canary}, []certification.Finding{fault, spent}, []certification.Finding{spent, down}, "server_error"},
		{[]certification.Finding{canary}, []certification.Finding{few}, []certification.Finding{few}, "canary_unanswered"},
		{nil, []certification.Finding{fault, few}, []certification.Finding{few}, "too_few_samples"},
	} {
		record := certification.Record{}
		for _, findings := range [][]certification.Finding{row.prompt, row.structure, row.roundTrip} {
			record.Dimensions = append(record.Dimensions, certification.Dimension{Status: notJudged, Findings: findings})
		}
		why, _ := record.WhyInconclusive()
		NewWithT(t).Expect(why.Reason).To(Equal(row.want))
	}
}

// A threshold is shown as it is: what rounds up would seem to ask for more than anything could prove.
func TestAsked(t *testing.T) {
	for threshold, want := range map[float64]string{1: "1.00", 0.9: "0.90", 0.85: "0.85", 0.995: "0.995", 0.9999: "0.9999", 0: "0.00"} {
		NewWithT(t).Expect(certification.Asked(threshold)).To(Equal(want))
	}
}

// A figure that neither proves the threshold nor refutes it says what would have told.
func TestBorne(t *testing.T) {
	failed := func(successes, samples int) certification.Dimension {
		return certification.Dimension{Status: certification.StatusFailed, Threshold: 0.9, Successes: successes, Samples: samples}
	}
	passed, census := failed(39, 40), failed(39, 40)
	passed.Status, census.Census = certification.StatusPassed, true
	for want, dimensions := range map[string][]certification.Dimension{
		"so few do not tell: 1 wrong in 46 would do": {failed(39, 40), failed(0, 1), failed(44, 45)},
		"so few do not tell: 2 wrong in 61 would do": {failed(38, 40)},
		"": {failed(0, 2), failed(10, 40), passed, census, failed(40, 40), failed(45, 46)},
	} {
		for _, d := range dimensions {
			NewWithT(t).Expect(d.Borne()).To(Equal(want), "%+v", d)
		}
	}
}
