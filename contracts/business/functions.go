package business

import (
	"math/big"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/fallproof/fallproof/contracts/value"
)

// functionOptions declares what contracts may call beyond CEL's own functions. Arguments are dynamic
// because JSON is; each function says itself what it takes.
func functionOptions() []cel.EnvOption {
	return []cel.EnvOption{
		unary("num", cel.DynType, num),
		unary("sum", cel.DynType, sum),
		unary("min", cel.DynType, extreme("min", -1)),
		unary("max", cel.DynType, extreme("max", 1)),
		unary("abs", cel.DynType, absolute),
		cel.Function("round",
			cel.Overload("round_dyn", []*cel.Type{cel.DynType}, cel.DynType,
				cel.UnaryBinding(func(v ref.Val) ref.Val { return round(v, types.Int(0)) })),
			cel.Overload("round_dyn_dyn", []*cel.Type{cel.DynType, cel.DynType}, cel.DynType, cel.BinaryBinding(round))),
		unary("date", cel.TimestampType, date),
		cel.Function("days", cel.Overload("days_dyn_dyn", []*cel.Type{cel.DynType, cel.DynType}, cel.IntType, cel.BinaryBinding(days))),
		unary("lower", cel.StringType, text("lower", strings.ToLower)),
		unary("upper", cel.StringType, text("upper", strings.ToUpper)),
		unary("trim", cel.StringType, text("trim", strings.TrimSpace)),
		unary("@string", cel.StringType, convert(types.StringType)),
		cel.Macros(cel.GlobalMacro("string", 1, callInstead("@string"))),
		unary("@int", cel.IntType, convert(types.IntType)),
		cel.Macros(cel.GlobalMacro("int", 1, callInstead("@int"))),
		cel.Macros(cel.GlobalMacro("double", 1, refuse("double() rounds: use num()"))),
		cel.Macros(cel.GlobalMacro("uint", 1, refuse("uint() wraps: use num()"))),
	}
}

func unary(name string, result *cel.Type, evaluate func(ref.Val) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.Overload(name+"_dyn", []*cel.Type{cel.DynType}, result, cel.UnaryBinding(evaluate)))
}

func refuse(message string) cel.MacroFactory {
	return func(helper cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		return nil, helper.NewError(args[0].ID(), message)
	}
}

// convert stands in for CEL's conversions, which do not know numbers of this package.
func convert(to ref.Type) func(ref.Val) ref.Val {
	return func(v ref.Val) ref.Val { return v.ConvertToType(to) }
}

// num reads a number out of a text, or leaves a number as it is.
func num(v ref.Val) ref.Val {
	if s, ok := v.(types.String); ok {
		return fromLiteral(value.Number(s))
	}
	rat, ok := asNumber(v)
	if !ok {
		return types.NewErr("num: %s is no number", kind(v))
	}
	return number{rat}
}

func numbers(function string, v ref.Val) ([]*big.Rat, ref.Val) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, types.NewErr("%s: want a list of numbers, not %s", function, kind(v))
	}
	var all []*big.Rat
	for i := types.Int(0); i < list.Size().(types.Int); i++ {
		element := list.Get(i)
		if types.IsError(element) {
			return nil, element
		}
		rat, ok := asNumber(element)
		if !ok {
			return nil, types.NewErr("%s: element %d is %s, not a number", function, i, kind(element))
		}
		all = append(all, rat)
	}
	return all, nil
}

func sum(v ref.Val) ref.Val {
	all, fault := numbers("sum", v)
	if fault != nil {
		return fault
	}
	total := new(big.Rat)
	for _, rat := range all {
		if bounded := newNumber(total.Add(total, rat)); types.IsError(bounded) {
			return bounded
		}
	}
	return number{total}
}

func extreme(function string, direction int) func(ref.Val) ref.Val {
	return func(v ref.Val) ref.Val {
		all, fault := numbers(function, v)
		if fault != nil {
			return fault
		}
		if len(all) == 0 {
			return types.NewErr("%s of an empty list", function)
		}
		best := all[0]
		for _, rat := range all[1:] {
			if rat.Cmp(best) == direction {
				best = rat
			}
		}
		return number{best}
	}
}

func absolute(v ref.Val) ref.Val {
	rat, ok := asNumber(v)
	if !ok {
		return types.NewErr("abs: %s is no number", kind(v))
	}
	return number{new(big.Rat).Abs(rat)}
}

// maxPlaces bounds round's second argument.
const maxPlaces = 100

// round rounds to so many places after the point (before it, where negative), halves away from zero, as
// invoices do.
func round(v, to ref.Val) ref.Val {
	rat, ok := asNumber(v)
	if !ok {
		return types.NewErr("round: %s is no number", kind(v))
	}
	places, ok := asNumber(to)
	if !ok || !places.IsInt() || new(big.Int).Abs(places.Num()).Cmp(big.NewInt(maxPlaces)) > 0 {
		return types.NewErr("round: want a whole number of places up to %d", maxPlaces)
	}
	n := places.Num().Int64()
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(n, -n)), nil))
	if n < 0 {
		scale.Inv(scale)
	}
	scaled := new(big.Rat).Mul(rat, scale)
	whole, rest := new(big.Int).QuoRem(scaled.Num(), scaled.Denom(), new(big.Int))
	if rest.Abs(rest).Lsh(rest, 1).Cmp(scaled.Denom()) >= 0 {
		whole.Add(whole, big.NewInt(int64(scaled.Sign())))
	}
	return newNumber(new(big.Rat).Quo(new(big.Rat).SetInt(whole), scale))
}

// date is the calendar day at midnight UTC; of a moment such as "2026-01-31T23:00:00+02:00" the day that is
// written there.
func date(v ref.Val) ref.Val {
	s, ok := v.(types.String)
	if !ok {
		return types.NewErr("date: want a text such as \"2026-01-31\", not %s", kind(v))
	}
	day, err := time.Parse(time.DateOnly, string(s))
	if err != nil {
		moment, wrong := time.Parse(time.RFC3339, string(s))
		if wrong == nil {
			year, month, number := moment.Date()
			return types.Timestamp{Time: time.Date(year, month, number, 0, 0, 0, 0, time.UTC)}
		}
		return types.NewErr("date: %q is no day of the form YYYY-MM-DD", string(s))
	}
	return types.Timestamp{Time: day}
}

// days counts from one calendar day to another, negative where the second is the earlier. Both are
// texts or dates.
func days(from, to ref.Val) ref.Val {
	var ends [2]time.Time
	for i, v := range []ref.Val{from, to} {
		if _, ok := v.(types.Timestamp); !ok {
			v = date(v)
		}
		stamp, ok := v.(types.Timestamp)
		if !ok {
			return v
		}
		year, month, day := stamp.UTC().Date()
		ends[i] = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	return types.Int((ends[1].Unix() - ends[0].Unix()) / (24 * 60 * 60))
}

func text(function string, change func(string) string) func(ref.Val) ref.Val {
	return func(v ref.Val) ref.Val {
		s, ok := v.(types.String)
		if !ok {
			return types.NewErr("%s: want a text, not %s", function, kind(v))
		}
		return types.String(change(string(s)))
	}
}
