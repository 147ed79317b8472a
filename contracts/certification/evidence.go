package certification

import (
	"time"

	"github.com/fallproof/fallproof/providers"
)

// Evidence is what one run saw of a contract at a target, reduced to what judging needs. It is plain
// data: the same evidence gives the same judgement, whoever collected it and in whatever order.
type Evidence struct {
	Cases      []string // their names
	Planned    int      // how many samples a complete run has: cases × samples
	Thresholds Thresholds
	Samples    []Observation // what was seen of each sample; fewer than Planned where the run stopped early
	Circumstances
}

// Circumstances is what a run saw beside its samples.
type Circumstances struct {
	Checks   []Check       // the census of the prompt dimension
	Deadline time.Duration // the soft deadline, for who reads the latencies

	Enforcement        Enforcement // what the enforcement probe showed
	Unprobed           Finding     // of NotProbed: the cause, and its detail
	RequireEnforcement bool        // whether the structure dimension depends on it
}

// Enforcement is what a provider does about the schema that it is sent.
type Enforcement string

// What the enforcement probe can show: a call that orders the model to break the schema, and the same call
// without the schema.
const (
	Enforced  Enforcement = "enforced"   // the order was obeyed only where no schema was sent
	Complied  Enforcement = "complied"   // it was never obeyed: the model keeps to the schema by itself, as far as can be seen
	Ignored   Enforcement = "ignored"    // the schema was sent and broken
	NotSent   Enforcement = "not_sent"   // the profile sends no schema
	NotProbed Enforcement = "not_probed" // no answer that could tell
)

// Thresholds are what each dimension's figure must reach.
type Thresholds struct {
	Prompt, Structure, Business, RoundTrip float64
}

// Check is one deterministic check of the prompt dimension. These are judged exactly, one by one.
type Check struct {
	Name   string
	Status CheckStatus
	Must   bool   // a single failure fails the dimension, whatever the threshold says
	Reason string // a stable word, unless it passed
	Case   string
	Sample int
	Detail string
	Cause  string // of CheckMissing: why the call that would have shown it did not
}

// CheckStatus is how one check came out.
type CheckStatus string

const (
	CheckPassed      CheckStatus = "passed"
	CheckFailed      CheckStatus = "failed"
	CheckNotVerified CheckStatus = "not_verified" // declared to be impossible here: neither passed nor failed
	CheckMissing     CheckStatus = "missing"      // needed, but the provider let nothing be seen
)

// Observation is what one sample showed.
type Observation struct {
	Case  string
	Index int
	Kind  ObservationKind

	Latency time.Duration // of Answered: from the request to the last byte
	Lost    []Lost        // the calls that ended in provider trouble; of Trouble the last of them too

	Reason string // of Unusable and Trouble: a stable word
	Detail string // of Unusable and Trouble: one line for people

	Structure []Finding // of Answered: why the answer does not meet the schema; empty where it does
	Business  []Finding // of Answered, where the structure holds: the checks that fail
	Remarks   []Finding // of Answered: what is no fault and may surprise
}

// Lost is a call that ended in provider trouble, whether or not another one was made in its place.
type Lost struct {
	Reason string
	Detail string
	Took   time.Duration
	Down   bool // turned away by a 503: an overload, and no matter of how many calls there were
	Late   bool // no whole answer came by the soft deadline: the service would have called the attempt unknown
}

// throttled is a call that was turned away because of how many there were: that says something about whoever
// called, and nothing about the provider. A 503 that names a time to come back is an overload all the same.
func (l Lost) throttled() bool {
	return l.Reason == string(providers.ReasonRateLimited) && !l.Down
}

// ObservationKind divides samples by what they can say about the target.
type ObservationKind string

const (
	Answered ObservationKind = "answered" // an answer with content arrived in time
	Unusable ObservationKind = "unusable" // the provider answered definitely, and no answer was in it
	Trouble  ObservationKind = "trouble"  // 429, 5xx, silence, a lost connection: says nothing about the target
)

// TroubleBudgetSpent reports whether so many of the planned samples met with provider trouble that the run
// cannot be conclusive: more than one in ten, and at least two. A sample counts that was lost to it, and one whose
// answer came only at another try: in the service the first would have been an attempt that failed or is in doubt.
// A try that was throttled does not count, unless the last was too.
func TroubleBudgetSpent(trouble, planned int) bool { return trouble > troubleBudget(planned) }

// troubleBudget is how many samples of a conclusive run may meet with provider trouble.
func troubleBudget(planned int) int { return max(1, planned/10) }
