package certification

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/statistics"
	"github.com/fallproof/fallproof/providers"
)

// rate is one dimension's count.
type rate struct {
	name      string
	threshold float64
	good, all int
	findings  findings
}

func (r *rate) add(o Observation, wrong []Finding) {
	r.all++
	if len(wrong) == 0 {
		r.good++
		return
	}
	r.findings.addSample(o, wrong)
}

// tally is everything counted over the samples. It takes as much memory for many as for few.
type tally struct {
	planned                        int
	prompt                         float64 // its threshold; the dimension is a census and not counted here
	taken, troubled                int
	disturbed                      int // of the samples: lost to trouble, or answered only after it
	refused                        int // of the samples: the provider turned the call away for what it is
	structure, business, roundTrip *rate
	trouble, remarks               findings
	retried                        findings // calls that trouble ended, and that were made again
	names                          []string // of the cases
	cases                          map[string]*caseCount
	latency                        latencies
}

func newTally(planned int, cases []string, thresholds Thresholds) *tally {
	return &tally{
		names:     cases,
		planned:   planned,
		prompt:    thresholds.Prompt,
		structure: &rate{name: DimensionStructure, threshold: thresholds.Structure},
		business:  &rate{name: DimensionBusiness, threshold: thresholds.Business},
		roundTrip: &rate{name: DimensionRoundTrip, threshold: thresholds.RoundTrip},
		cases:     map[string]*caseCount{},
	}
}

func (t *tally) add(o Observation) {
	t.taken++
	t.caseOf(o.Case).add(o)
	t.addLost(o)
	own := []Finding{{Reason: o.Reason, Detail: o.Detail}}
	switch o.Kind {
	case Answered:
		t.roundTrip.add(o, nil)
		t.structure.add(o, o.Structure)
		if len(o.Structure) == 0 {
			t.business.add(o, o.Business)
		}
		t.latency.add(o.Latency)
		t.remarks.addSample(o, o.Remarks)
	case Unusable:
		t.roundTrip.add(o, own)
		if refusals[o.Reason] != "" {
			t.refused++
		}
	default:
		t.troubled++
		t.trouble.addSample(o, own)
	}
}

// addLost counts the calls of a sample that ended in trouble.
func (t *tally) addLost(o Observation) {
	disturbed := o.Kind == Trouble
	for i, lost := range o.Lost {
		if lost.Late {
			t.latency.addLate(lost.Took)
		}
		disturbed = disturbed || !lost.throttled()
		if again := o.Kind != Trouble || i < len(o.Lost)-1; again {
			t.retried.add(Finding{Reason: lost.Reason, Case: o.Case, Sample: o.Index, Detail: lost.Detail}, 1)
		}
	}
	if disturbed {
		t.disturbed++
	}
}

func (t *tally) missing() int { return max(0, t.planned-t.taken) }

func (t *tally) rates() []*rate { return []*rate{t.structure, t.business, t.roundTrip} }

func (t *tally) dimensions() []Dimension {
	var judged []Dimension
	for _, r := range t.rates() {
		judged = append(judged, t.judge(r))
	}
	return judged
}

// surelyPasses: it would even if all samples that are not there were wrong.
func (t *tally) surelyPasses(r *rate) bool {
	return r.all > 0 && statistics.Proves(r.good, r.all+t.missing(), r.threshold)
}

// surelyFails: it would even if all samples that are not there, or that trouble took, were good.
func (t *tally) surelyFails(r *rate) bool {
	unseen := t.missing() + t.troubled
	return r.good < r.all && !statistics.Proves(r.good+unseen, r.all+unseen, r.threshold)
}

// refuted: what was answered proves by itself that the rate is too low.
func (t *tally) refuted(r *rate) bool { return statistics.Refutes(r.good, r.all, r.threshold) }

func (t *tally) judge(r *rate) Dimension {
	d := Dimension{
		Name: r.name, Successes: r.good, Samples: r.all, Threshold: r.threshold,
		LowerBound: statistics.LowerBound(r.good, r.all), Status: StatusNotJudged,
	}
	found := findings{slices.Clone(r.findings.list)}
	unseen := t.unseen()
	lost, disturbed := TroubleBudgetSpent(t.troubled, t.planned), TroubleBudgetSpent(t.disturbed, t.planned)
	switch {
	case t.surelyFails(r) && (!lost || t.refuted(r)): // an answer that came at another try is one all the same
		d.Status = StatusFailed
	case disturbed:
		cause := t.commonestTrouble()
		found.add(Finding{Reason: FindingTroubleBudget, Cause: cause, Detail: fmt.Sprintf(
			"samples were lost to it or answered only at another try, mostly for %s; a conclusive run of %d has no more than %d",
			cause, t.planned, troubleBudget(t.planned)),
		}, t.disturbed)
		if lost := t.lostCases(); len(lost) > 0 {
			found.add(t.unanswered(lost), len(lost))
		}
	case t.missing() > 0 && !t.surelyPasses(r):
		found.addNote(FindingIncomplete, t.missing(), "samples are missing")
	case len(unseen) > 0:
		found.add(t.unanswered(unseen), len(unseen))
	case t.surelyPasses(r):
		d.Status = StatusPassed
	case r.all == 0:
	case r.good == r.all:
		found.addNote(FindingTooFewSamples, r.all, "nothing was wrong, but so few answers cannot prove the threshold")
	default:
		// Were the samples that trouble took all good, it would have passed: not the target's failure.
		found.add(Finding{
			Reason: FindingTroubleBudget, Cause: t.commonestTrouble(), Detail: "without the samples that were lost to it, the rest proves nothing",
		}, t.troubled)
	}
	if r == t.roundTrip { // where people look for what the provider did
		found = t.named(found).merged(t.trouble)
	}
	d.Findings = found.sorted()
	return d
}

// commonestTrouble is the reason for which most calls were lost.
func (t *tally) commonestTrouble() string {
	all := t.trouble.merged(t.retried).sorted()
	if len(all) == 0 {
		return ""
	}
	return all[0].Reason
}

// refusals are the reasons of a provider that refuses calls, and what it is called when it refuses all of them:
// not a target that fails now and then, but a profile that cannot work.
var refusals = map[string]string{string(providers.ReasonRejected): FindingProfileError}

// reason is what an unusable sample's reason is called, all samples considered.
func (t *tally) reason(one string) string {
	if name := refusals[one]; name != "" && t.refused > 0 && t.refused == t.taken-t.troubled {
		return name
	}
	return one
}

// named calls the findings by those names.
func (t *tally) named(f findings) findings {
	list := slices.Clone(f.list)
	for i := range list {
		list[i].Reason = t.reason(list[i].Reason)
	}
	return findings{list}
}

// unseen are the cases without a sample that says something about the target.
func (t *tally) unseen() []string {
	var names []string
	for _, name := range t.names {
		if c := t.cases[name]; c == nil || c.all == 0 {
			names = append(names, name)
		}
	}
	return names
}

// lostCases are those of which some samples were taken and all of these were lost.
func (t *tally) lostCases() []string {
	return slices.DeleteFunc(t.unseen(), func(name string) bool { return t.cases[name] == nil })
}

// unanswered says which cases a run proves nothing of.
func (t *tally) unanswered(names []string) Finding {
	detail := "none of its samples was answered, and those of other cases prove nothing of it"
	if len(names) > 1 {
		listed := strings.Join(names[:min(len(names), maxFindings)], "; ")
		if more := len(names) - maxFindings; more > 0 {
			listed += fmt.Sprintf("; and %d more", more)
		}
		detail = "none of their samples was answered, and those of other cases prove nothing of them: " + listed
	}
	return Finding{Reason: FindingCaseUnanswered, Case: names[0], Cause: t.commonestTrouble(), Detail: detail}
}

// casesSeen is how many cases have a sample that says something about the target.
func (t *tally) casesSeen() int {
	seen := 0
	for _, c := range t.cases {
		if c.all > 0 {
			seen++
		}
	}
	return seen
}

// passAll is pass^k averaged over the cases, for each k that every case has samples for. They are summed in the
// order of their names: in any other the last digits would differ from one judgement of the same evidence to the
// next.
func (t *tally) passAll() []float64 {
	figures, seen := []float64{}, t.casesSeen()
	names := slices.Sorted(maps.Keys(t.cases))
	for k := 1; seen > 0; k++ {
		sum := 0.0
		for _, name := range names {
			c := t.cases[name]
			if c.all == 0 {
				continue
			}
			if c.all < k {
				return figures
			}
			sum += statistics.PassAll(c.good, c.all, k)
		}
		figures = append(figures, sum/float64(seen))
	}
	return figures
}
