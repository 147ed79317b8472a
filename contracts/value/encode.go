package value

import (
	"fmt"
	"maps"
	"slices"
)

// Encode writes v as JSON: keys sorted, numbers as the literals that were sent. It panics on a Go type
// that is no value of this package, because that is a fault of the program, not of its input.
func Encode(v any) []byte { return appendValue(nil, v, Number.String) }

// Canonical is the one spelling of v: keys sorted by their bytes, numbers canonical, only the escapes
// that JSON demands. Two values have the same canonical bytes exactly when they are [Equal].
func Canonical(v any) []byte { return appendValue(nil, v, Number.Canonical) }

func appendValue(b []byte, v any, spell func(Number) string) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return fmt.Append(b, v)
	case string:
		return appendString(b, v)
	case Number:
		return append(b, spell(v)...)
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, element, spell)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, key), ':')
			b = appendValue(b, v[key], spell)
		}
		return append(b, '}')
	default:
		panic(fmt.Sprintf("value: %T is not a JSON value", v))
	}
}

// appendString escapes what RFC 8259 demands and nothing else; bytes that are not UTF-8 pass through,
// so that [Decode] still refuses them.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
