package simulator

import (
	"math/big"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// makeNumber is the least number allowed, 0 where no least one is named.
func makeNumber(node *object) any {
	n := numberOf(node, "minimum")
	step := big.NewRat(1, 1)
	if node.has("multipleOf") {
		step = numberOf(node, "multipleOf")
	}
	if node.has("exclusiveMinimum") {
		n = new(big.Rat).Add(numberOf(node, "exclusiveMinimum"), step)
	}
	for _, keyword := range []string{"maximum", "exclusiveMaximum"} {
		if node.has(keyword) && n.Cmp(numberOf(node, keyword)) > 0 {
			n = new(big.Rat).Sub(numberOf(node, keyword), step)
		}
	}
	return jsontext.Value(decimal(n))
}

func numberOf(node *object, keyword string) *big.Rat {
	if digits, ok := node.get(keyword).(jsontext.Value); ok && isModest(string(digits)) {
		if n, ok := new(big.Rat).SetString(string(digits)); ok {
			return n
		}
	}
	return new(big.Rat)
}

// lengthOf is a keyword that counts something; never negative.
func lengthOf(node *object, keyword string) int {
	n, _ := numberOf(node, keyword).Float64()
	return max(0, int(n))
}

// isModest keeps numbers such as 1e1000000000 from being written out.
func isModest(digits string) bool {
	n, err := strconv.ParseFloat(digits, 64)
	return err == nil && n < 1e15 && n > -1e15 && len(digits) < 64 && !strings.Contains(strings.ToLower(digits), "e-")
}

var examples = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "P1D",
	"email": "someone@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "uuid": "6b1f6d1e-3c53-4d6c-9c1e-0a4f1d2b3c4d",
}

func makeString(node *object) any {
	if format, ok := node.get("format").(string); ok && examples[format] != "" {
		return examples[format]
	}
	if pattern, ok := node.get("pattern").(string); ok {
		if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil {
			return shortest(parsed.Simplify())
		}
	}
	text := "unknown"
	for len(text) < min(lengthOf(node, "minLength"), maxMade) {
		text += " unknown"
	}
	if node.has("maxLength") {
		text = text[:min(len(text), lengthOf(node, "maxLength"))]
	}
	return text
}

// shortest writes a short text that an expression matches.
func shortest(expression *syntax.Regexp) string {
	switch expression.Op {
	case syntax.OpLiteral:
		return string(expression.Rune)
	case syntax.OpCharClass:
		return string(printable(expression.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(expression.Sub[0])
	case syntax.OpAlternate:
		return shortest(expression.Sub[0])
	case syntax.OpConcat:
		text := ""
		for _, part := range expression.Sub {
			text += shortest(part)
		}
		return text
	case syntax.OpRepeat:
		return strings.Repeat(shortest(expression.Sub[0]), expression.Min)
	}
	return "" // star, quest and the anchors match nothing at all
}

// printable picks a letter, else a digit, else any visible character of a class of rune ranges.
func printable(ranges []rune) rune {
	for _, wish := range [][2]rune{{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'!', 0x10ffff}} {
		for i := 0; i+1 < len(ranges); i += 2 {
			if low := max(ranges[i], wish[0]); low <= min(ranges[i+1], wish[1]) {
				return low
			}
		}
	}
	return ranges[0]
}
