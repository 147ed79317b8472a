package business

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

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
