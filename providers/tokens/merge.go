package tokens

import (
	"container/heap"
	"fmt"
	"strings"
	"unicode/utf8"
)

// noSymbol marks a place that a merge has used up, and a model without an unknown token.
const noSymbol = -1

type pair struct{ left, right int }

type merge struct {
	rank  int
	whole int
}

// merger is byte pair encoding: of all neighbours the pair that was learned first is joined first, at equal
// rank the leftmost.
type merger struct {
	vocab        map[string]int
	merges       map[pair]merge
	ignoreMerges bool // a piece that is a token is taken as it is
	byteFallback bool // what is not in the vocabulary becomes its bytes, <0x0A>
	fuseUnknown  bool // neighbours that are unknown are one unknown token
	unknown      int
}

// count is how many tokens one piece makes.
func (m *merger) count(piece string) (int, error) {
	if piece == "" {
		return 0, nil
	}
	if m.ignoreMerges {
		if _, whole := m.vocab[piece]; whole {
			return 1, nil
		}
	}
	symbols, err := m.symbols(piece)
	if err != nil {
		return 0, err
	}
	return m.join(symbols), nil
}

// symbols are the characters of a piece, as far as the vocabulary has them.
func (m *merger) symbols(piece string) ([]int, error) {
	symbols := make([]int, 0, len(piece))
	unknownBefore := false
	for _, c := range piece {
		text := string(c)
		if id, ok := m.vocab[text]; ok {
			symbols, unknownBefore = append(symbols, id), false
			continue
		}
		if bytes, ok := m.bytes(text); ok {
			symbols, unknownBefore = append(symbols, bytes...), false
			continue
		}
		if m.unknown == noSymbol {
			return nil, fmt.Errorf("the vocabulary has no token for %q and none for what is unknown", text)
		}
		if !unknownBefore || !m.fuseUnknown {
			symbols = append(symbols, m.unknown)
		}
		unknownBefore = true
	}
	return symbols, nil
}

// bytes spells a character as byte tokens, where the vocabulary has all that it needs.
func (m *merger) bytes(text string) ([]int, bool) {
	if !m.byteFallback {
		return nil, false
	}
	ids := make([]int, 0, utf8.UTFMax)
	for i := range len(text) {
		id, ok := m.vocab[fmt.Sprintf("<0x%02X>", text[i])]
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// candidate is a pair of neighbours that may be joined.
type candidate struct {
	rank, at    int
	left, right int // symbols, to tell a candidate that has been overtaken
	whole       int
}

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].at < c[j].at
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// join merges as long as anything can be merged and returns how many symbols are left. Neighbours are a
// linked list and candidates a heap, because a piece may be a whole document.
func (m *merger) join(symbols []int) int {
	next, previous := make([]int, len(symbols)), make([]int, len(symbols))
	for i := range symbols {
		next[i], previous[i] = i+1, i-1
	}
	queue := &candidates{}
	consider := func(at int) {
		if at < 0 || next[at] >= len(symbols) {
			return
		}
		left, right := symbols[at], symbols[next[at]]
		if found, ok := m.merges[pair{left, right}]; ok {
			heap.Push(queue, candidate{found.rank, at, left, right, found.whole})
		}
	}
	for at := range symbols {
		consider(at)
	}
	left := len(symbols)
	for queue.Len() > 0 {
		c := heap.Pop(queue).(candidate)
		if symbols[c.at] != c.left || next[c.at] >= len(symbols) || symbols[next[c.at]] != c.right {
			continue // one of the two has been merged with its other neighbour
		}
		gone := next[c.at]
		symbols[c.at], symbols[gone] = c.whole, noSymbol
		next[c.at] = next[gone]
		if next[gone] < len(symbols) {
			previous[next[gone]] = c.at
		}
		left--
		consider(previous[c.at])
		consider(c.at)
	}
	return left
}

// cutOnce divides a line of merges at its one space.
func cutOnce(line string) (left, right string, ok bool) {
	left, right, ok = strings.Cut(line, " ")
	return left, right, ok && left != "" && right != "" && !strings.Contains(right, " ")
}
