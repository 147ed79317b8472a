package mutation

import (
	"maps"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/structure"
	"github.com/fallproof/fallproof/contracts/value"
)

// Bounds of what is derived from one place, so that a large expected answer does not make the test endless.
const (
	mostItems = 8  // of an array
	mostPairs = 24 // of an object's members
	mostWords = 5  // other words of an enumeration
)

// source derives mutants.
type source struct {
	checker   *structure.Checker
	schema    any
	unordered []string
	free      []string
	donors    map[string][]any // values that are no null, by place, from every expected answer
}

func newSource(c *contracts.Contract, checker *structure.Checker) *source {
	schema, _ := value.Decode(c.Schema) // it has been compiled
	s := &source{checker: checker, schema: schema, unordered: c.Unordered, free: c.FreeText, donors: map[string][]any{}}
	for _, each := range c.Cases {
		if each.Expected != nil {
			s.gather(nil, each.Expected)
		}
	}
	return s
}

// gather remembers what stands where, for places at which another answer has null.
func (s *source) gather(at path, v any) {
	if v != nil {
		s.donors[at.general()] = append(s.donors[at.general()], v)
	}
	s.inside(at, v, s.gather)
}

// inside visits what stands directly in v, in a fixed order.
func (s *source) inside(at path, v any, visit func(path, any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			visit(at.key(name), v[name])
		}
	case []any:
		for _, i := range spread(len(v), mostItems) {
			visit(at.index(i), v[i])
		}
	}
}

// mutants are a case's wrong answers: what the operators propose, less what breaks the schema, is the right
// answer after all, or has been proposed before.
func (s *source) mutants(each contracts.Case) []Mutant {
	var kept []Mutant
	seen := map[string]bool{s.identity(each.Expected): true}
	propose := func(p proposal) {
		answer := put(each.Expected, p.around, p.with)
		identity := s.identity(answer)
		if seen[identity] || len(s.checker.JudgeValue(answer)) > 0 {
			return
		}
		seen[identity] = true
		kept = append(kept, Mutant{
			Case: each.Name, File: each.File, Operator: p.operator, Pointer: p.at.pointer(), Change: p.change, Answer: answer,
		})
	}
	s.walk(nil, each.Expected, propose)
	return kept
}

// walk proposes changes of a place and of all places inside it.
func (s *source) walk(at path, v any, propose func(proposal)) {
	for _, p := range s.proposals(at, v) {
		propose(p)
	}
	s.inside(at, v, func(inner path, v any) { s.walk(inner, v, propose) })
}

// identity is the same for answers that mean the same.
func (s *source) identity(answer any) string {
	return string(value.Canonical(s.reordered(answer, ascending)))
}

// rebuilt is a copy of an answer in which each place was changed, what stands inside it first.
func rebuilt(at path, v any, change func(at path, v any) any) any {
	switch inside := v.(type) {
	case map[string]any:
		object := make(map[string]any, len(inside))
		for name, inner := range inside {
			object[name] = rebuilt(at.key(name), inner, change)
		}
		v = object
	case []any:
		array := make([]any, len(inside))
		for i, inner := range inside {
			array[i] = rebuilt(at.index(i), inner, change)
		}
		v = array
	}
	return change(at, v)
}

// reordered is an answer with the arrays whose order means nothing in another one.
func (s *source) reordered(answer any, order func(array []any)) any {
	return rebuilt(nil, answer, func(at path, v any) any {
		if array, ok := v.([]any); ok && s.isUnordered(at) {
			order(array)
		}
		return v
	})
}

func ascending(array []any) {
	slices.SortFunc(array, func(a, b any) int { return strings.Compare(string(value.Canonical(a)), string(value.Canonical(b))) })
}

// Knows reports whether an answer may have something at a place, in which * stands for any index: the schema leads there by
// the usual keywords, or an expected answer has it.
func Knows(c *contracts.Contract, place string) bool {
	return newSource(c, nil).knows(place)
}

func (s *source) knows(place string) bool {
	return len(s.donors[place]) > 0 || len(s.nodes(s.schema, pathOf(place), 0)) > 0
}

// furtherKeys are keywords that may name keys otherwise than properties does.
var furtherKeys = []string{"patternProperties", "if", "dependentSchemas", "$dynamicRef"}

// Excludes reports whether no answer that fits the schema has the key that a place names, though one may have what the key
// is asked of: that names its keys, and is closed to others.
func Excludes(c *contracts.Contract, place string) bool {
	s, above := newSource(c, nil), pathOf(place)
	if s.knows(place) || len(above) == 0 {
		return false
	}
	root, closed := len(above) == 1, false
	for _, node := range s.nodes(s.schema, above[:len(above)-1], 0) {
		if slices.ContainsFunc(furtherKeys, func(keyword string) bool { return node[keyword] != nil }) {
			return false
		}
		if node["properties"] == nil {
			continue
		}
		if node["additionalProperties"] != false && !root { // an answer itself has no key that is not named
			return false
		}
		closed = true
	}
	return closed
}

func pathOf(place string) path {
	var at path
	for _, step := range strings.Split(place, "/")[1:] {
		if step == "*" {
			at = at.index(0)
			continue
		}
		at = at.key(value.Token(step))
	}
	return at
}

// Reordered is an expected answer with every array turned around of which the contract says that its order means
// nothing; differs is false where there is none of more than one item.
func Reordered(c *contracts.Contract, expected any) (answer any, differs bool) {
	s := &source{unordered: c.Unordered}
	answer = s.reordered(expected, slices.Reverse)
	return answer, !value.Equal(answer, expected)
}

// Alike reports whether two answers say the same, as far as the contract tells answers apart: not in the order of lists
// that have none, nor in texts that may be worded freely.
func Alike(c *contracts.Contract, a, b any) bool {
	s := &source{unordered: c.Unordered, free: c.FreeText}
	return s.identity(s.unworded(a)) == s.identity(s.unworded(b))
}

// unworded is an answer without the texts that may be worded freely: answers that differ in these alone are both right.
func (s *source) unworded(answer any) any {
	return rebuilt(nil, answer, func(at path, v any) any {
		if _, text := v.(string); text && slices.Contains(s.free, at.general()) {
			return ""
		}
		return v
	})
}

func (s *source) isUnordered(at path) bool { return slices.Contains(s.unordered, at.general()) }
