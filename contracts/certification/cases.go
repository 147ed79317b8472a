package certification

import (
	"cmp"
	"slices"
)

// A record's figures by case are bounded: a contract may have as many cases as it likes.
const (
	maxCases        = 200
	maxCaseFindings = 5
)

// CaseFigures is how one case came out over its samples.
type CaseFigures struct {
	Case      string    `json:"case"`
	Samples   int       `json:"samples"`       // taken
	Trouble   int       `json:"trouble"`       // of the samples: lost to provider trouble
	Usable    int       `json:"usable"`        // of the samples: an answer arrived that could be judged
	Structure int       `json:"structure"`     // of the usable: they meet the schema
	Business  int       `json:"business"`      // of those: they pass every check
	Prompt    int       `json:"prompt_faults"` // checks of its prompt that failed
	Findings  []Finding `json:"findings"`      // the most frequent ones
}

// CaseOutcome is what a case's figures amount to.
type CaseOutcome string

const (
	CasePassed  CaseOutcome = "passed"   // its prompt is, and every sample that says something about the target is wholly good
	CaseFailed  CaseOutcome = "failed"   // at least one is not, or the prompt
	CaseNotSeen CaseOutcome = "not_seen" // there is none
)

// Outcome says whether everything that was seen of the case is good.
func (c CaseFigures) Outcome() CaseOutcome {
	switch seen := c.Samples - c.Trouble; {
	case c.Prompt > 0:
		return CaseFailed
	case seen <= 0:
		return CaseNotSeen
	case c.Business == seen:
		return CasePassed
	}
	return CaseFailed
}

// caseCount counts one case while samples come in.
type caseCount struct {
	good, all int // wholly good, of those that say something about the target
	figures   CaseFigures
	findings  findings
	trouble   findings
}

// caseOf is the count of a case, made where it is the first of it.
func (t *tally) caseOf(name string) *caseCount {
	count := t.cases[name]
	if count == nil {
		count = &caseCount{figures: CaseFigures{Case: name}}
		t.cases[name] = count
	}
	return count
}

func (c *caseCount) add(o Observation) {
	c.figures.Samples++
	own := []Finding{{Reason: o.Reason, Detail: o.Detail}}
	switch o.Kind {
	case Answered:
		c.figures.Usable++
	case Unusable:
		c.all++
		c.findings.addSample(o, own)
		return
	default:
		c.figures.Trouble++
		c.trouble.addSample(o, own)
		return
	}
	c.all++
	switch {
	case len(o.Structure) > 0:
		c.findings.addSample(o, o.Structure)
	case len(o.Business) > 0:
		c.figures.Structure++
		c.findings.addSample(o, o.Business)
	default:
		c.figures.Structure++
		c.figures.Business++
		c.good++
	}
}

// caseFigures lists the cases by name, with what failed of the prompt checks among their findings. Where
// there are too many for a record, those that went wrong are kept first.
func (t *tally) caseFigures(checks []Check) []CaseFigures {
	found, of := map[string]findings{}, map[string]CaseFigures{}
	for name, count := range t.cases {
		found[name], of[name] = t.named(count.findings).merged(count.trouble), count.figures
	}
	for _, c := range checks {
		if c.Case == "" || c.Status != CheckFailed {
			continue
		}
		list, one := findings{slices.Clone(found[c.Case].list)}, of[c.Case]
		list.add(Finding{Reason: c.Reason, Case: c.Case, Sample: c.Sample, Detail: c.Detail}, 1)
		one.Case = c.Case
		one.Prompt++
		found[c.Case], of[c.Case] = list, one
	}
	figures := make([]CaseFigures, 0, len(of))
	for name, one := range of {
		one.Findings = found[name].sorted()
		one.Findings = one.Findings[:min(len(one.Findings), maxCaseFindings)]
		figures = append(figures, one)
	}
	if len(figures) > maxCases {
		slices.SortFunc(figures, func(a, b CaseFigures) int {
			return cmp.Or(cmp.Compare(severity(a), severity(b)), cmp.Compare(a.Case, b.Case))
		})
		figures = figures[:maxCases]
	}
	slices.SortFunc(figures, func(a, b CaseFigures) int { return cmp.Compare(a.Case, b.Case) })
	return figures
}

// severity sorts what went wrong before what did not.
func severity(c CaseFigures) int {
	switch {
	case c.Outcome() == CaseFailed:
		return 0
	case len(c.Findings) > 0 || c.Outcome() == CaseNotSeen:
		return 1
	}
	return 2
}
