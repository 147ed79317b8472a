package providers

import (
	"fmt"
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
// hence nil, and never zero; a missing total is the sum. fault says what makes no sense, if anything: a total
// below its parts does not either, though the parts are taken as they stand.
func usageIn(raw jsontext.Value, names usageNames) (usage *Usage, fault string) {
	var counts map[string]jsontext.Value
	switch kind := raw.Kind(); {
	case len(raw) == 0 || kind == 'n':
		return nil, ""
	case kind != '{' || json.Unmarshal(raw, &counts) != nil:
		return nil, "usage is no object"
	}
	read := map[string]int{}
	for _, name := range []string{"total_tokens", names.completion, names.prompt} {
		switch n, ok := countIn(counts[name]); {
		case ok:
			read[name] = n
		case len(counts[name]) > 0 && counts[name].Kind() != 'n':
			fault = oneLine(name + " is " + string(counts[name]))
		}
	}
	prompt, ok1 := read[names.prompt]
	completion, ok2 := read[names.completion]
	if !ok1 || !ok2 {
		return nil, fault
	}
	total, ok := read["total_tokens"]
	switch {
	case !ok:
		total = prompt + completion
	case total < prompt+completion:
		fault = fmt.Sprintf("total_tokens is %d, and its parts are %d and %d", total, prompt, completion)
	}
	return &Usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: total}, fault
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
