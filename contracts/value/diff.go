package value

import (
	"slices"
	"strconv"
)

// Equal compares by value: numbers by what they denote, objects without regard to order, arrays with
// regard to it.
func Equal(a, b any) bool { return len(diff(nil, "", a, b, true)) == 0 }

// Diff lists, sorted, the JSON pointers (RFC 6901) at which a and b differ; "" is the whole value. It
// goes as deep as both sides have the same shape, and never tells a value.
func Diff(a, b any) []string {
	pointers := diff(nil, "", a, b, false)
	slices.Sort(pointers)
	return pointers
}

// diff appends to found; with first set it returns as soon as anything is found.
func diff(found []string, at string, a, b any, first bool) []string {
	if first && len(found) > 0 {
		return found
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return diffObjects(found, at, a, b, first)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return diffArrays(found, at, a, b, first)
		}
	case Number:
		if b, ok := b.(Number); ok && (a == b || a.Canonical() == b.Canonical()) {
			return found
		}
	case nil, bool, string:
		if isScalar(b) && a == b {
			return found
		}
	}
	return append(found, at)
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, string:
		return true
	}
	return false
}

func diffObjects(found []string, at string, a, b map[string]any, first bool) []string {
	for key, left := range a {
		if right, ok := b[key]; ok {
			found = diff(found, Pointer(at, key), left, right, first)
		} else {
			found = append(found, Pointer(at, key))
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			found = append(found, Pointer(at, key))
		}
	}
	return found
}

func diffArrays(found []string, at string, a, b []any, first bool) []string {
	for i := range max(len(a), len(b)) {
		pointer := Pointer(at, strconv.Itoa(i))
		if i < len(a) && i < len(b) {
			found = diff(found, pointer, a[i], b[i], first)
		} else {
			found = append(found, pointer)
		}
	}
	return found
}
