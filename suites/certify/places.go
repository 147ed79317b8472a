package certify

import (
	"slices"

	"github.com/fallproof/fallproof/contracts"
)

// grid numbers the samples of a contract's cases: round by round, the cases as the contract has them.
type grid struct {
	names   []string
	numbers map[string]int
}

func newGrid(c *contracts.Contract) grid {
	g := grid{numbers: make(map[string]int, len(c.Cases))}
	for i, each := range c.Cases {
		g.names = append(g.names, each.Name)
		g.numbers[each.Name] = i
	}
	return g
}

// place is a sample's number. ok is false for what is no sample of a case of the contract.
func (g grid) place(where slot) (place int, ok bool) {
	number, ok := g.numbers[where.name]
	return where.index*len(g.names) + number, ok && where.index >= 0
}

// slot is the inverse of place.
func (g grid) slot(place int) slot {
	return slot{g.names[place%len(g.names)], place / len(g.names)}
}

// places is a set of samples, a bit for each.
type places []uint64

func (p *places) add(place int) {
	if missing := place/64 + 1 - len(*p); missing > 0 {
		*p = append(*p, make([]uint64, missing)...)
	}
	(*p)[place/64] |= 1 << (place % 64)
}

func (p places) has(place int) bool {
	return place/64 < len(p) && p[place/64]&(1<<(place%64)) != 0
}

// names is a sorted set of them.
type names []string

func (n *names) add(name string) {
	if name == "" {
		return
	}
	if at, known := slices.BinarySearch(*n, name); !known {
		*n = slices.Insert(*n, at, name)
	}
}

// list is never nil, so that it is a list in JSON too.
func (n names) list() []string { return append([]string{}, n...) }
