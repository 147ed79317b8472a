package certification

import "slices"

// Reasons of this package's own; every other reason comes with the evidence.
const (
	// FindingTooFewSamples: nothing was wrong, but so few answers cannot prove the threshold.
	FindingTooFewSamples = "too_few_samples"
	// FindingTroubleBudget: provider trouble met more samples than a conclusive run may lose, or have answered only at
	// another try.
	FindingTroubleBudget = "provider_trouble"
	// FindingCaseUnanswered: every sample of a case was lost to provider trouble, so that what the others prove
	// leaves it out.
	FindingCaseUnanswered = "case_unanswered"
	// FindingSeveralModels: no model that answered proves the contract by its own answers alone.
	FindingSeveralModels = "several_models"
	// FindingIncomplete: samples are missing that no trouble explains.
	FindingIncomplete = "incomplete"
	// FindingStoppedEarly: samples are missing because another dimension had decided the verdict.
	FindingStoppedEarly = "stopped_early"
	// FindingNotEnforced: the contract requires the provider to enforce the schema, and it does not.
	FindingNotEnforced = "not_enforced"
	// FindingNotProbed: it does so require, and whether it does could not be seen.
	FindingNotProbed = "not_probed"
	// FindingProfileError: every call was refused as a bad request, 400 404 413 422.
	FindingProfileError = "profile_error"
)

// Judgement is what evidence amounts to.
type Judgement struct {
	Verdict    Verdict
	Dimensions []Dimension // prompt, structure, business, round trip
	PassAll    []float64   // pass^k for k = 1, 2, … samples a case: see statistics.PassAll
	Latency    *Latency    // nil where nothing was answered
	Retried    []Finding   // calls that ended in provider trouble and were made again
	Remarks    []Finding   // about answers, and no faults of them
	Cases      []CaseFigures
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
// wrong: what provider trouble kept from being seen makes it not judged, never failed. Samples that were not
// taken count against whatever they could still change: a dimension passes only if it would with all of
// them wrong, and fails only if it would with all of them right. Any failed dimension rejects, all passed
// certify, everything else is inconclusive. A case of which nothing was seen lets no dimension pass.
//
// Where trouble took more than its budget, a dimension fails only if besides the answers that did come prove by
// themselves, with 95 % confidence, that the rate lies below the threshold: that is the target's own doing, while
// one odd answer out of an outage is not.
func Judge(e Evidence) Judgement {
	t := newTally(e.Planned, e.Cases, e.Thresholds)
	for _, o := range e.Samples {
		t.add(o)
	}
	return t.judgement(e.Circumstances)
}

func (t *tally) judgement(c Circumstances) Judgement {
	dimensions := append([]Dimension{judgeCensus(c.Checks, t.prompt)}, t.dimensions()...)
	requireEnforcement(&dimensions[1], c)
	sayStopped(dimensions)
	return Judgement{
		Verdict: VerdictOf(dimensions), Dimensions: dimensions, PassAll: t.passAll(), Latency: t.latency.figures(c.Deadline),
		Retried: t.retried.sorted(), Remarks: t.remarks.sorted(), Cases: t.caseFigures(c.Checks),
	}
}

// requireEnforcement lets the structure dimension pass only where the provider enforces the schema, if the
// contract asks for that.
func requireEnforcement(structure *Dimension, c Circumstances) {
	if !c.RequireEnforcement || c.Enforcement == Enforced {
		return
	}
	one := Finding{Reason: FindingNotEnforced, Count: 1, Detail: notEnforced(c.Enforcement)}
	if c.Enforcement == NotProbed {
		one.Reason, one.Cause = FindingNotProbed, c.Unprobed.Cause
		one.Detail = "whether the provider enforces the schema could not be seen: " + c.Unprobed.Detail
	}
	switch {
	case one.Reason == FindingNotEnforced:
		structure.Status = StatusFailed
	case structure.Status == StatusPassed:
		structure.Status = StatusNotJudged
	}
	structure.Findings = append(structure.Findings, one)
}

func notEnforced(e Enforcement) string {
	switch e {
	case Complied:
		return "nothing shows that the provider enforces the schema: the target kept to it also where it was not sent"
	case NotSent:
		return "no schema is sent that a provider could enforce: say structured_output: json_schema in the target's profile"
	}
	return "the provider does not enforce the schema: ordered to break it, the target did"
}

// sayStopped names why samples are missing, once it is known that they could not change the verdict.
func sayStopped(dimensions []Dimension) {
	at := slices.IndexFunc(dimensions, func(d Dimension) bool { return d.Status == StatusFailed })
	if at < 0 {
		return
	}
	for _, d := range dimensions {
		for i, f := range d.Findings {
			if f.Reason == FindingIncomplete {
				d.Findings[i].Reason = FindingStoppedEarly
				d.Findings[i].Detail = "not taken: " + dimensions[at].Name + " had decided the verdict"
			}
		}
	}
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
		found.add(Finding{Reason: c.Reason, Case: c.Case, Sample: c.Sample, Detail: c.Detail, Cause: c.Cause}, 1)
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
