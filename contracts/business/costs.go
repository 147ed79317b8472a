package business

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// costs tells CEL what the functions of this package cost: one unit for each element or ten characters that
// they go through. CEL itself would count one for the whole call, and its limit would bound nothing.
type costs struct{}

// going are the functions and operators whose work grows with what they are handed.
var going = map[string]bool{
	"@equal": true, "@not_equal": true, "@less": true, "@less_equal": true, "@greater": true, "@greater_equal": true, "@within": true, "@add": true,
	"same": true, "sameSet": true, "subset": true, "union": true, "intersect": true, "minus": true, "distinct": true,
	"sum": true, "min": true, "max": true, "words": true, "fold": true, "nfc": true, "lower": true, "upper": true, "trim": true,
}

// CallCost implements interpreter.ActualCostEstimator; nil leaves the cost to CEL.
func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if !going[function] {
		return nil
	}
	cost := uint64(1)
	for _, arg := range args {
		cost += extent(arg)
	}
	return &cost
}

func extent(v ref.Val) uint64 {
	const characters = 10
	switch v := v.(type) {
	case types.String:
		return uint64(len(v)) / characters
	case traits.Lister:
		n := uint64(0)
		for i := types.Int(0); i < v.Size().(types.Int); i++ {
			n += 1 + extent(v.Get(i))
		}
		return n
	case traits.Mapper:
		n := uint64(0)
		for keys := v.Iterator(); keys.HasNext() == types.True; {
			n += 1 + extent(v.Get(keys.Next()))
		}
		return n
	}
	return 0
}
