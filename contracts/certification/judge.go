package certification

import "github.com/fallproof/fallproof/contracts/statistics"

// Reasons of this package's own; every other reason comes with the evidence.
const (
	// FindingTooFewSamples: nothing was wrong, but so few answers cannot prove the threshold.
	FindingTooFewSamples = "too_few_samples"
	// FindingTroubleBudget: provider trouble took more samples than a conclusive run may lose.
	FindingTroubleBudget = "provider_trouble"
	// FindingIncomplete: samples are missing that no trouble explains.
	FindingIncomplete = "incomplete"
)

// Judgement is what evidence amounts to.
type Judgement struct {
	Verdict    Verdict
	Dimensions []Dimension // prompt, structure, business, round trip
}

// Dimension finds one dimension by its name.
func (j Judgement) Dimension(name string) Dimension {
	for _, d := range j.Dimensions {
		if d.Name == name {
			return d
		}
	}
	return Dimension{Name: name, Status: StatusNotJudged}
}

// Judge turns evidence into figures and a verdict.
//
// Rates are pooled over cases and samples and judged by their lower 95 % confidence bound; the prompt
// dimension is a census and judged exactly. A dimension fails only where something was seen to be
// wrong: what provider trouble kept from being seen makes it not judged, never failed. Any failed
// dimension rejects, all passed certify, everything else is inconclusive.
func Judge(e Evidence) Judgement {
	t := tallyOf(e)
	dimensions := []Dimension{
		judgeCensus(e.Checks, e.Thresholds.Prompt),
		t.judge(DimensionStructure, t.structure, e.Thresholds.Structure),
		t.judge(DimensionBusiness, t.business, e.Thresholds.Business),
		t.judge(DimensionRoundTrip, t.roundTrip, e.Thresholds.RoundTrip),
	}
	return Judgement{Verdict: VerdictOf(dimensions), Dimensions: dimensions}
}

// VerdictOf is the verdict of judged dimensions.
func VerdictOf(dimensions []Dimension) Verdict {
	verdict := Certified
	if len(dimensions) == 0 {
		return Inconclusive
	}
	for _, d := range dimensions {
		switch d.Status {
		case StatusFailed:
			return Rejected
		case StatusPassed:
		default:
			verdict = Inconclusive
		}
	}
	return verdict
}

// rate is one dimension's count.
type rate struct {
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

// tally is everything counted over the samples.
type tally struct {
	structure, business, roundTrip *rate
	trouble                        findings
	troubled                       int
	lost                           int    // samples that stopped says are missing
	stopped                        string // why the run says nothing about rates; "" = it does
}

func tallyOf(e Evidence) tally {
	t := tally{structure: &rate{}, business: &rate{}, roundTrip: &rate{}}
	for _, o := range e.Samples {
		own := []Finding{{Reason: o.Reason, Detail: o.Detail}}
		switch o.Kind {
		case Answered:
			t.roundTrip.add(o, nil)
			t.structure.add(o, o.Structure)
			if len(o.Structure) == 0 {
				t.business.add(o, o.Business)
			}
		case Unusable:
			t.roundTrip.add(o, own)
		default:
			t.troubled++
			t.trouble.addSample(o, own)
		}
	}
	switch {
	case TroubleBudgetSpent(t.troubled, e.Planned):
		t.stopped, t.lost = FindingTroubleBudget, t.troubled
	case len(e.Samples) < e.Planned:
		t.stopped, t.lost = FindingIncomplete, e.Planned-len(e.Samples)
	}
	return t
}

func (t tally) why() string {
	if t.stopped == FindingIncomplete {
		return "samples are missing"
	}
	return "it took more samples than a conclusive run may lose"
}

func (t tally) judge(name string, r *rate, threshold float64) Dimension {
	d := Dimension{
		Name: name, Successes: r.good, Samples: r.all, Threshold: threshold,
		LowerBound: statistics.LowerBound(r.good, r.all),
	}
	wrong := r.all - r.good
	found := r.findings
	switch {
	case t.stopped != "":
		d.Status = StatusNotJudged
		found.addNote(t.stopped, t.lost, t.why())
	case r.all == 0:
		d.Status = StatusNotJudged
	case d.LowerBound >= threshold:
		d.Status = StatusPassed
	case wrong == 0:
		d.Status = StatusNotJudged
		found.addNote(FindingTooFewSamples, r.all, "nothing was wrong, but so few answers cannot prove the threshold")
	case statistics.LowerBound(r.good+t.troubled, r.all+t.troubled) >= threshold:
		// Were the samples that trouble took all good, it would have passed: not the target's failure.
		d.Status = StatusNotJudged
		found.addNote(FindingTroubleBudget, t.troubled, "without the samples that were lost to it, the rest proves nothing")
	default:
		d.Status = StatusFailed
	}
	if name == DimensionRoundTrip { // where people look for what the provider did
		found = found.merged(t.trouble)
	}
	d.Findings = found.sorted()
	return d
}

// judgeCensus judges every check exactly. Checks that cannot be made here count on neither side.
func judgeCensus(checks []Check, threshold float64) Dimension {
	d := Dimension{Name: DimensionPrompt, Threshold: threshold, Census: true, Status: StatusPassed}
	var found findings
	missing, must := false, false
	for _, c := range checks {
		switch c.Status {
		case CheckPassed:
			d.Samples++
			d.Successes++
			continue
		case CheckFailed:
			d.Samples++
			must = must || c.Must
		case CheckMissing:
			missing = true
		}
		found.add(Finding{Reason: c.Reason, Case: c.Case, Sample: c.Sample, Detail: c.Detail}, 1)
	}
	if d.Samples > 0 {
		d.LowerBound = float64(d.Successes) / float64(d.Samples)
	}
	switch {
	case must, d.Samples > 0 && d.LowerBound < threshold:
		d.Status = StatusFailed
	case missing, d.Samples == 0:
		d.Status = StatusNotJudged
	}
	d.Findings = found.sorted()
	return d
}
