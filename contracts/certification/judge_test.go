package certification_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
)

const (
	passed    = certification.StatusPassed
	failed    = certification.StatusFailed
	notJudged = certification.StatusNotJudged
)

var names = []string{"case 0", "case 1", "case 2", "case 3", "case 4", "case 5", "case 6", "case 7"}

func answered(count int) []certification.Observation {
	var all []certification.Observation
	for i := range count {
		all = append(all, certification.Observation{Case: fmt.Sprintf("case %d", i%8), Index: i / 8, Kind: certification.Answered})
	}
	return all
}

// evidence is a run in which nothing is wrong, until the test makes it so.
func evidence(samples int) certification.Evidence {
	return certification.Evidence{
		Cases:      names,
		Planned:    samples,
		Thresholds: certification.Thresholds{Prompt: 1, Structure: 0.9, Business: 0.9, RoundTrip: 0.9},
		Samples:    answered(samples),
		Circumstances: certification.Circumstances{
			Checks: []certification.Check{{Name: "canary", Status: certification.CheckPassed, Must: true}},
		},
	}
}

func status(j certification.Judgement) [4]string {
	return [4]string{j.Dimensions[0].Status, j.Dimensions[1].Status, j.Dimensions[2].Status, j.Dimensions[3].Status}
}

var wrong = []certification.Finding{{Reason: "wrong", Detail: "here"}}

func trouble(o *certification.Observation) { o.Kind, o.Reason = certification.Trouble, "timeout" }

func TestJudge(t *testing.T) {
	for _, row := range []struct {
		name    string
		samples int
		change  func(*certification.Evidence)
		verdict certification.Verdict
		status  [4]string // prompt, structure, business, round trip
	}{
		{
			name: "40 perfect answers certify at 0.90", samples: 40,
			verdict: certification.Certified, status: [4]string{passed, passed, passed, passed},
		},
		{
			name: "one wrong in 40 does not", samples: 40,
			change:  func(e *certification.Evidence) { e.Samples[7].Business = wrong },
			verdict: certification.Rejected, status: [4]string{passed, passed, failed, passed},
		},
		{
			name: "one wrong in 60 does", samples: 60,
			change:  func(e *certification.Evidence) { e.Samples[7].Business = wrong },
			verdict: certification.Certified, status: [4]string{passed, passed, passed, passed},
		},
		{
			name: "8 perfect answers prove too little, and are no failure", samples: 8,
			verdict: certification.Inconclusive, status: [4]string{passed, notJudged, notJudged, notJudged},
		},
		{
			name: "structure counts answers only, business structurally valid ones only", samples: 40,
			change: func(e *certification.Evidence) {
				for i := range 20 {
					e.Samples[i].Structure = wrong
				}
			},
			verdict: certification.Rejected, status: [4]string{passed, failed, notJudged, passed},
		},
		{
			name: "no usable answer fails the round trip alone", samples: 40,
			change: func(e *certification.Evidence) {
				for i := range e.Samples {
					e.Samples[i] = certification.Observation{Kind: certification.Unusable, Reason: "refused"}
				}
			},
			verdict: certification.Rejected, status: [4]string{passed, notJudged, notJudged, failed},
		},
		{
			name: "trouble within the budget takes samples away and nothing else", samples: 40,
			change: func(e *certification.Evidence) {
				for i := range 4 {
					trouble(&e.Samples[i])
				}
			},
			verdict: certification.Certified, status: [4]string{passed, passed, passed, passed},
		},
		{
			name: "trouble beyond the budget is never a pass", samples: 100,
			change: func(e *certification.Evidence) {
				for i := range 11 {
					trouble(&e.Samples[i])
				}
			},
			verdict: certification.Inconclusive, status: [4]string{passed, notJudged, notJudged, notJudged},
		},
		{
			name: "trouble beyond the budget saves nobody whose answers are wrong", samples: 40,
			change: func(e *certification.Evidence) {
				for i := range e.Samples {
					e.Samples[i].Structure = wrong
				}
				for i := range 5 {
					e.Samples[i].Structure = nil
					trouble(&e.Samples[i])
				}
			},
			verdict: certification.Rejected, status: [4]string{passed, failed, notJudged, notJudged},
		},
		{
			name: "one odd answer out of an outage rejects nobody", samples: 40,
			change: func(e *certification.Evidence) {
				for i := range e.Samples {
					trouble(&e.Samples[i])
				}
				e.Samples[0] = certification.Observation{Case: "case 0", Kind: certification.Answered, Structure: wrong}
			},
			verdict: certification.Inconclusive, status: [4]string{passed, notJudged, notJudged, notJudged},
		},
		{
			name: "beyond the budget, what would have been too many wrong answers without it is still in doubt", samples: 40,
			change: func(e *certification.Evidence) {
				e.Samples[0].Structure = wrong // 39 of 40 do not prove 0.90, and 34 of 35 do not refute it
				for i := range 5 {
					trouble(&e.Samples[8+i])
				}
			},
			verdict: certification.Inconclusive, status: [4]string{passed, notJudged, notJudged, notJudged},
		},
		{
			name: "a case that was never answered is proven by no other", samples: 80,
			change: func(e *certification.Evidence) {
				e.Cases = append(slices.Clone(names), "case 8")
				for i := range 5 {
					e.Samples[i].Case = "case 8"
					trouble(&e.Samples[i])
				}
			},
			verdict: certification.Inconclusive, status: [4]string{passed, notJudged, notJudged, notJudged},
		},
		{
			name: "nor does it save a target that is wrong in the others", samples: 80,
			change: func(e *certification.Evidence) {
				for i := range e.Samples {
					e.Samples[i].Business = wrong
				}
				e.Cases = append(slices.Clone(names), "case 8")
				e.Samples[0].Case = "case 8"
				trouble(&e.Samples[0])
			},
			verdict: certification.Rejected, status: [4]string{passed, notJudged, failed, notJudged},
		},
		{
			name: "what trouble alone made too few is not held against the target", samples: 48,
			change: func(e *certification.Evidence) {
				e.Samples[9].Business = wrong // 47 of 48 prove 0.90, 43 of 44 do not
				for i := range 4 {
					trouble(&e.Samples[i])
				}
			},
			verdict: certification.Inconclusive, status: [4]string{passed, passed, notJudged, passed},
		},
		{
			name: "a run that is not complete certifies nothing", samples: 40,
			change:  func(e *certification.Evidence) { e.Samples = e.Samples[:39] },
			verdict: certification.Inconclusive, status: [4]string{passed, notJudged, notJudged, notJudged},
		},
		{
			name: "a single failed check fails a census at 1.0", samples: 40,
			change: func(e *certification.Evidence) {
				e.Checks = append(e.Checks, certification.Check{Status: certification.CheckFailed, Reason: "unused_variable"})
			},
			verdict: certification.Rejected, status: [4]string{failed, passed, passed, passed},
		},
		{
			name: "a check that must hold fails the census below 1.0 too", samples: 40,
			change: func(e *certification.Evidence) {
				e.Thresholds.Prompt = 0.5
				e.Checks = append(slices.Repeat(e.Checks, 9), certification.Check{Status: certification.CheckFailed, Must: true, Reason: "system_prompt_ignored"})
			},
			verdict: certification.Rejected, status: [4]string{failed, passed, passed, passed},
		},
		{
			name: "what cannot be verified counts on neither side", samples: 40,
			change: func(e *certification.Evidence) {
				e.Checks = append(e.Checks, certification.Check{Status: certification.CheckNotVerified, Reason: "not_verified"})
			},
			verdict: certification.Certified, status: [4]string{passed, passed, passed, passed},
		},
		{
			name: "a canary that was not seen leaves the census open", samples: 40,
			change: func(e *certification.Evidence) {
				e.Checks[0] = certification.Check{Status: certification.CheckMissing, Reason: "canary_unanswered"}
			},
			verdict: certification.Inconclusive, status: [4]string{notJudged, passed, passed, passed},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			e := evidence(row.samples)
			if row.change != nil {
				row.change(&e)
			}
			judgement := certification.Judge(e)
			g.Expect(status(judgement)).To(Equal(row.status), "%+v", judgement.Dimensions)
			g.Expect(judgement.Verdict).To(Equal(row.verdict))
		})
	}
}

func TestJudgeKeepsFiguresAndFindings(t *testing.T) {
	g := NewWithT(t)
	e := evidence(40)
	e.Samples[3].Structure = []certification.Finding{{Reason: "fenced", Detail: "first"}, {Reason: "fenced", Detail: "again"}}
	e.Samples[9].Structure = []certification.Finding{{Reason: "unknown_key", Detail: "x"}}
	e.Samples[11].Structure = []certification.Finding{{Reason: "fenced", Detail: "third"}}
	d := certification.Judge(e).Dimension(certification.DimensionStructure)
	g.Expect(d.Successes).To(Equal(37))
	g.Expect(d.Samples).To(Equal(40))
	g.Expect(d.LowerBound).To(BeNumerically("~", 0.81741, 0.00001))
	g.Expect(d.Findings).To(Equal([]certification.Finding{
		{Reason: "fenced", Count: 2, Case: "case 3", Detail: "first"},
		{Reason: "unknown_key", Count: 1, Case: "case 1", Sample: 1, Detail: "x"},
	}), "one a sample, most frequent first, with the first instance")
	business := certification.Judge(e).Dimension(certification.DimensionBusiness)
	g.Expect(business.Samples).To(Equal(37), "business is judged over structurally valid samples")
}

// Whatever is not judged says why.
func TestJudgeSaysWhyNot(t *testing.T) {
	g := NewWithT(t)
	roundTrip := func(e certification.Evidence) []certification.Finding {
		return certification.Judge(e).Dimension(certification.DimensionRoundTrip).Findings
	}
	few := evidence(8)
	g.Expect(roundTrip(few)).To(ContainElement(HaveField("Reason", certification.FindingTooFewSamples)))
	cut := evidence(40)
	cut.Samples = cut.Samples[:30]
	g.Expect(roundTrip(cut)).To(ContainElement(And(HaveField("Reason", certification.FindingIncomplete), HaveField("Count", 10))))
	silent := evidence(80)
	silent.Cases = append(slices.Clone(names), "case 8")
	silent.Samples[3].Case = "case 8"
	trouble(&silent.Samples[3])
	for _, d := range certification.Judge(silent).Dimensions[1:] {
		g.Expect(d.Status).To(Equal(notJudged))
		g.Expect(d.Findings).To(ContainElement(And(HaveField("Reason", certification.FindingCaseUnanswered), HaveField("Case", "case 8"))))
		g.Expect(d.Unseen()).To(Equal("case unanswered"))
	}
	down := evidence(40)
	for i := range 6 {
		trouble(&down.Samples[i])
	}
	g.Expect(roundTrip(down)).To(ConsistOf(
		And(HaveField("Reason", certification.FindingTroubleBudget), HaveField("Count", 6)),
		And(HaveField("Reason", "timeout"), HaveField("Count", 6), HaveField("Case", "case 0")),
	))
}

// Who answers at the second try lets the service's first attempt fail or hang: that draws on the same budget as
// what is lost. Throttling does not, since it says how fast we called.
func TestTriesDrawOnTheBudget(t *testing.T) {
	for _, row := range []struct {
		reason  string
		down    bool
		samples int
		verdict certification.Verdict
	}{
		{"timeout", false, 4, certification.Certified}, {"timeout", false, 5, certification.Inconclusive},
		{"server_error", false, 5, certification.Inconclusive}, {"connection_lost", false, 5, certification.Inconclusive},
		{"rate_limited", false, 40, certification.Certified}, {"rate_limited", true, 5, certification.Inconclusive},
	} {
		g := NewWithT(t)
		e := evidence(40)
		progress := certification.NewProgress(40, names, e.Thresholds)
		for i := range e.Samples {
			if i < row.samples {
				once := certification.Lost{Reason: row.reason, Detail: "status", Down: row.down}
				e.Samples[i].Lost = []certification.Lost{once, once}
			}
			progress.Add(e.Samples[i])
		}
		judged := certification.Judge(e)
		g.Expect(judged.Verdict).To(Equal(row.verdict), "%s %d", row.reason, row.samples)
		g.Expect(progress.Spent()).To(Equal(row.verdict == certification.Inconclusive))
		g.Expect(judged.Retried).To(ConsistOf(certification.Finding{Reason: row.reason, Count: 2 * row.samples, Case: "case 0", Detail: "status"}))
	}
	g := NewWithT(t)
	wrongAfterAll := evidence(40)
	for i := range wrongAfterAll.Samples {
		wrongAfterAll.Samples[i].Business = wrong
		wrongAfterAll.Samples[i].Lost = []certification.Lost{{Reason: "timeout"}}
	}
	g.Expect(status(certification.Judge(wrongAfterAll))).To(Equal([4]string{passed, notJudged, failed, notJudged}), "tries excuse no wrong answer")
	lost := evidence(40)
	trouble(&lost.Samples[0])
	lost.Samples[0].Lost = []certification.Lost{{Reason: "rate_limited"}, {Reason: "timeout"}}
	g.Expect(certification.Judge(lost).Retried).To(HaveExactElements(HaveField("Reason", "rate_limited")), "the last one was not made again")
}

// A provider is drawn, not scripted: one whose true rate lies at the threshold may slip through in one
// run out of twenty, a good one gets its record, a flaky one never does.
func TestJudgeAgainstDrawnProviders(t *testing.T) {
	const runs = 2000
	for _, row := range []struct {
		rate     float64
		from, to float64 // share of runs that certify
	}{
		{rate: 1, from: 1, to: 1},
		{rate: 0.9, from: 0, to: 0.05},
		{rate: 0.8, from: 0, to: 0.005},
	} {
		t.Run(fmt.Sprintf("true rate %.2f", row.rate), func(t *testing.T) {
			draw := rand.New(rand.NewPCG(7, 11))
			certified := 0
			for range runs {
				e := evidence(40)
				for i := range e.Samples {
					if draw.Float64() >= row.rate {
						e.Samples[i].Business = wrong
					}
				}
				if certification.Judge(e).Verdict == certification.Certified {
					certified++
				}
			}
			NewWithT(t).Expect(float64(certified) / runs).To(And(BeNumerically(">=", row.from), BeNumerically("<=", row.to)))
		})
	}
}

func TestTroubleBudget(t *testing.T) {
	for _, row := range []struct {
		trouble, planned int
		spent            bool
	}{
		{0, 40, false}, {4, 40, false}, {5, 40, true}, {1, 4, false}, {2, 4, true}, {1, 1, false}, {10, 100, false}, {11, 100, true},
	} {
		if got := certification.TroubleBudgetSpent(row.trouble, row.planned); got != row.spent {
			t.Errorf("%d of %d: spent = %t", row.trouble, row.planned, got)
		}
	}
}
