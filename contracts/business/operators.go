package business

import (
	"math/big"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// binary is one operator of CEL as this package evaluates it.
type binary struct {
	operator string // CEL's name for it
	function string // ours; "@" cannot be typed in an expression
	result   *cel.Type
	evaluate func(l, r ref.Val) ref.Val
}

var binaries = []binary{
	{operators.Equals, "@equal", cel.BoolType, equal},
	{operators.NotEquals, "@not_equal", cel.BoolType, func(l, r ref.Val) ref.Val { return not(equal(l, r)) }},
	{operators.Less, "@less", cel.BoolType, ordered("<", func(c types.Int) bool { return c < 0 })},
	{operators.LessEquals, "@less_equal", cel.BoolType, ordered("<=", func(c types.Int) bool { return c <= 0 })},
	{operators.Greater, "@greater", cel.BoolType, ordered(">", func(c types.Int) bool { return c > 0 })},
	{operators.GreaterEquals, "@greater_equal", cel.BoolType, ordered(">=", func(c types.Int) bool { return c >= 0 })},
	{operators.In, "@within", cel.BoolType, within},
	{operators.Add, "@add", cel.DynType, arithmetic("+", (*big.Rat).Add, traits.AdderType,
		func(l, r ref.Val) ref.Val { return l.(traits.Adder).Add(r) })},
	{operators.Subtract, "@subtract", cel.DynType, arithmetic("-", (*big.Rat).Sub, traits.SubtractorType,
		func(l, r ref.Val) ref.Val { return l.(traits.Subtractor).Subtract(r) })},
	{operators.Multiply, "@multiply", cel.DynType, arithmetic("*", (*big.Rat).Mul, 0, nil)},
	{operators.Divide, "@divide", cel.DynType, divide},
	{operators.Modulo, "@modulo", cel.DynType, modulo},
}

// operatorOptions declares the functions and has the parser use them in place of CEL's operators.
// Macros' own code (the counting in exists_one, say) keeps CEL's, which are right among ints.
func operatorOptions() []cel.EnvOption {
	options := []cel.EnvOption{
		cel.Macros(cel.GlobalMacro(operators.Negate, 1, callInstead("@negate"))),
		cel.Function("@negate", cel.Overload("@negate_dyn", []*cel.Type{cel.DynType}, cel.DynType, cel.UnaryBinding(negate))),
	}
	for _, op := range binaries {
		options = append(options,
			cel.Macros(cel.GlobalMacro(op.operator, 2, callInstead(op.function))),
			cel.Function(op.function, cel.Overload(op.function+"_dyn",
				[]*cel.Type{cel.DynType, cel.DynType}, op.result, cel.BinaryBinding(op.evaluate))),
		)
	}
	return options
}

func callInstead(function string) cel.MacroFactory {
	return func(helper cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		return helper.NewCall(function, args...), nil
	}
}

func ordered(symbol string, holds func(types.Int) bool) func(l, r ref.Val) ref.Val {
	return func(l, r ref.Val) ref.Val {
		left, isNumber := asNumber(l)
		right, too := asNumber(r)
		if isNumber && too {
			return types.Bool(holds(types.Int(left.Cmp(right))))
		}
		comparer, ok := l.(traits.Comparer)
		if !ok || isNumber || l.Type() != r.Type() {
			return mismatch(symbol, l, r)
		}
		switch c := comparer.Compare(r).(type) {
		case types.Int:
			return types.Bool(holds(c))
		default:
			return c
		}
	}
}

// arithmetic calculates exactly with numbers; what else CEL can add or subtract (texts, lists, times)
// is left to it.
func arithmetic(symbol string, exact func(z, x, y *big.Rat) *big.Rat, trait int, other func(l, r ref.Val) ref.Val) func(l, r ref.Val) ref.Val {
	return func(l, r ref.Val) ref.Val {
		left, isNumber := asNumber(l)
		right, too := asNumber(r)
		switch {
		case isNumber && too:
			return newNumber(exact(new(big.Rat), left, right))
		case isNumber || too || trait == 0 || !l.Type().HasTrait(trait):
			return mismatch(symbol, l, r)
		}
		if result := other(l, r); !types.IsError(result) {
			return result
		}
		return mismatch(symbol, l, r)
	}
}

func divide(l, r ref.Val) ref.Val {
	left, isNumber := asNumber(l)
	right, too := asNumber(r)
	switch {
	case !isNumber || !too:
		return mismatch("/", l, r)
	case right.Sign() == 0:
		return types.NewErr("division by zero")
	}
	return newNumber(new(big.Rat).Quo(left, right))
}

// modulo keeps CEL's sign: that of the dividend.
func modulo(l, r ref.Val) ref.Val {
	left, isNumber := asNumber(l)
	right, too := asNumber(r)
	switch {
	case !isNumber || !too:
		return mismatch("%", l, r)
	case !left.IsInt() || !right.IsInt():
		return types.NewErr("%% is for whole numbers")
	case right.Sign() == 0:
		return types.NewErr("division by zero")
	}
	return newNumber(new(big.Rat).SetInt(new(big.Int).Rem(left.Num(), right.Num())))
}

func negate(v ref.Val) ref.Val {
	if rat, ok := asNumber(v); ok {
		return number{new(big.Rat).Neg(rat)}
	}
	if v, ok := v.(traits.Negater); ok {
		return v.Negate()
	}
	return types.NewErr("- is not possible for %s", kind(v))
}

func mismatch(symbol string, l, r ref.Val) ref.Val {
	return types.NewErr("%s is not possible between %s and %s", symbol, kind(l), kind(r))
}

// kind is a type's name as an author of checks knows it.
func kind(v ref.Val) string {
	if _, ok := asNumber(v); ok {
		return "number"
	}
	return v.Type().TypeName()
}
