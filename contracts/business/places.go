package business

import (
	"maps"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/value"
)

// Place is a part of the input, the answer or the expected one that a check reads.
type Place struct {
	Of   string // input, output or expected
	Path string // a JSON Pointer, in which * stands for any index
}

// Places lists what a check reads, each place once and in the order of the expression, whether it is reached or not. What
// the expression alone does not show, such as a key that is calculated, is left out. Its error is that of [Compile].
func Places(check contracts.Check) ([]Place, error) {
	env, err := environment()
	if err != nil { // unreachable: the options are constant, and tested
		return nil, err
	}
	parsed, issues := env.Parse(check.Expr)
	if issues.Err() != nil {
		return nil, checkError(check, issues)
	}
	w := &walker{known: map[string]Place{}}
	for _, name := range []string{"input", "output", "expected"} {
		w.known[name] = Place{Of: name}
	}
	w.walk(parsed.NativeRep().Expr())
	return w.read, nil
}

// walker follows names into what they stand for.
type walker struct {
	known map[string]Place // what variables hold; the zero Place is not known
	read  []Place
}

// below is a part of a place, which is noted as read.
func (w *walker) below(place Place, step string) Place {
	if place.Of == "" {
		return place
	}
	place.Path = value.Pointer(place.Path, step)
	if !slices.Contains(w.read, place) {
		w.read = append(w.read, place)
	}
	return place
}

// walk is the place that an expression stands for; the zero Place where it is none.
func (w *walker) walk(e ast.Expr) Place {
	switch e.Kind() {
	case ast.IdentKind:
		return w.known[e.AsIdent()]
	case ast.SelectKind:
		return w.below(w.walk(e.AsSelect().Operand()), e.AsSelect().FieldName())
	case ast.CallKind:
		return w.call(e.AsCall())
	case ast.ComprehensionKind:
		return w.comprehension(e.AsComprehension())
	case ast.ListKind:
		w.all(e.AsList().Elements()...)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			w.all(entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	}
	return Place{}
}

func (w *walker) all(list ...ast.Expr) {
	for _, each := range list {
		w.walk(each)
	}
}

func (w *walker) call(call ast.CallExpr) Place {
	if call.IsMemberFunction() {
		w.walk(call.Target())
	}
	if call.FunctionName() != operators.Index {
		w.all(call.Args()...)
		return Place{}
	}
	place, index := w.walk(call.Args()[0]), call.Args()[1]
	if index.Kind() != ast.LiteralKind {
		w.walk(index)
		return Place{}
	}
	switch key := index.AsLiteral().(type) {
	case types.String:
		return w.below(place, string(key))
	case types.Int:
		return w.below(place, "*")
	}
	return Place{}
}

// comprehension is what all(), exists(), map() and filter() are in the parsed expression. Of these filter stands for the
// list that it filters: its elements are among those.
func (w *walker) comprehension(c ast.ComprehensionExpr) Place {
	list := w.walk(c.IterRange())
	outer := w.known
	w.known = maps.Clone(outer)
	each := list
	if each.Of != "" {
		each.Path += "/*"
	}
	if w.known[c.IterVar()] = each; c.HasIterVar2() {
		w.known[c.IterVar()], w.known[c.IterVar2()] = Place{}, each
	}
	w.known[c.AccuVar()] = Place{}
	w.all(c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result())
	w.known = outer
	if filters(c) {
		return list
	}
	return Place{}
}

// filters reports whether a comprehension appends its variable, as it is, where a condition holds.
func filters(c ast.ComprehensionExpr) bool {
	second := func(e ast.Expr, function string) (ast.Expr, bool) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != function {
			return nil, false
		}
		return e.AsCall().Args()[1], true
	}
	taken, ok := second(c.LoopStep(), operators.Conditional)
	if !ok {
		return false
	}
	added, ok := second(taken, operators.Add)
	if !ok || added.Kind() != ast.ListKind {
		return false
	}
	elements := added.AsList().Elements()
	return len(elements) == 1 && elements[0].Kind() == ast.IdentKind && elements[0].AsIdent() == c.IterVar()
}
