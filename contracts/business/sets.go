package business

import (
	"slices"
	"strings"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"golang.org/x/text/unicode/norm"
)

// setOptions declares comparison in a declared way, and operations on lists as sets. All of them know
// elements by value: 12 and 12.0 are one, and so are the composed and the decomposed form of a letter.
func setOptions() []cel.EnvOption {
	return []cel.EnvOption{
		ofTwo("same", cel.BoolType, same),
		ofTwo("sameSet", cel.BoolType, lists("sameSet", sameSet)),
		ofTwo("subset", cel.BoolType, lists("subset", subset)),
		ofTwo("union", cel.DynType, lists("union", union)),
		ofTwo("intersect", cel.DynType, lists("intersect", intersect)),
		ofTwo("minus", cel.DynType, lists("minus", minus)),
		unary("distinct", cel.DynType, distinct),
		unary("nfc", cel.StringType, text("nfc", norm.NFC.String)),
		unary("fold", cel.StringType, text("fold", fold)),
		unary("words", cel.DynType, words),
	}
}

func ofTwo(name string, result *cel.Type, evaluate func(l, r ref.Val) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.Overload(name+"_dyn_dyn", []*cel.Type{cel.DynType, cel.DynType}, result, cel.BinaryBinding(evaluate)))
}

func same(l, r ref.Val) ref.Val {
	left, fault := identity(l)
	if fault != nil {
		return fault
	}
	right, fault := identity(r)
	if fault != nil {
		return fault
	}
	return types.Bool(left == right)
}

// element is a list's element with what it is known by.
type element struct {
	identity string
	value    ref.Val
}

func elements(function string, v ref.Val) ([]element, ref.Val) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, types.NewErr("%s: want a list, not %s", function, kind(v))
	}
	var all []element
	for i := types.Int(0); i < list.Size().(types.Int); i++ {
		inner := list.Get(i)
		known, fault := identity(inner)
		if fault != nil {
			return nil, fault
		}
		all = append(all, element{known, inner})
	}
	return all, nil
}

func lists(function string, evaluate func(l, r []element) ref.Val) func(l, r ref.Val) ref.Val {
	return func(l, r ref.Val) ref.Val {
		left, fault := elements(function, l)
		if fault != nil {
			return fault
		}
		right, fault := elements(function, r)
		if fault != nil {
			return fault
		}
		return evaluate(left, right)
	}
}

// sameSet holds where both have the same elements equally often, in whatever order.
func sameSet(l, r []element) ref.Val {
	if len(l) != len(r) {
		return types.False
	}
	return types.Bool(slices.Equal(sortedIdentities(l), sortedIdentities(r)))
}

func sortedIdentities(list []element) []string {
	all := make([]string, len(list))
	for i, e := range list {
		all[i] = e.identity
	}
	slices.Sort(all)
	return all
}

// subset holds where every element of the first is one of the second, however often.
func subset(l, r []element) ref.Val {
	known := setOf(r)
	return types.Bool(!slices.ContainsFunc(l, func(e element) bool { return !known[e.identity] }))
}

func union(l, r []element) ref.Val { return listOf(unique(slices.Concat(l, r))) }

func intersect(l, r []element) ref.Val {
	known := setOf(r)
	return listOf(slices.DeleteFunc(unique(l), func(e element) bool { return !known[e.identity] }))
}

func minus(l, r []element) ref.Val {
	known := setOf(r)
	return listOf(slices.DeleteFunc(unique(l), func(e element) bool { return known[e.identity] }))
}

func distinct(v ref.Val) ref.Val {
	all, fault := elements("distinct", v)
	if fault != nil {
		return fault
	}
	return listOf(unique(all))
}

func setOf(list []element) map[string]bool {
	known := make(map[string]bool, len(list))
	for _, e := range list {
		known[e.identity] = true
	}
	return known
}

// unique keeps the first of each.
func unique(list []element) []element {
	seen := map[string]bool{}
	var kept []element
	for _, e := range list {
		if !seen[e.identity] {
			seen[e.identity] = true
			kept = append(kept, e)
		}
	}
	return kept
}

func listOf(list []element) ref.Val {
	values := make([]ref.Val, len(list))
	for i, e := range list {
		values[i] = e.value
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

// fold makes texts comparable that differ only in case, white space or the form of their letters.
func fold(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(norm.NFC.String(s))), " ")
}

// words are a text's runs of letters and digits, folded, in order. An apostrophe or a quotation mark inside a
// word, as in Hebrew abbreviations, does not end it.
func words(v ref.Val) ref.Val {
	s, ok := v.(types.String)
	if !ok {
		return types.NewErr("words: want a text, not %s", kind(v))
	}
	found := strings.FieldsFunc(fold(string(s)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune(`'’"״׳`, r)
	})
	values := []ref.Val{}
	for _, word := range found {
		if word = strings.Trim(word, `'’"״׳`); word != "" {
			values = append(values, types.String(word))
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}
