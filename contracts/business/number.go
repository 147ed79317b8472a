package business

import (
	"fmt"
	"math/big"
	"reflect"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/fallproof/fallproof/contracts/value"
)

// numberType is the CEL type of every number that came from JSON or out of arithmetic.
var numberType = types.NewOpaqueType("number")

// maxBits bounds what arithmetic may grow a number to; sums of fractions multiply their denominators.
const maxBits = 1 << 16

// number is an exact rational as a CEL value. Operators do not go through its traits but through
// operators.go; Equal serves CEL's own containers.
type number struct{ rat *big.Rat }

// newNumber is an error value where arithmetic ran out of bounds.
func newNumber(rat *big.Rat) ref.Val {
	if rat.Num().BitLen() > maxBits || rat.Denom().BitLen() > maxBits {
		return types.NewErr("number too large to calculate with")
	}
	return number{rat}
}

// fromLiteral is an error value where the literal is none, or is out of bounds.
func fromLiteral(n value.Number) ref.Val {
	rat, err := n.Rat()
	if err != nil {
		return types.WrapErr(err)
	}
	return number{rat}
}

// asNumber is the exact value of anything numeric. A CEL double, which only a conversion inside CEL can
// still produce, counts as its shortest decimal.
func asNumber(v ref.Val) (*big.Rat, bool) {
	switch v := v.(type) {
	case number:
		return v.rat, true
	case types.Int:
		return new(big.Rat).SetInt64(int64(v)), true
	case types.Uint:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(v))), true
	case types.Double:
		return new(big.Rat).SetString(strconv.FormatFloat(float64(v), 'g', -1, 64)) // not ok for NaN and ±Inf
	}
	return nil, false
}

func (n number) String() string {
	if literal, ok := value.FromRat(n.rat); ok {
		return literal.String()
	}
	return n.rat.RatString()
}

// ConvertToNative serves no use here: results are booleans.
func (n number) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf("a number has no native form of type %v", want)
}

// ConvertToType allows string(x), and int(x) where nothing is lost.
func (n number) ConvertToType(want ref.Type) ref.Val {
	switch want {
	case numberType:
		return n
	case types.StringType:
		return types.String(n.String())
	case types.IntType:
		if n.rat.IsInt() && n.rat.Num().IsInt64() {
			return types.Int(n.rat.Num().Int64())
		}
		return types.NewErr("int(%s): not a whole number of 64 bits", n)
	case types.TypeType:
		return numberType
	}
	return types.NewErr("a number cannot be converted to %s", want.TypeName())
}

func (n number) Equal(other ref.Val) ref.Val {
	rat, ok := asNumber(other)
	return types.Bool(ok && n.rat.Cmp(rat) == 0)
}

func (n number) Type() ref.Type { return numberType }
func (n number) Value() any     { return n.rat }

// adapter turns JSON values into CEL values on the way into an expression.
type adapter struct{ types.Adapter }

func (a adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case value.Number:
		return fromLiteral(v)
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	case []any:
		return types.NewDynamicList(a, v)
	}
	return a.Adapter.NativeToValue(v)
}
