package structure

import (
	"fmt"
	"strings"
)

// How much repetition no answer that means something has: indentation is shorter by far, and so are
// tables of equal rows up to maxPeriod.
const (
	loopedWhiteSpace = 512 // bytes in a row
	loopedText       = 512 // bytes of the end that repeat
	maxPeriod        = 64  // bytes
)

// Loop reports whether content runs in a loop: white space without end anywhere, or an end that says the
// same over and over. Models do both at low temperature under a grammar that lets them.
func Loop(content string) (Finding, bool) {
	if n := longestWhiteSpace(content); n >= loopedWhiteSpace {
		return Finding{WhiteSpaceLoop, "", fmt.Sprintf("%d bytes of white space in a row", n)}, true
	}
	tail := strings.TrimRight(content, space)
	if period, repeats := repeatedEnd(tail); repeats {
		return Finding{Runaway, "", fmt.Sprintf("the last %d bytes and more repeat %q", loopedText, tail[len(tail)-period:])}, true
	}
	return Finding{}, false
}

func longestWhiteSpace(content string) int {
	longest, current := 0, 0
	for i := range len(content) {
		if strings.IndexByte(space, content[i]) < 0 {
			current = 0
			continue
		}
		current++
		longest = max(longest, current)
	}
	return longest
}

// repeatedEnd finds the shortest text whose repetition the end is. An answer that closes its value ends in
// something else.
func repeatedEnd(end string) (period int, repeats bool) {
	if len(end) < loopedText || strings.HasSuffix(end, "}") {
		return 0, false
	}
	tail := end[len(end)-loopedText:]
	for period := 1; period <= maxPeriod; period++ {
		if tail[period:] == tail[:len(tail)-period] {
			return period, true
		}
	}
	return 0, false
}
