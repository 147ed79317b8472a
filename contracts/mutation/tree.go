package mutation

import (
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/fallproof/fallproof/contracts/value"
)

// path leads into a JSON value: a string for a key, an int for an index.
type path []any

func (p path) key(name string) path { return append(slices.Clip(p), name) }
func (p path) index(i int) path     { return append(slices.Clip(p), i) }

func (p path) pointer() string {
	pointer := ""
	for _, step := range p {
		switch step := step.(type) {
		case string:
			pointer = value.Pointer(pointer, step)
		case int:
			pointer = value.Pointer(pointer, strconv.Itoa(step))
		}
	}
	return pointer
}

// general is the path as a contract's unordered list and the tallies name it.
func (p path) general() string {
	pointer := ""
	for _, step := range p {
		if name, ok := step.(string); ok {
			pointer = value.Pointer(pointer, name)
		} else {
			pointer += "/*"
		}
	}
	return pointer
}

var index = regexp.MustCompile(`/[0-9]+(/|$)`)

// Place is a JSON pointer with a * for every index.
func Place(pointer string) string {
	for index.MatchString(pointer) {
		pointer = index.ReplaceAllString(pointer, "/*$1")
	}
	return pointer
}

// absent as a new value takes a key out of its object.
type absent struct{}

// put is v with what stands at the path replaced. v itself is left as it was.
func put(v any, at path, with any) any {
	if len(at) == 0 {
		return with
	}
	switch inner := v.(type) {
	case map[string]any:
		name := at[0].(string)
		changed := maps.Clone(inner)
		if _, gone := with.(absent); gone && len(at) == 1 {
			delete(changed, name)
		} else {
			changed[name] = put(inner[name], at[1:], with)
		}
		return changed
	case []any:
		i := at[0].(int)
		changed := slices.Clone(inner)
		changed[i] = put(inner[i], at[1:], with)
		return changed
	}
	return v // unreachable: paths come from walking v
}

// spread picks at most so many of n indexes, evenly, the first and the last among them: a list of a thousand
// lines is tested at a few of them.
func spread(n, most int) []int {
	if n <= most {
		most = n
	}
	var picked []int
	for i := range most {
		at := i
		if n > most {
			at = i * (n - 1) / (most - 1)
		}
		picked = append(picked, at)
	}
	return picked
}
