package prompt

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/fallproof/fallproof/contracts/value"
)

// textFunction is appended to every action by prepare; it cannot be typed in a template by that name
// without being refused.
const textFunction = "_text"

// functions are all that templates may call, with the library's own and, or, not, len and index.
var functions = template.FuncMap{
	textFunction: asText,
	"eq":         equal,
	"ne":         func(a, b any) (bool, error) { same, err := equal(a, b); return !same, err },
	"has":        func(object map[string]any, key string) bool { _, ok := object[key]; return ok },
	"json":       encode,
	"join":       join,
	"lower":      strings.ToLower,
	"upper":      strings.ToUpper,
	"trim":       strings.TrimSpace,
}

var allowed = map[string]bool{
	"and": true, "or": true, "not": true, "len": true, "index": true,
	"eq": true, "ne": true, "has": true, "json": true, "join": true, "lower": true, "upper": true, "trim": true,
}

// asText is how a value stands in a prompt: texts and numbers as they were sent, all else as JSON.
func asText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case value.Number:
		return v.String(), nil
	}
	return encode(v)
}

func encode(v any) (string, error) {
	v, err := asValue(v)
	if err != nil {
		return "", err
	}
	return string(value.Encode(v)), nil
}

// asValue takes what a template can hold: an input's values, and literals of the template's own.
func asValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, value.Number, []any, map[string]any:
		return v, nil
	case int:
		return value.FromInt(v), nil
	case float64:
		return value.Number(strconv.FormatFloat(v, 'g', -1, 64)), nil
	}
	return nil, fmt.Errorf("%T cannot stand in a prompt", v)
}

// equal compares by value, so that 5 in a template equals 5.0 in an input.
func equal(a, b any) (bool, error) {
	left, err := asValue(a)
	if err != nil {
		return false, err
	}
	right, err := asValue(b)
	if err != nil {
		return false, err
	}
	return value.Equal(left, right), nil
}

func join(list []any, separator string) (string, error) {
	texts := make([]string, len(list))
	for i, element := range list {
		text, err := asText(element)
		if err != nil {
			return "", fmt.Errorf("join: %w", err)
		}
		texts[i] = text
	}
	return strings.Join(texts, separator), nil
}
