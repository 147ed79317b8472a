package providers

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
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

// filterWords are how those say it under a 403 that have no code for what a prompt says, e.g. OpenRouter.
var filterWords = regexp.MustCompile(`(?i)\b(?:flagged|moderation|content (?:policy|filter|management))\b`)

// codedReason is what the body of a rejection says by a code of [errorCodes], or in words.
func codedReason(status int, body []byte) (Reason, bool) {
	for _, code := range codesIn(body, 0) {
		if reason, known := errorCodes[strings.ToLower(code)]; known {
			return reason, true
		}
	}
	switch message := errorMessage(body); {
	case accountWords.MatchString(message):
		return ReasonUnauthorized, true
	case status == http.StatusForbidden && filterWords.MatchString(message):
		return ReasonRefused, true
	}
	return ReasonNone, false
}

// troubleCodes are those by which a provider says, under whatever status, that it is it that is in trouble.
var troubleCodes = map[string]bool{
	"server_error": true, "internal_error": true, "internal_server_error": true, "api_error": true, "internal": true,
	"overloaded": true, "overloaded_error": true, "server_overloaded": true, "engine_overloaded": true,
	"service_unavailable": true, "unavailable": true, "bad_gateway": true, "gateway_timeout": true, "timeout": true,
	"rate_limit_exceeded": true, "rate_limit_error": true, "resource_exhausted": true, "too_many_requests": true,
}

// OnlyTrouble reports whether a whole answer, whatever its status, only says that something on the way to the
// model is in trouble: its error names that or a status of 429 or 5xx, or it is a page for browsers, which no
// interface of a model answers. For an attempt that is a failure like any other; of the target's nature it says
// nothing.
func OnlyTrouble(ex Exchange) bool {
	if isPage(ex.Body) {
		return true
	}
	return slices.ContainsFunc(codesIn(ex.Body, 0), func(code string) bool {
		n, err := strconv.Atoi(code)
		return troubleCodes[strings.ToLower(code)] || err == nil && (n == http.StatusTooManyRequests || n >= 500 && n <= 599)
	})
}

var pageBegins = regexp.MustCompile(`(?i)^\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body)\b`)

func isPage(body []byte) bool { return pageBegins.Match(body) }

// codeMembers are where the shapes of error bodies keep codes: {"error": {"code": …, "type": …, "status": …,
// "innererror": {"code": …}, "details": [{"reason": …}]}}, the same within a list or a choice, and bare.
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
			} else if members[name].Kind() == '0' {
				codes = append(codes, members[name].String())
			}
		}
		inside = []jsontext.Value{members["error"], members["innererror"], members["details"], members["choices"]}
	}
	for _, one := range inside {
		codes = append(codes, codesIn(one, depth+1)...)
	}
	return codes
}
