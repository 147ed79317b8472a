package certification

import (
	"slices"
	"strings"
)

// kept are the reasons that keep a dimension of samples from being judged; of others it has some that are
// faults, and were too few to fail it.
var kept = []string{FindingTroubleBudget, FindingCaseUnanswered, FindingIncomplete, FindingStoppedEarly, FindingNotProbed}

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
		case !d.Census && !slices.Contains(kept, f.Reason):
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
