package business

import (
	"cmp"
	"regexp"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// CEL allows space after the sign, and no digit before the point.
var doubleLiteral = regexp.MustCompile(`^(-?)\s*([0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)`)

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
		parts := doubleLiteral.FindStringSubmatch(string(text[span.Start:]))
		literal := parts[1] + cmp.Or(parts[2], "0") + parts[3]
		if read, err := strconv.ParseFloat(literal, 64); err != nil || types.Double(read) != e.AsLiteral() {
			return // not the literal's text (a comment after the sign): its double has to do
		}
		next++
		e.SetKindCase(factory.NewCall(e.ID(), "num", factory.NewLiteral(next, types.String(literal))))
	}))
}
