package certification

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/statistics"
)

// ofTheRun are the reasons that keep a dimension of samples from being judged: they concern the run. Of others it
// may have some that are faults, and were too few to fail it.
var ofTheRun = []string{FindingTroubleBudget, FindingCaseUnanswered, FindingIncomplete, FindingStoppedEarly, FindingNotProbed, FindingTooFewSamples,
	FindingSeveralModels,
}

// Why is the finding for which a dimension did not pass, the most frequent one. Of a dimension that was not judged
// it is what kept it from that, whatever faults were seen besides. What could not be verified neither passes nor
// fails, and is it only where there is nothing else.
func (d Dimension) Why() (Finding, bool) {
	if d.Status == StatusNotJudged {
		if f, ok := d.lacking(); ok {
			return f, true
		}
	}
	for _, f := range d.Findings {
		if f.Reason != string(CheckNotVerified) && (d.Status != StatusFailed || d.isFault(f)) {
			return f, true
		}
	}
	for _, f := range d.Findings { // what was required, and could not be verified
		if d.isFault(f) {
			return f, true
		}
	}
	if len(d.Findings) == 0 {
		return Finding{}, false
	}
	return d.Findings[0], true
}

// isFault tells what was seen to be wrong from what was not seen.
func (d Dimension) isFault(f Finding) bool {
	return f.Cause == "" && !slices.Contains(ofTheRun, f.Reason)
}

// lacking is what could not be seen; where its cause is among the findings itself, that tells more.
func (d Dimension) lacking() (Finding, bool) {
	for _, f := range d.Findings {
		if f.Cause == "" && !slices.Contains(ofTheRun, f.Reason) {
			continue
		}
		cause := slices.IndexFunc(d.Findings, func(other Finding) bool { return other.Reason == f.Cause })
		if cause >= 0 {
			return d.Findings[cause], true
		}
		return f, true
	}
	return Finding{}, false
}

// WhyInconclusive is what kept the run from being judged: what became of its calls first.
func (r Record) WhyInconclusive() (Finding, bool) {
	first := Finding{}
	for _, d := range slices.Backward(r.Dimensions) { // the round trip's tell more than what followed from them
		if d.Status != StatusNotJudged {
			continue
		}
		f, ok := d.Why()
		vague := f.Cause == "" && (slices.Contains(ofTheRun, f.Reason) || f.Reason == string(CheckNotVerified))
		if ok && !vague {
			return f, true
		}
		first = cmp.Or(first, f)
	}
	return first, first.Reason != ""
}

// Vetoed is what stands behind a dimension that failed although its figure would do, in words; "" of any other.
func (d Dimension) Vetoed() string {
	if d.Status != StatusFailed || !d.Census || d.LowerBound < d.Threshold {
		return ""
	}
	return "one that failed decides by itself"
}

// Borne is how many answers it would have taken to prove the threshold with as many wrong ones among them, in words. It is ""
// where the dimension did not fail by its figure, and where this shows, with the same confidence, that the rate is too low.
func (d Dimension) Borne() string {
	wrong := d.Samples - d.Successes
	if d.Status != StatusFailed || d.Census || wrong == 0 || statistics.Refutes(d.Successes, d.Samples, d.Threshold) {
		return ""
	}
	n, ok := statistics.Bearing(wrong, d.Threshold)
	if !ok || n <= d.Samples {
		return ""
	}
	return fmt.Sprintf("so few do not tell: %d wrong in %d would do", wrong, n)
}

// Unseen are the reasons, in words, why a dimension is not judged although its figure would do: what was seen
// was good, and something could not be seen. It is "" of any other dimension, whose figure says enough.
func (d Dimension) Unseen() string {
	if d.Status != StatusNotJudged || d.Samples == 0 || d.LowerBound < d.Threshold {
		return ""
	}
	if d.Census && d.Successes < d.Samples {
		return "some checks" // which of the findings are faults is no longer known
	}
	var required, unverified []string
	for _, f := range d.Findings {
		switch reason := strings.ReplaceAll(f.Reason, "_", " "); {
		case f.Reason == FindingStoppedEarly: // it was not to be seen any more
		case !d.Census && !slices.Contains(ofTheRun, f.Reason):
		case d.Census && f.Reason == string(CheckNotVerified): // declared to be impossible, unless nothing else is missing
			unverified = append(unverified, reason)
		default:
			required = append(required, reason)
		}
	}
	if required == nil {
		required = unverified
	}
	return strings.Join(required, ", ")
}
