package contracts

import (
	"slices"
	"time"

	"github.com/fallproof/fallproof/providers"
)

// Effects says what an attempt may have done in the world when its outcome is not known.
type Effects string

// What may follow automatically from an attempt in doubt, where a route's policy asks for it. Without
// such a policy an attempt in doubt blocks until an external process ends the doubt, whatever its effects.
const (
	EffectsExternal   Effects = "external"   // nothing: an external process ends the doubt
	EffectsIdempotent Effects = "idempotent" // the same attempt may be sent again with its own key
	EffectsNone       Effects = "none"       // it may be released after ReleaseAfter
)

// The words of a contract's require list. Without its word a check that could not be made, or a provider
// that does not enforce a schema, is recorded and decides nothing.
const (
	RequireTokens      = "tokens"      // the token checks of the prompt: not_verified fails
	RequireEnforcement = "enforcement" // the provider must enforce the schema, not merely comply with it
)

// Contract is one contract folder, read. It is immutable: share it, do not write to it.
type Contract struct {
	Name         string
	Effects      Effects
	ReleaseAfter time.Duration // when a release policy may act; only with EffectsNone; 0 = never

	Messages []providers.Message            // templates, see contracts/prompt
	Variants map[string][]providers.Message // by target: replaces Messages there

	SchemaFile string // path inside the folder
	SchemaName string // the name that goes with the schema on the wire
	Schema     []byte // the JSON Schema document, byte for byte

	UnwrapFence bool // a code fence that is the whole answer is taken off before it is read

	Require []string // what must be shown rather than merely not contradicted: RequireTokens, RequireEnforcement

	Sampling   Sampling
	Checks     []Check
	Thresholds Thresholds
	ValidFor   time.Duration // how long a certification counts

	MutationFloor float64  // the share of wrong answers that the checks must refuse
	Unordered     []string // JSON pointers of the answer's arrays whose order means nothing; * is any index
	FreeText      []string // likewise of its texts that may be worded in other ways

	Cases []Case // sorted by file name

	files  map[string][]byte // the whole folder, by slash-separated path
	source *yamlSource       // contract.yaml, for line numbers
}

// Sampling is how answers are drawn.
type Sampling struct {
	Temperature     float64
	Samples         int // per case
	MaxOutputTokens int // 0 = not sent
}

// Check is one business check: a CEL expression over input, output and expected that must be true.
type Check struct {
	Name string
	Expr string
}

// Thresholds are what the lower 95 % confidence bound of each dimension's rate must reach.
type Thresholds struct {
	Prompt    float64
	Structure float64
	Business  float64
	RoundTrip float64
}

// Threshold is what one dimension must reach.
type Threshold struct {
	Dimension string // as a contract's file names it
	Rate      float64
}

// Sampled are the thresholds that samples have to prove. Prompt is not among them: its checks are a census.
func (t Thresholds) Sampled() []Threshold {
	return []Threshold{{"structure", t.Structure}, {"business", t.Business}, {"round_trip", t.RoundTrip}}
}

// Case is one real input, with the answer where one is known to be right.
type Case struct {
	Name     string
	File     string // path inside the folder
	Input    map[string]any
	Expected map[string]any // nil = absent
}

// MessagesFor is the prompt of one target: its variant where it has one. The caller must not change it.
func (c *Contract) MessagesFor(target providers.Target) []providers.Message {
	if variant, ok := c.Variants[target.String()]; ok {
		return variant
	}
	return c.Messages
}

// Requires reports whether the contract's require list has a word.
func (c *Contract) Requires(word string) bool { return slices.Contains(c.Require, word) }

// Line is where in contract.yaml a YAML path such as $.checks[2] stands; 0 where it does not.
func (c *Contract) Line(at string) int {
	if c.source == nil {
		return 0
	}
	return c.source.line(at)
}

// CaseNames are the names of the cases, in their order.
func (c *Contract) CaseNames() []string {
	var names []string
	for _, each := range c.Cases {
		names = append(names, each.Name)
	}
	return names
}

// CaseNamed finds a case by its name.
func (c *Contract) CaseNamed(name string) (Case, bool) {
	i := slices.IndexFunc(c.Cases, func(each Case) bool { return each.Name == name })
	if i < 0 {
		return Case{}, false
	}
	return c.Cases[i], true
}
