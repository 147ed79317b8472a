package structure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/go-json-experiment/json/jsontext"
)

// unreadable says why content is not exactly one JSON value.
func unreadable(content string, err error) Finding {
	var fault *value.DecodeError
	if !errors.As(err, &fault) { // unreachable: decoding has no other error
		return Finding{NotJSON, "", err.Error()}
	}
	switch fault.Kind {
	case value.KindDuplicateKey:
		return Finding{DuplicateKey, fault.Pointer, fault.Error()}
	case value.KindByteOrderMark: // invisible, so not called text before the value
		return Finding{NotJSON, "", fault.Error()}
	}
	if inner, ok := insideFence(content); ok && isValue(inner) {
		return Finding{Fenced, "", "the JSON value stands in a code fence"}
	}
	switch before, after, found := around(content); {
	case found && before != "":
		return Finding{TextAround, "", fmt.Sprintf("%d bytes of text before the JSON value", len(before))}
	case found && after != "":
		return Finding{TrailingBytes, "", fmt.Sprintf("%d bytes after the JSON value", len(after))}
	}
	return Finding{NotJSON, fault.Pointer, fault.Error()}
}

// insideFence is the content of the first code fence.
func insideFence(content string) (string, bool) {
	_, rest, found := strings.Cut(content, "```")
	if !found {
		return "", false
	}
	_, rest, found = strings.Cut(rest, "\n") // the rest of the line is the fence's language
	if !found {
		return "", false
	}
	inner, _, _ := strings.Cut(rest, "```")
	return inner, true
}

func isValue(text string) bool {
	_, err := value.DecodeLenientNUL([]byte(text))
	return err == nil
}

// around finds a whole object or array in content and what stands before and after it, without white
// space. A value that starts the content may be of any kind. Candidates are limited, so that hostile
// text costs no more than a few passes.
func around(content string) (before, after string, found bool) {
	const candidates = 16
	if rest, ok := afterValue(content); ok {
		return "", strings.TrimSpace(rest), true
	}
	if opensAsJSON(content) { // broken JSON, not prose around a part of it
		return "", "", false
	}
	at := 0
	for range candidates {
		next := strings.IndexAny(content[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		if rest, ok := afterValue(content[at:]); ok {
			return strings.TrimSpace(content[:at]), strings.TrimSpace(rest), true
		}
		at++
	}
	return "", "", false
}

func opensAsJSON(content string) bool {
	text := strings.TrimSpace(content)
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// afterValue is what follows the JSON value that text begins with.
func afterValue(text string) (string, bool) {
	decoder := jsontext.NewDecoder(strings.NewReader(text))
	if _, err := decoder.ReadValue(); err != nil {
		return "", false
	}
	return text[decoder.InputOffset():], true
}
