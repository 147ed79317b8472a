package providers

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// usageIn reads the provider's count. A count that is absent, incomplete or makes no sense is unknown,
// hence nil, and never zero; a missing total is the sum.
func usageIn(raw jsontext.Value) *Usage {
	var counts struct {
		Prompt     jsontext.Value `json:"prompt_tokens"`
		Completion jsontext.Value `json:"completion_tokens"`
		Total      jsontext.Value `json:"total_tokens"`
	}
	if raw.Kind() != '{' || json.Unmarshal(raw, &counts) != nil {
		return nil
	}
	prompt, ok1 := countIn(counts.Prompt)
	completion, ok2 := countIn(counts.Completion)
	if !ok1 || !ok2 {
		return nil
	}
	total, ok := countIn(counts.Total)
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
