package business

import (
	"maps"
	"slices"
)

// Going are the functions and operators whose work grows with what they are handed.
func Going() []string { return slices.Sorted(maps.Keys(going)) }
