package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is said over and over is shown shortened. The bounds lie far beyond indentation and tables, and the
// last is that of structure.Loop, so that whatever is called a loop is seen as one.
const (
	longWhiteSpace  = 64  // characters in a row
	someWhiteSpace  = 8   // of them that are shown
	longRepetition  = 256 // bytes of the end that repeat
	someRepetitions = 3   // of them that are shown
	longestPeriod   = 64  // bytes
)

// shortened says how much white space stands in a row, and how often the end repeats itself, instead of
// showing it: neither would be seen for what it is.
func shortened(text string) string { return withoutRepetition(withoutWhiteSpace(text)) }

func withoutWhiteSpace(text string) string {
	var out strings.Builder
	for text != "" {
		other := strings.IndexFunc(text, unicode.IsSpace)
		if other < 0 {
			break
		}
		out.WriteString(text[:other])
		text = text[other:]
		end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
		if end < 0 {
			end = len(text)
		}
		writeWhiteSpace(&out, text[:end])
		text = text[end:]
	}
	out.WriteString(text)
	return out.String()
}

func writeWhiteSpace(out *strings.Builder, space string) {
	count := utf8.RuneCountInString(space)
	if count <= longWhiteSpace {
		out.WriteString(space)
		return
	}
	shown := []rune(space)[:someWhiteSpace]
	fmt.Fprintf(out, "%s… %s further %s …", string(shown), grouped(count-someWhiteSpace), nameOfSpace(space))
}

// nameOfSpace says what a run of white space is made of.
func nameOfSpace(space string) string {
	first, _ := utf8.DecodeRuneInString(space)
	if strings.Trim(space, string(first)) != "" {
		return "characters of white space"
	}
	switch first {
	case ' ':
		return "spaces"
	case '\n':
		return "line breaks"
	case '\t':
		return "tabs"
	}
	return "characters " + codePoint(first)
}

// withoutRepetition cuts an end that says the same over and over, whatever white space comes after.
func withoutRepetition(text string) string {
	body := text
	period := periodOf(body)
	if period == 0 {
		body = strings.TrimRightFunc(text, unicode.IsSpace)
		if period = periodOf(body); period == 0 {
			return text
		}
	}
	start := len(body) - longRepetition
	for start > 0 && body[start-1] == body[start-1+period] {
		start--
	}
	start = boundary(body, start)
	shown := start + someRepetitions*period
	more := (len(body) - shown) / period
	rest := shown + more*period
	return text[:shown] + fmt.Sprintf("… and %s further times the last %s …", grouped(more), bytesOf(period)) + text[rest:]
}

// periodOf is the length of the shortest text whose repetition the end is, 0 where it is none.
func periodOf(body string) int {
	if len(body) < longRepetition {
		return 0
	}
	tail := body[len(body)-longRepetition:]
	for period := 1; period <= longestPeriod; period++ {
		if tail[period:] == tail[:len(tail)-period] {
			return period
		}
	}
	return 0
}

func bytesOf(n int) string {
	if n == 1 {
		return "byte"
	}
	return grouped(n) + " bytes"
}

// grouped writes a number as people read it, 4,096.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
