package providers

import (
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxLine bounds what a provider can put into our logs, records and database columns.
const maxLine = 300

// oneLine makes text from outside fit for a log line or a text column: one line, valid UTF-8, no
// control characters (NUL among them, which a PostgreSQL text cannot hold), bounded length.
func oneLine(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
	clean = strings.Join(strings.Fields(clean), " ")
	count := 0
	for at := range clean {
		if count++; count > maxLine {
			return clean[:at] + "…"
		}
	}
	return clean
}

// with adds what was said, if anything was, to what it was about.
func with(what, said string) string {
	if said = oneLine(said); said == "" {
		return what
	}
	return oneLine(what + ": " + said)
}

// decoding is a JSON decoder's complaint without the decoder's name.
func decoding(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "jsontext: ")
}

// stringIn reads a JSON string; anything else, absence included, is not one.
func stringIn(value jsontext.Value) (string, bool) {
	if value.Kind() != '"' {
		return "", false
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return "", false
	}
	return text, true
}

// errorMessage finds the sentence that an error body has for people, in the shapes that providers use:
// {"error": {"message": …}}, {"error": …}, {"errors": [{"message": …}]}, {"message": …}, {"detail": …},
// {"detail": [{"msg": …}]}, and a list of them. Of lists the first counts. "" where there is none.
func errorMessage(body []byte) string {
	var shape struct {
		Error   jsontext.Value `json:"error"`
		Errors  jsontext.Value `json:"errors"`
		Message jsontext.Value `json:"message"`
		Detail  jsontext.Value `json:"detail"`
	}
	if err := json.Unmarshal(firstOf(body), &shape); err != nil {
		return ""
	}
	for _, candidate := range []jsontext.Value{shape.Error, shape.Errors, shape.Message, shape.Detail} {
		if message := messageOf(candidate); message != "" {
			return message
		}
	}
	return ""
}

// firstOf is the first of a list, and anything else itself.
func firstOf(value jsontext.Value) jsontext.Value {
	var list []jsontext.Value
	if value.Kind() == '[' && json.Unmarshal(value, &list) == nil && len(list) > 0 {
		return list[0]
	}
	return value
}

func messageOf(value jsontext.Value) string { return messageWithin(value, 0) }

func messageWithin(value jsontext.Value, depth int) string {
	if depth > deepestError {
		return ""
	}
	value = firstOf(value)
	if text, ok := stringIn(value); ok {
		return oneLine(text)
	}
	var nested struct {
		Message jsontext.Value `json:"message"`
		Msg     jsontext.Value `json:"msg"`        // FastAPI's, and with it that of Mistral and vLLM
		Status  jsontext.Value `json:"status_msg"` // MiniMax's
		Detail  jsontext.Value `json:"detail"`
	}
	if value.Kind() != '{' || json.Unmarshal(value, &nested) != nil {
		return ""
	}
	for _, said := range []jsontext.Value{nested.Message, nested.Msg, nested.Status} {
		if text, ok := stringIn(said); ok {
			return oneLine(text)
		}
	}
	if nested.Detail == nil {
		return ""
	}
	return messageWithin(nested.Detail, depth+1)
}
