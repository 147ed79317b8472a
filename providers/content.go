package providers

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// judge decides about a text that arrived whole and finished.
//
// Where JSON was asked, text that holds no JSON answer is malformed. Text that does hold one, but inside
// a code fence or with words around it, is the model's own breach of "exactly one JSON value": with a
// contract to check (Rules.Check) it is a contract_violation of the whole answer, so that it counts
// against the target's proof under its own name; without one it is malformed like the rest. The inner
// value is never unwrapped. Only an answer that is exactly one JSON value reaches the contract's checks.
func judge(out Outcome, rules Rules) Outcome {
	if rules.ExpectJSON {
		if err := oneValue(out.Content); err != nil {
			out.Detail = notJSON("the content is not one JSON value", err)
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
	decoder := jsontext.NewDecoder(strings.NewReader(content))
	if _, err := decoder.ReadValue(); err != nil {
		return plain(err)
	}
	if decoder.PeekKind() != 0 || len(bytes.TrimSpace(decoder.UnreadBuffer())) > 0 {
		return errors.New("text after the value")
	}
	return nil
}

// wrapped says how a JSON object is packed into other text, or "" where there is none.
func wrapped(content string) string {
	text := strings.TrimSpace(content)
	if inner, ok := fenced(text); ok && oneValue(inner) == nil {
		return "the JSON value is wrapped in a code fence"
	}
	// Braces in prose are tried a few times only, so that a hostile text cannot make this quadratic.
	for at, tries := strings.IndexByte(text, '{'), 0; at >= 0 && tries < 8; tries++ {
		decoder := jsontext.NewDecoder(strings.NewReader(text[at:]))
		if value, err := decoder.ReadValue(); err == nil && value.Kind() == '{' {
			switch end := at + int(decoder.InputOffset()); {
			case at > 0 && end < len(text):
				return "text before and after the JSON value"
			case at > 0:
				return "text before the JSON value"
			default:
				return "text after the JSON value"
			}
		}
		next := strings.IndexByte(text[at+1:], '{')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return ""
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

// plain drops the decoder's own prefix and hides an io.EOF's brevity.
func plain(err error) error {
	text := strings.TrimPrefix(err.Error(), "jsontext: ")
	if text == "EOF" {
		text = "nothing there"
	}
	return errors.New(text)
}
