package certification

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fallproof/fallproof/contracts/statistics"
	"github.com/fallproof/fallproof/providers"
)

// Verdict is what a judged run concluded.
type Verdict string

const (
	Certified    Verdict = "certified"
	Rejected     Verdict = "rejected"
	Inconclusive Verdict = "inconclusive"
)

// Record is one judged run of a contract against a target. Records are append-only.
type Record struct {
	ID              string            `json:"id"`
	RunID           string            `json:"run_id"`
	RunName         string            `json:"run"`
	Contract        string            `json:"contract"`
	ContractDigest  string            `json:"contract_digest"`  // the whole folder
	EffectiveDigest string            `json:"effective_digest"` // the contract as this target sees it
	ProfileDigest   string            `json:"profile_digest"`
	ProofDigest     string            `json:"proof_digest"` // of the two above
	Parts           map[string]string `json:"parts"`        // what the digests are made of, by name: short texts as they are, of others the SHA-256; empty in records from before it was kept
	Target          providers.Target  `json:"target"`
	Verdict         Verdict           `json:"verdict"`
	Dimensions      []Dimension       `json:"dimensions"`
	Planned         int               `json:"planned"`        // samples that a whole run has, all cases together
	Taken           int               `json:"taken"`          // samples that were taken; fewer where the verdict was decided before
	SamplesPerCase  int               `json:"samples_a_case"` // as planned
	Mutation        *Mutation         `json:"mutation"`       // what the checks were worth; null in records from before it was asked
	PassAll         []float64         `json:"pass_all"`       // pass^k: the chance that k answers to one case are all good
	Latency         *Latency          `json:"latency"`        // null where nothing was answered and nothing came late
	Retried         []Finding         `json:"retried"`        // calls that ended in provider trouble and were made again, by reason
	Enforcement     Enforcement       `json:"enforcement"`
	Warnings        []Finding         `json:"warnings"` // what is worth knowing and changes no verdict
	Cases           []CaseFigures     `json:"cases"`    // by name
	Evidence        *EvidenceRef      `json:"evidence"` // what is kept beside the record; null where nothing is
	Parameters      Parameters        `json:"parameters"`
	ServedModels    []string          `json:"served_models"` // that answered; of a certified run that several served only those that gave enough answers
	Fingerprints    []string          `json:"fingerprints"`
	HarnessVersion  string            `json:"harness_version"`
	Source          providers.Source  `json:"source"`
	RunBy           string            `json:"run_by"`
	RunOn           string            `json:"run_on"`
	IssuedAt        time.Time         `json:"issued_at"`
	ExpiresAt       time.Time         `json:"expires_at"`
}

// Mutation is how many wrong answers the contract's checks refused when they were tried; see contracts/mutation.
type Mutation struct {
	Killed int     `json:"killed"`
	Total  int     `json:"total"`
	Score  float64 `json:"score"`
	Floor  float64 `json:"floor"` // below which the contract may certify nothing
}

// Names of the dimensions.
const (
	DimensionPrompt    = "prompt"
	DimensionStructure = "structure"
	DimensionBusiness  = "business"
	DimensionRoundTrip = "round_trip"
)

// Dimension is one judged figure with its sample size.
type Dimension struct {
	Name       string    `json:"name"`
	Status     string    `json:"status"` // passed | failed | not_judged
	Successes  int       `json:"successes"`
	Samples    int       `json:"samples"`
	LowerBound float64   `json:"lower_bound"` // one-sided 95 %; the plain rate where Census
	Threshold  float64   `json:"threshold"`
	Census     bool      `json:"census"` // judged exactly, not as a sample
	Findings   []Finding `json:"findings"`
}

// Asked is a threshold as people write it, with two decimals at least and never rounded: 0.90, 0.995.
func Asked(threshold float64) string {
	exact := strconv.FormatFloat(threshold, 'f', -1, 64)
	if rounded := strconv.FormatFloat(threshold, 'f', 2, 64); len(rounded) > len(exact) {
		return rounded
	}
	return exact
}

// PassAllWords are the figures of pass^k, each behind its k: "1: 0.900, 2: 0.800".
func (r Record) PassAllWords() string {
	var words []string
	for i, figure := range r.PassAll {
		words = append(words, fmt.Sprintf("%d: %s", i+1, statistics.Shown(figure)))
	}
	return strings.Join(words, ", ")
}

// Bound is what the figure proves, in words.
func (d Dimension) Bound() string {
	if d.Census {
		return "exactly " + statistics.Shown(d.LowerBound)
	}
	return fmt.Sprintf("at least %s with 95 %% confidence", statistics.Shown(d.LowerBound))
}

// Status of a dimension.
const (
	StatusPassed    = "passed"
	StatusFailed    = "failed"
	StatusNotJudged = "not_judged" // nothing arrived that could be judged
)

// Finding is one reason, with how often it was seen and one instance of it.
type Finding struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	Case   string `json:"case,omitempty"`
	Sample int    `json:"sample,omitempty"`
	Detail string `json:"detail,omitempty"`
	Cause  string `json:"cause,omitempty"` // of what could not be seen: why the call ended as it did
}

// EvidenceRef names the evidence that is kept beside a record: every exchange of its run.
type EvidenceRef struct {
	Digest  string `json:"digest"`  // SHA-256 over the document, hexadecimal
	Bytes   int64  `json:"bytes"`   // of the document, not compressed
	Samples int    `json:"samples"` // of cases that it holds
}

// Parameters are what really left the machine, read off the wire bytes.
type Parameters struct {
	Temperature    *float64 `json:"temperature"` // nil = not sent
	MaxTokensField string   `json:"max_tokens_field"`
	MaxTokens      int      `json:"max_tokens"`
	ResponseFormat string   `json:"response_format"` // json_schema | json_object | "" = not sent
	SystemRole     string   `json:"system_role"`
	Unavailable    []string `json:"unavailable,omitempty"` // parameters that the profile omits
	TokenChecks    string   `json:"token_checks"`          // verified | not_verified
}
