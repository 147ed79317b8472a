package value

import (
	"strconv"
	"strings"
)

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer appends one key or index to a JSON pointer (RFC 6901).
func Pointer(parent, token string) string {
	return parent + "/" + pointerEscapes.Replace(token)
}

var pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

// At is the value that a JSON pointer names inside v; ok is false where there is none.
func At(v any, pointer string) (found any, ok bool) {
	if pointer == "" {
		return v, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		switch inner := v.(type) {
		case map[string]any:
			if v, ok = inner[Token(token)]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(inner) || strconv.Itoa(i) != token {
				return nil, false
			}
			v = inner[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Token is a token of a JSON pointer as the key that it names.
func Token(token string) string { return pointerUnescapes.Replace(token) }
