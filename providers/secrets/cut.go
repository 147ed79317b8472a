package secrets

import "strings"

// longestSpelling is how many bytes stand for one, where the end of a text is read.
const longestSpelling = 32

// CutOff is [Scrubber.Bytes] of a text whose end did not arrive: a secret that it was cut within is taken out
// as well, from its first [MinLength] characters on.
func (s Scrubber) CutOff(text []byte) []byte {
	text = s.Bytes(text)
	longest := 0
	for _, one := range s.forms {
		longest = max(longest, len(one.text))
	}
	from := max(0, len(text)-longest*longestSpelling)
	read := foldMapped(string(text[from:]))
	cut := len(read.text)
	for _, one := range s.forms {
		cut = min(cut, one.begun(read))
	}
	if cut == len(read.text) {
		return text
	}
	kept := text[:from+read.begin(cut)]
	return append(kept[:len(kept):len(kept)], Redacted...)
}

// begun is where at the end of a text the longest beginning of the form stands; the end where there is none.
func (f form) begun(read folded) int {
	first := len(read.text)
	for _, end := range read.ends() {
		for length := min(end, len(f.text)); length >= MinLength; length-- {
			if strings.HasSuffix(read.text[:end], f.text[:length]) {
				first = min(first, end-length)
				break
			}
		}
	}
	return first
}

// ends are where a text that was cut off ends: where it does, and before each piece of it that may be the
// beginning of an escape.
func (f folded) ends() []int {
	ends := []int{len(f.text)}
	for i := max(0, len(f.text)-maxEntity); i < len(f.text); i++ {
		if f.opens(i) {
			ends = append(ends, i)
		}
	}
	return ends
}

// opens says whether what begins at a byte and goes on to the end may be an escape without its end.
func (f folded) opens(at int) bool {
	switch rest := f.text[at:]; rest[0] {
	case '%':
		return len(rest) <= len("%f")
	case '&':
		return strings.IndexFunc(rest[1:], func(r rune) bool {
			return r != '#' && r != '%' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
		}) < 0
	case 'u':
		begun := rest == "u" || rest == "u0" || strings.HasPrefix(rest, "u00")
		return f.escaped(at) && begun && len(rest) <= len("u00f")
	}
	return false
}
