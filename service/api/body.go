package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts/value"
)

// body is a request's JSON object: decoded, and the same members as they were sent.
type body struct {
	values map[string]any
	raw    map[string]jsontext.Value
}

// readBody reads at most limit bytes, and refuses whatever is not one unambiguous JSON object with some
// of the allowed members. An empty body is an empty object where optional.
func readBody(w http.ResponseWriter, request *http.Request, limit int64, optional bool, allowed ...string) (body, error) {
	if err := checkMediaType(request.Header); err != nil {
		return body{}, err
	}
	tooLarge := newProblem(BodyTooLarge, fmt.Sprintf("the body has more than %d bytes", limit)).with("limit", limit)
	if request.ContentLength > limit {
		return body{}, tooLarge
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, request.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return body{}, tooLarge
	case err != nil:
		return body{}, newProblem(MalformedBody, "the body was cut short")
	case len(data) == 0 && optional:
		return body{}, nil
	}
	return parseBody(data, allowed)
}

func parseBody(data []byte, allowed []string) (body, error) {
	decoded, err := value.Decode(data)
	if err != nil {
		return body{}, err // the table knows *value.DecodeError
	}
	values, ok := decoded.(map[string]any)
	if !ok {
		return body{}, malformed("", "want a JSON object")
	}
	b := body{values: values}
	for _, name := range sortedKeys(values) {
		if !slices.Contains(allowed, name) {
			return body{}, malformed(name, "unknown field; possible here: "+strings.Join(allowed, ", "))
		}
	}
	if err := json.Unmarshal(data, &b.raw); err != nil { // unreachable: Decode is stricter
		return body{}, malformed("", "not a JSON object")
	}
	return b, nil
}

func checkMediaType(header http.Header) error {
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return newProblem(UnsupportedMediaType, "a body with a Content-Encoding is not taken")
	}
	written := header.Get("Content-Type")
	if written == "" {
		return nil // the body itself is judged strictly
	}
	media, parameters, err := mime.ParseMediaType(written)
	if err != nil || media != "application/json" {
		return newProblem(UnsupportedMediaType, "want Content-Type: application/json")
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return newProblem(UnsupportedMediaType, "JSON is UTF-8")
	}
	return nil
}

// malformed blames one member of the body; "" is the whole.
func malformed(member, detail string) *problem {
	pointer := ""
	if member != "" {
		pointer = "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(member)
		detail = pointer + ": " + detail
	}
	return newProblem(MalformedBody, detail).with("pointer", pointer)
}

func (b body) has(name string) bool { _, ok := b.values[name]; return ok }

// text is a member that must be a non-empty text; "" where it is absent.
func (b body) text(name string) (string, error) {
	v, ok := b.values[name]
	if !ok {
		return "", nil
	}
	text, ok := v.(string)
	if !ok {
		return "", malformed(name, "want a text")
	}
	if text == "" {
		return "", malformed(name, "is empty: leave it out, or say what is meant")
	}
	return text, nil
}

func (b body) requiredText(name string) (string, error) {
	if !b.has(name) {
		return "", malformed(name, "is missing")
	}
	return b.text(name)
}

// object is a member that must be an object, with its text as sent.
func (b body) object(name string) (map[string]any, string, error) {
	object, ok := b.values[name].(map[string]any)
	if !ok {
		return nil, "", malformed(name, "want an object")
	}
	return object, string(b.raw[name]), nil
}
