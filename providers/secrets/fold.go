package secrets

import (
	"slices"
	"strconv"
	"strings"
)

// maxRounds bounds how deep escapes stand within escapes, so that no text takes longer than it is worth.
const maxRounds = 8

// folded is a text as it reads without percent-encoding, JSON's escapes and HTML entities, however they are
// nested, and without backslashes. Texts that are spellings of one another fold to the same; it is good for
// finding plain ASCII, and for nothing else.
type folded struct {
	text string
	from []int // where the bytes begin in the text as it was, with the backslashes before them; and where it ends. nil = nothing was folded
}

// fold does not tell where what stands; see foldMapped.
func fold(text string) folded { return foldRounds(folded{text: text}, false) }

func foldMapped(text string) folded { return foldRounds(folded{text: text}, true) }

func foldRounds(read folded, mapped bool) folded {
	for range maxRounds {
		next, again := read.round(mapped)
		if read = next; !again {
			break
		}
	}
	return read
}

// begin is where in the text as it was a byte begins.
func (f folded) begin(at int) int {
	if f.from == nil {
		return at
	}
	return f.from[at]
}

// escaped says whether a byte is the reading of several.
func (f folded) escaped(at int) bool { return f.begin(at+1)-f.begin(at) > 1 }

// special are the bytes with which an escape begins.
var special = [256]bool{'%': true, '\\': true, '&': true}

func startsEscape(text string) int {
	for i := range len(text) {
		if special[text[i]] {
			return i
		}
	}
	return -1
}

// round undoes one level. again says whether there may be another.
func (f folded) round(mapped bool) (next folded, again bool) {
	first := startsEscape(f.text)
	if first < 0 {
		return f, false
	}
	u := undoing{of: f, mapped: mapped, lead: -1, out: make([]byte, 0, len(f.text))}
	u.copy(0, first)
	for i := first; i < len(f.text); {
		i = u.step(i)
	}
	if len(u.out) == len(f.text) {
		return f, false
	}
	if mapped {
		u.from = append(u.from, f.begin(len(f.text)))
	}
	return folded{string(u.out), u.from}, u.open
}

// undoing is one round of folding.
type undoing struct {
	of     folded
	mapped bool
	out    []byte
	from   []int
	lead   int  // where backslashes begin that belong to the next byte; -1 = there are none
	open   bool // an escape may begin in what was written
}

// step reads on from a place, and returns the next.
func (u *undoing) step(at int) int {
	text := u.of.text
	if !special[text[at]] {
		end := at + 1
		for end < len(text) && !special[text[end]] {
			end++
		}
		u.copy(at, end)
		return end
	}
	if b, length := escape(text[at:]); length > 0 {
		u.write(b, at)
		return at + length
	}
	if text[at] != '\\' {
		u.write(text[at], at)
		return at + 1
	}
	if u.lead < 0 {
		u.lead = at
	}
	return at + backslashes(text[at:])
}

func (u *undoing) write(b byte, from int) {
	u.open = u.open || special[b]
	u.out = append(u.out, b)
	u.note(from)
}

// copy takes over bytes that begin no escape.
func (u *undoing) copy(start, end int) {
	u.out = append(u.out, u.of.text[start:end]...)
	if u.mapped {
		u.from = slices.Grow(u.from, end-start)
		for i := start; i < end; i++ {
			u.note(i)
		}
	} else if end > start {
		u.lead = -1
	}
}

func (u *undoing) note(from int) {
	if u.lead >= 0 {
		from, u.lead = u.lead, -1
	}
	if u.mapped {
		u.from = append(u.from, u.of.begin(from))
	}
}

// escape reads an escape at the beginning of text, which starts with a special byte: %HH, %25HH …, \u00HH
// behind any number of backslashes, or an entity. length is 0 where there is none.
func escape(text string) (b byte, length int) {
	switch text[0] {
	case '%':
		digits := 1
		for strings.HasPrefix(text[digits:], "25") && hexadecimal(text[digits+2:]) {
			digits += 2
		}
		return hexByte(text, digits)
	case '\\':
		digits := backslashes(text)
		if !strings.HasPrefix(text[digits:], "u00") {
			return 0, 0
		}
		return hexByte(text, digits+len("u00"))
	}
	return entity(text)
}

// backslashes is how many of them a text begins with.
func backslashes(text string) int {
	n := 0
	for n < len(text) && text[n] == '\\' {
		n++
	}
	return n
}

// hexByte reads the two digits with which an escape ends.
func hexByte(text string, at int) (b byte, length int) {
	if !hexadecimal(text[at:]) {
		return 0, 0
	}
	n, err := strconv.ParseUint(text[at:at+2], 16, 8)
	if err != nil {
		return 0, 0
	}
	return byte(n), at + 2
}

// hexadecimal says whether text begins with two hexadecimal digits.
func hexadecimal(text string) bool {
	is := func(b byte) bool {
		return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f'
	}
	return len(text) >= 2 && is(text[0]) && is(text[1])
}
