package business

import (
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

var doubleLiteral = regexp.MustCompile(`^-?[0-9]*(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

// exactLiterals replaces each literal with a fraction or an exponent by num("…") of its own text, so
// that it is never rounded to a double.
func exactLiterals(parsed *cel.Ast, source string) {
	native, text := parsed.NativeRep(), []rune(source)
	factory := ast.NewExprFactory()
	next := ast.MaxID(native)
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.LiteralKind || e.AsLiteral().Type() != types.DoubleType {
			return
		}
		span, ok := native.SourceInfo().GetOffsetRange(e.ID())
		if !ok {
			return
		}
		literal := doubleLiteral.FindString(string(text[span.Start:]))
		if sign, fraction, bare := strings.Cut(literal, "."); bare && (sign == "" || sign == "-") {
			literal = sign + "0." + fraction // CEL allows .5, JSON numbers do not
		}
		next++
		e.SetKindCase(factory.NewCall(e.ID(), "num", factory.NewLiteral(next, types.String(literal))))
	}))
}
