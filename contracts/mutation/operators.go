package mutation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/value"
)

// Operator is a way in which an answer goes wrong.
type Operator string

// The operators.
const (
	Swap      Operator = "swap"       // two fields of a kind, or a field of two neighbouring items, exchanged
	Drop      Operator = "drop"       // an item of an array lost
	Duplicate Operator = "duplicate"  // an item of an array twice
	Reorder   Operator = "reorder"    // two neighbouring items exchanged, where order matters
	Empty     Operator = "empty"      // an array without its items
	Omit      Operator = "omit"       // an optional key left out
	Null      Operator = "null"       // null in place of a value
	Invent    Operator = "invent"     // a value in place of null
	Blank     Operator = "blank"      // "" or 0 in place of a value
	Negate    Operator = "negate"     // a boolean turned
	Sign      Operator = "sign"       // a number with the other sign
	OffByOne  Operator = "off_by_one" // a number one too large
	Scale     Operator = "scale"      // a number ten times as large: a point misread
	Day       Operator = "day"        // a date one day later
	Month     Operator = "month"      // a date in the next month
	Year      Operator = "year"       // a date in the year before
	DayMonth  Operator = "day_month"  // day and month of a date exchanged
	Currency  Operator = "currency"   // another currency
	Word      Operator = "enum"       // another value of the enumeration
	Letter    Operator = "letter"     // one character of a text changed
	Truncate  Operator = "truncate"   // a text cut short
)

// proposal is a change that may or may not make a mutant.
type proposal struct {
	operator Operator
	at       path   // the place that is reported
	change   string // for people
	around   path   // the place that is replaced: at, or what it stands in
	with     any
}

func changed(operator Operator, at path, was, with any) proposal {
	return proposal{operator, at, spell(was) + " → " + spell(with), at, with}
}

// proposals are the changes of what stands at one place, whether or not the schema allows them.
func (s *source) proposals(at path, v any) []proposal {
	var list []proposal
	add := func(operator Operator, with any) { list = append(list, changed(operator, at, v, with)) }
	for _, word := range s.words(at, v) {
		add(Word, word)
	}
	switch v := v.(type) {
	case map[string]any:
		list = append(list, s.objectProposals(at, v)...)
	case []any:
		list = append(list, s.arrayProposals(at, v)...)
	case bool:
		add(Negate, !v)
	case value.Number:
		list = append(list, numberProposals(at, v)...)
	case string:
		list = append(list, textProposals(at, v, slices.Contains(s.free, at.general()))...)
	case nil:
		if donors := s.donors[at.general()]; len(donors) > 0 {
			add(Invent, donors[0]) // one value too many is like another
		}
		add(Invent, "")
		add(Invent, value.FromInt(0))
	}
	if len(at) > 0 && v != nil {
		add(Null, nil)
	}
	return list
}

func (s *source) objectProposals(at path, object map[string]any) []proposal {
	var list []proposal
	names := slices.Sorted(maps.Keys(object))
	pairs := 0
	for i, name := range names {
		list = append(list, proposal{Omit, at.key(name), "left out", at.key(name), absent{}})
		for _, other := range names[i+1:] {
			if kindOf(object[name]) != kindOf(object[other]) || value.Equal(object[name], object[other]) || pairs == mostPairs {
				continue
			}
			pairs++
			swapped := maps.Clone(object)
			swapped[name], swapped[other] = object[other], object[name]
			change := fmt.Sprintf("%s ↔ %s of %s", spell(object[name]), spell(object[other]), other)
			list = append(list, proposal{Swap, at.key(name), change, at, swapped})
		}
	}
	return list
}

func (s *source) arrayProposals(at path, array []any) []proposal {
	var list []proposal
	if len(array) > 1 {
		list = append(list, changed(Empty, at, array, []any{}))
	}
	for _, i := range spread(len(array), mostItems) {
		item := spell(array[i])
		list = append(list,
			proposal{Drop, at.index(i), item + " lost", at, slices.Delete(slices.Clone(array), i, i+1)},
			proposal{Duplicate, at.index(i), item + " twice", at, slices.Insert(slices.Clone(array), i, array[i])},
		)
		if i+1 == len(array) {
			continue
		}
		if !s.isUnordered(at) {
			reordered := slices.Clone(array)
			reordered[i], reordered[i+1] = array[i+1], array[i]
			list = append(list, proposal{Reorder, at.index(i), item + " after its neighbour", at, reordered})
		}
		list = append(list, neighbours(at, array, i)...)
	}
	return list
}

// neighbours exchanges each field of two neighbouring items.
func neighbours(at path, array []any, i int) []proposal {
	left, isObject := array[i].(map[string]any)
	right, too := array[i+1].(map[string]any)
	if !isObject || !too {
		return nil
	}
	var list []proposal
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if _, both := right[name]; !both || value.Equal(left[name], right[name]) {
			continue
		}
		swapped, first, second := slices.Clone(array), maps.Clone(left), maps.Clone(right)
		first[name], second[name] = right[name], left[name]
		swapped[i], swapped[i+1] = first, second
		change := fmt.Sprintf("%s ↔ %s of the next item", spell(left[name]), spell(right[name]))
		list = append(list, proposal{Swap, at.index(i).key(name), change, at, swapped})
	}
	return list
}

func kindOf(v any) string {
	switch v := v.(type) {
	case value.Number:
		return "number"
	case bool:
		return "boolean"
	case string:
		if _, ok := dayOf(v); ok {
			return "date"
		}
		return "text"
	}
	return fmt.Sprintf("%T", v)
}

// spell writes a value short enough for a line.
func spell(v any) string {
	const most = 48
	text := []rune(string(value.Encode(v)))
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return strings.TrimSpace(string(text))
}
