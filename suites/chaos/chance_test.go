package chaos

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// chance is a source of decisions of its own, which the seed and a name alone determine: what one part of
// the run draws does not depend on how fast another is.
func chance(seed uint64, name string) *rand.Rand {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name)) // documented never to fail
	return rand.New(rand.NewPCG(seed, sum.Sum64()))
}

// weighted is a choice that is taken in proportion to its weight.
type weighted[T any] struct {
	weight int
	choice T
}

func pick[T any](draw *rand.Rand, from []weighted[T]) T {
	total := 0
	for _, each := range from {
		total += each.weight
	}
	at := draw.IntN(total)
	for _, each := range from {
		if at -= each.weight; at < 0 {
			return each.choice
		}
	}
	panic("unreachable: the weights add up to the total")
}

// one is any of several, all alike.
func one[T any](draw *rand.Rand, from []T) T { return from[draw.IntN(len(from))] }

func between(draw *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(draw.Int64N(int64(high-low)))
}
