package api

import (
	"fmt"
	"net/http"
	"strings"
)

const (
	idempotencyHeader = "Idempotency-Key"
	mostKeyLength     = 255
)

// idempotencyKey reads the header. The bare form and the quoted one of the draft (a structured-field
// string) name the same key.
func idempotencyKey(header http.Header) (string, error) {
	values := header.Values(idempotencyHeader)
	switch len(values) {
	case 0:
		return "", newProblem(KeyMissing, "POST needs an Idempotency-Key header: one key per intent, repeated with it")
	case 1:
	default:
		return "", newProblem(KeyInvalid, fmt.Sprintf("%d Idempotency-Key headers: want one", len(values)))
	}
	key := values[0]
	if strings.HasPrefix(key, `"`) {
		unquoted, ok := unquote(key)
		if !ok {
			return "", newProblem(KeyInvalid, `a quoted Idempotency-Key ends with its quote, and escapes only \" and \\`)
		}
		key = unquoted
	}
	switch {
	case key == "":
		return "", newProblem(KeyInvalid, "the Idempotency-Key is empty")
	case len(key) > mostKeyLength:
		return "", newProblem(KeyInvalid, fmt.Sprintf("the Idempotency-Key has %d characters: want at most %d", len(key), mostKeyLength))
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", newProblem(KeyInvalid, "the Idempotency-Key holds something else than visible ASCII characters")
	}
	return key, nil
}

// unquote reads a string of RFC 8941 without parameters.
func unquote(quoted string) (string, bool) {
	var text strings.Builder
	for i := 1; i < len(quoted); i++ {
		switch c := quoted[i]; c {
		case '"':
			return text.String(), i == len(quoted)-1
		case '\\':
			i++
			if i == len(quoted) || (quoted[i] != '"' && quoted[i] != '\\') {
				return "", false
			}
			text.WriteByte(quoted[i])
		default:
			text.WriteByte(c)
		}
	}
	return "", false
}
