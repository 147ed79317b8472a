package providers

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// usageNames are how a wire format calls what it counts.
type usageNames struct{ prompt, completion string }

var (
	completionUsage = usageNames{"prompt_tokens", "completion_tokens"}
	responseUsage   = usageNames{"input_tokens", "output_tokens"}
)

// usageIn reads the provider's count. A count that is absent, incomplete or makes no sense is unknown,
// hence nil, and never zero; a missing total is the sum.
func usageIn(raw jsontext.Value, names usageNames) *Usage {
	var counts map[string]jsontext.Value
	if raw.Kind() != '{' || json.Unmarshal(raw, &counts) != nil {
		return nil
	}
	prompt, ok1 := countIn(counts[names.prompt])
	completion, ok2 := countIn(counts[names.completion])
	if !ok1 || !ok2 {
		return nil
	}
	total, ok := countIn(counts["total_tokens"])
	if !ok {
		total = prompt + completion
	}
	return &Usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: total}
}

// countIn reads a whole number of tokens; 12.0 is 12. Beyond 2^31 it is no count of tokens.
func countIn(raw jsontext.Value) (int, bool) {
	if raw.Kind() != '0' {
		return 0, false
	}
	number, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || number < 0 || number > math.MaxInt32 || number != math.Trunc(number) {
		return 0, false
	}
	return int(number), true
}
