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

// equal compares deeply, numbers by value wherever they stand.
func equal(l, r ref.Val) ref.Val {
	if types.IsError(l) {
		return l
	}
	if types.IsError(r) {
		return r
	}
	left, isNumber := asNumber(l)
	if right, too := asNumber(r); isNumber || too {
		return types.Bool(isNumber && too && left.Cmp(right) == 0)
	}
	if left, ok := l.(traits.Lister); ok {
		right, ok := r.(traits.Lister)
		return and(ok, func() ref.Val { return equalLists(left, right) })
	}
	if left, ok := l.(traits.Mapper); ok {
		right, ok := r.(traits.Mapper)
		return and(ok, func() ref.Val { return equalMaps(left, right) })
	}
	return l.Equal(r)
}

func equalLists(l, r traits.Lister) ref.Val {
	if l.Size() != r.Size() {
		return types.False
	}
	for i := types.Int(0); i < l.Size().(types.Int); i++ {
		if same := equal(l.Get(i), r.Get(i)); same != types.True {
			return same
		}
	}
	return types.True
}

func equalMaps(l, r traits.Mapper) ref.Val {
	if l.Size() != r.Size() {
		return types.False
	}
	for keys := l.Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		right, found := r.Find(key)
		if !found {
			return types.False
		}
		if same := equal(l.Get(key), right); same != types.True {
			return same
		}
	}
	return types.True
}

// within is CEL's in.
func within(needle, container ref.Val) ref.Val {
	switch container := container.(type) {
	case traits.Lister:
		for i := types.Int(0); i < container.Size().(types.Int); i++ {
			if same := equal(needle, container.Get(i)); same != types.False {
				return same
			}
		}
		return types.False
	case traits.Mapper:
		if n, ok := needle.(number); ok {
			needle = n.ConvertToType(types.IntType) // keys of a map written in CEL
		}
		_, found := container.Find(needle)
		return types.Bool(found)
	}
	return types.NewErr("in: %s holds nothing", kind(container))
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

func not(v ref.Val) ref.Val {
	if b, ok := v.(types.Bool); ok {
		return !b
	}
	return v
}

func and(ok bool, then func() ref.Val) ref.Val {
	if !ok {
		return types.False
	}
	return then()
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
