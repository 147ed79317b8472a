package business

import (
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"golang.org/x/text/unicode/norm"
)

// identity is one text for all values that mean the same: numbers by value, texts in their composed form
// (NFC), objects whatever the order of their keys. The second result is an error value.
func identity(v ref.Val) (string, ref.Val) {
	var b strings.Builder
	fault := identify(&b, v)
	return b.String(), fault
}

func identify(b *strings.Builder, v ref.Val) ref.Val {
	if types.IsUnknownOrError(v) {
		return v
	}
	if rat, ok := asNumber(v); ok {
		b.WriteString(rat.RatString())
		return nil
	}
	switch v := v.(type) {
	case types.String:
		b.WriteString(strconv.Quote(norm.NFC.String(string(v))))
	case types.Bool, types.Null:
		b.WriteString(string(v.ConvertToType(types.StringType).(types.String)))
	case types.Timestamp:
		b.WriteString("@" + v.UTC().String())
	case traits.Lister:
		return identifyList(b, v)
	case traits.Mapper:
		return identifyMap(b, v)
	default:
		return types.NewErr("%s cannot be compared by value", kind(v))
	}
	return nil
}

func identifyList(b *strings.Builder, list traits.Lister) ref.Val {
	b.WriteByte('[')
	for i := types.Int(0); i < list.Size().(types.Int); i++ {
		if fault := identify(b, list.Get(i)); fault != nil {
			return fault
		}
		b.WriteByte(',')
	}
	b.WriteByte(']')
	return nil
}

func identifyMap(b *strings.Builder, object traits.Mapper) ref.Val {
	var members []string
	for keys := object.Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		name, fault := identity(key)
		if fault != nil {
			return fault
		}
		inner, fault := identity(object.Get(key))
		if fault != nil {
			return fault
		}
		members = append(members, name+":"+inner)
	}
	slices.Sort(members)
	b.WriteString("{" + strings.Join(members, ",") + "}")
	return nil
}
