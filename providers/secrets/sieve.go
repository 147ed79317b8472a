package secrets

import "strings"

// gram is how many bytes the sieve looks at in one go.
const gram = 4

// maxNeedle is how much of a core it knows; more would make it no faster.
const maxNeedle = 16

// sieve finds out whether a text holds any of several needles, in a time that hardly depends on how many they
// are: it looks only at every so many bytes, since a needle is long enough for one of its grams to be there.
type sieve struct {
	step    int
	maybe   [1 << 10]uint64 // a bit for the hash of each gram
	needles map[uint32][]needle
}

// needle is one, and where in it a gram stands.
type needle struct {
	text   string
	offset int
}

// newSieve knows at least one needle, each as long as a gram or longer.
func newSieve(needles []string) *sieve {
	shortest := maxNeedle
	for _, text := range needles {
		shortest = min(shortest, len(text))
	}
	s := &sieve{step: shortest - gram + 1, needles: map[uint32][]needle{}}
	for _, text := range needles {
		text = text[:min(len(text), maxNeedle)]
		for offset := range s.step {
			at := gramAt(text, offset)
			s.needles[at] = append(s.needles[at], needle{text, offset})
			s.maybe[hash(at)/64] |= 1 << (hash(at) % 64)
		}
	}
	return s
}

func (s *sieve) hits(text string) bool {
	for i := 0; i+gram <= len(text); i += s.step {
		at := gramAt(text, i)
		if s.maybe[hash(at)/64]&(1<<(hash(at)%64)) != 0 && s.confirms(text, i, at) {
			return true
		}
	}
	return false
}

func (s *sieve) confirms(text string, i int, at uint32) bool {
	for _, one := range s.needles[at] {
		if start := i - one.offset; start >= 0 && strings.HasPrefix(text[start:], one.text) {
			return true
		}
	}
	return false
}

func gramAt(text string, i int) uint32 {
	_ = text[i+gram-1]
	return uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24
}

func hash(at uint32) uint32 { return at * 2654435761 >> 16 }
