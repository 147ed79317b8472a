package mutation

import (
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/value"
)

// words are other values that the schema enumerates for a place.
func (s *source) words(at path, v any) []any {
	var others []any
	for _, node := range s.nodes(s.schema, at, 0) {
		enum, _ := node["enum"].([]any)
		for _, word := range enum {
			known := func(other any) bool { return value.Equal(other, word) }
			if word != nil && !value.Equal(word, v) && !slices.ContainsFunc(others, known) {
				others = append(others, word)
			}
		}
	}
	var picked []any
	for _, i := range spread(len(others), mostWords) {
		picked = append(picked, others[i])
	}
	return picked
}

// deepest keeps schemas that refer to themselves from being followed for ever.
const deepest = 32

// nodes are the schemas that apply to a place, as far as the usual keywords lead there. Where others do, an
// enumeration is not found and its words are not tried.
func (s *source) nodes(schema any, at path, depth int) []map[string]any {
	node, ok := schema.(map[string]any)
	if !ok || depth > deepest {
		return nil
	}
	var found []map[string]any
	if len(at) == 0 {
		found = append(found, node)
	} else {
		found = append(found, s.nodes(below(node, at[0]), at[1:], depth+1)...)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		options, _ := node[keyword].([]any)
		for _, option := range options {
			found = append(found, s.nodes(option, at, depth+1)...)
		}
	}
	if reference, ok := node["$ref"].(string); ok && strings.HasPrefix(reference, "#") {
		if target, ok := value.At(s.schema, reference[1:]); ok {
			found = append(found, s.nodes(target, at, depth+1)...)
		}
	}
	return found
}

func below(node map[string]any, step any) any {
	switch step := step.(type) {
	case string:
		properties, _ := node["properties"].(map[string]any)
		return properties[step]
	case int:
		if first, _ := node["prefixItems"].([]any); step < len(first) {
			return first[step]
		}
		return node["items"]
	}
	return nil
}
