package certification_test

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
)

func TestJudgeByCase(t *testing.T) {
	g := NewWithT(t)
	e := evidence(40) // case 0 … case 7, five samples each
	e.Samples[1].Structure = []certification.Finding{{Reason: "fenced", Detail: "first"}}
	e.Samples[9].Structure = []certification.Finding{{Reason: "fenced"}, {Reason: "fenced"}}
	e.Samples[17].Business = wrong
	e.Samples[2] = certification.Observation{Case: "case 2", Kind: certification.Unusable, Reason: "refused"}
	for i := range 5 {
		trouble(&e.Samples[3+8*i])
	}
	e.Checks = append(e.Checks,
		certification.Check{Status: certification.CheckFailed, Case: "case 4", Reason: "token_count_differs", Detail: "9, 3"},
		certification.Check{Status: certification.CheckNotVerified, Case: "case 5", Reason: "not_verified"},
		certification.Check{Status: certification.CheckFailed, Reason: "system_prompt_ignored"})
	judgement := certification.Judge(e)
	none := []certification.Finding{}
	want := []certification.CaseFigures{
		{Case: "case 0", Samples: 5, Usable: 5, Structure: 5, Business: 5, Findings: none},
		{Case: "case 1", Samples: 5, Usable: 5, Structure: 3, Business: 2, Findings: []certification.Finding{
			{Reason: "fenced", Count: 2, Case: "case 1", Detail: "first"}, {Reason: "wrong", Count: 1, Case: "case 1", Sample: 2, Detail: "here"},
		}},
		{Case: "case 2", Samples: 5, Usable: 4, Structure: 4, Business: 4, Findings: []certification.Finding{{Reason: "refused", Count: 1, Case: "case 2"}}},
		{Case: "case 3", Samples: 5, Trouble: 5, Findings: []certification.Finding{{Reason: "timeout", Count: 5, Case: "case 3"}}},
		{Case: "case 4", Samples: 5, Usable: 5, Structure: 5, Business: 5, Prompt: 1, Findings: []certification.Finding{
			{Reason: "token_count_differs", Count: 1, Case: "case 4", Detail: "9, 3"},
		}},
	}
	g.Expect(judgement.Cases).To(HaveLen(8))
	g.Expect(judgement.Cases[:5]).To(Equal(want))
	g.Expect(judgement.Cases[5].Findings).To(BeEmpty(), "what cannot be verified is no fault of the case")
	var outcomes []certification.CaseOutcome
	for _, c := range judgement.Cases[:5] {
		outcomes = append(outcomes, c.Outcome())
	}
	g.Expect(outcomes).To(Equal([]certification.CaseOutcome{
		certification.CasePassed, certification.CaseFailed, certification.CaseFailed, certification.CaseNotSeen, certification.CaseFailed,
	}), "of the last the prompt is at fault")

	slices.Reverse(e.Samples)
	turned := certification.Judge(e).Cases
	for i := range turned { // which instance comes first is a matter of order, the figures are not
		turned[i].Findings, judgement.Cases[i].Findings = nil, nil
	}
	g.Expect(turned).To(Equal(judgement.Cases))
}

// A record stays small: of very many cases those that went wrong are kept.
func TestJudgeBoundsTheCases(t *testing.T) {
	g := NewWithT(t)
	e := evidence(0)
	for i := range 1000 {
		o := certification.Observation{Case: fmt.Sprintf("case %04d", i), Kind: certification.Answered}
		if i >= 900 {
			for reason := range 30 {
				o.Structure = append(o.Structure, certification.Finding{Reason: fmt.Sprintf("reason %02d", reason)})
			}
		}
		e.Samples = append(e.Samples, o)
	}
	e.Planned = len(e.Samples)
	cases := certification.Judge(e).Cases
	g.Expect(cases).To(HaveLen(200))
	g.Expect(cases[0].Case).To(Equal("case 0000"))
	g.Expect(cases[100].Case).To(Equal("case 0900"))
	g.Expect(cases[199].Case).To(Equal("case 0999"))
	g.Expect(cases[199].Findings).To(HaveLen(5))
}
