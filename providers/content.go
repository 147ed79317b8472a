package providers

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// judge decides about a text that arrived whole and finished.
//
// Where JSON was asked, text that holds no JSON answer is malformed. Text that does hold one, but inside
// a code fence or with words around it, is the model's own breach of "exactly one JSON value": with a
// contract to check (Rules.Check) it is a contract_violation of the whole answer, so that it counts
// against the target's proof under its own name; without one it is malformed like the rest. Nothing
// is unwrapped but what Rules.Unwrap takes off. Only an answer that is exactly one JSON value reaches the contract's checks.
func judge(out Outcome, rules Rules) Outcome {
	if rules.Unwrap != nil {
		out.Content = rules.Unwrap(out.Content)
	}
	if rules.ExpectJSON {
		if err := oneValue(out.Content); err != nil {
			out.Detail = with("the content is not one JSON value", decoding(err))
			if how := wrapped(out.Content); how != "" {
				out.Detail = how
				if rules.Check != nil {
					out.Reason = ReasonContractViolation
				}
			}
			return out
		}
	}
	if rules.Check != nil {
		if violations := rules.Check(out.Content); len(violations) > 0 {
			out.Reason = ReasonContractViolation
			out.InstancePath = violations[0].InstancePath
			out.Detail = violations[0].Detail
			if more := len(violations) - 1; more > 0 {
				out.Detail += fmt.Sprintf(" (and %d more)", more)
			}
			out.Detail = oneLine(out.Detail)
			return out
		}
	}
	out.Verdict, out.Reason, out.Retryable = Succeeded, ReasonNone, false
	return out
}

// oneValue demands exactly one JSON value by RFC 8259, with no key twice and valid UTF-8 in it.
func oneValue(content string) error {
	var value jsontext.Value
	return json.Unmarshal([]byte(content), &value)
}

// maxBraces is how many opening braces in prose are tried, so that a hostile text costs no more than a
// few readings of it.
const maxBraces = 8

// wrapped says how a JSON answer is packed into other text, or "" where there is none. Text that opens
// as an object but does not parse as one is broken JSON, not prose around a part of it.
func wrapped(content string) string {
	text := strings.TrimSpace(content)
	if inner, ok := fenced(text); ok && oneValue(inner) == nil {
		return "the JSON value is wrapped in a code fence"
	}
	if _, ok := valueAt(text, 0); ok {
		return "text after the JSON value"
	}
	if strings.HasPrefix(text, "{") {
		return ""
	}
	at := strings.IndexByte(text, '{')
	for tries := 0; at >= 0 && tries < maxBraces; tries++ {
		// A closing brace behind it means that the value is only a part of something broken.
		if end, ok := valueAt(text, at); ok && !strings.ContainsAny(text[end:], "}]") {
			if end < len(text) {
				return "text before and after the JSON value"
			}
			return "text before the JSON value"
		}
		next := strings.IndexByte(text[at+1:], '{')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return ""
}

// valueAt reads the JSON object or array that begins exactly at an offset, and returns where it ends.
func valueAt(text string, at int) (end int, ok bool) {
	if at >= len(text) || text[at] != '{' && text[at] != '[' {
		return 0, false
	}
	decoder := jsontext.NewDecoder(strings.NewReader(text[at:]))
	if err := decoder.SkipValue(); err != nil {
		return 0, false
	}
	return at + int(decoder.InputOffset()), true
}

// fenced returns what stands between the fences of a text that is one fenced block.
func fenced(text string) (string, bool) {
	for _, fence := range []string{"```", "~~~"} {
		inner, opened := strings.CutPrefix(text, fence)
		inner, closed := strings.CutSuffix(inner, fence)
		if !opened || !closed {
			continue
		}
		if info, body, found := strings.Cut(inner, "\n"); found && !strings.ContainsAny(info, "{[\"") {
			return body, true
		}
		return inner, true
	}
	return "", false
}
