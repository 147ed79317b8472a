package providers

import (
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errorCodes are the codes by which an error body says something else than its status, a 4xx that stands for
// any bad request: the account is turned away, or the prompt is refused for what it says. In lower case.
//
// They are those that OpenAI, Azure OpenAI, Gemini, DeepSeek, Anthropic and Alibaba document, and what
// compatible servers took over from them.
var errorCodes = map[string]Reason{
	"invalid_api_key":            ReasonUnauthorized,
	"api_key_invalid":            ReasonUnauthorized,
	"api_key_expired":            ReasonUnauthorized,
	"authentication_error":       ReasonUnauthorized,
	"account_deactivated":        ReasonUnauthorized,
	"insufficient_quota":         ReasonUnauthorized,
	"insufficient_balance":       ReasonUnauthorized,
	"billing_error":              ReasonUnauthorized,
	"billing_not_active":         ReasonUnauthorized,
	"billing_hard_limit_reached": ReasonUnauthorized,

	"content_filter":               ReasonRefused,
	"content_policy_violation":     ReasonRefused,
	"responsibleaipolicyviolation": ReasonRefused,
	"data_inspection_failed":       ReasonRefused,
}

// accountWords are how providers say the same of an account that have no code for it.
var accountWords = regexp.MustCompile(`(?i)\b(?:incorrect|invalid|expired|missing|no(?:t a)? valid) api[ -]?key\b|` +
	`\bapi[ -]?key (?:is )?(?:not valid|invalid|expired|not found|missing|incorrect)\b|\bcredit balance\b`)

// codedReason is what an error body says by a code of [errorCodes], or of the account in words.
func codedReason(body []byte) (Reason, bool) {
	for _, code := range codesIn(body, 0) {
		if reason, known := errorCodes[strings.ToLower(code)]; known {
			return reason, true
		}
	}
	if accountWords.MatchString(errorMessage(body)) {
		return ReasonUnauthorized, true
	}
	return ReasonNone, false
}

// codeMembers are where the shapes of error bodies keep codes: {"error": {"code": …, "type": …, "status": …,
// "innererror": {"code": …}, "details": [{"reason": …}]}}, the same within a list, and bare.
var codeMembers = []string{"code", "type", "status", "reason"}

const deepestCode = 5

// codesIn lists the codes of a body, outermost first.
func codesIn(raw jsontext.Value, depth int) []string {
	if depth > deepestCode {
		return nil
	}
	var inside []jsontext.Value
	var codes []string
	switch raw.Kind() {
	case '[':
		if json.Unmarshal(raw, &inside) != nil {
			return nil
		}
	case '{':
		var members map[string]jsontext.Value
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		for _, name := range codeMembers {
			if code, ok := stringIn(members[name]); ok {
				codes = append(codes, code)
			}
		}
		inside = []jsontext.Value{members["error"], members["innererror"], members["details"]}
	}
	for _, one := range inside {
		codes = append(codes, codesIn(one, depth+1)...)
	}
	return codes
}
