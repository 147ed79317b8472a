package simulator

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// number is a number printed in a line, with what stands around it.
type number struct {
	value      *big.Rat
	decimals   int
	start, end int  // its digits in the line, in bytes
	percent    bool // a rate, not an amount
	money      bool // printed as an amount: two decimals, or a currency beside it
}

// numberStyle is how a document prints numbers. Thousands may be grouped by anything that is not the
// decimal sign; by a plain space only where spaced, because spaces separate columns too.
type numberStyle struct {
	decimal string
	spaced  bool
}

const noBreakSpaces = "\u00a0\u202f\u2009\u2007"

var (
	digits       = regexp.MustCompile(`\d(?:[\d.,'’` + noBreakSpaces + `]*\d)?`)
	digitsSpaced = regexp.MustCompile(`\d(?:[\d.,'’` + noBreakSpaces + `]*\d)?(?: \d{3}\b(?:[.,]\d+)?)*`)
	// Unit words that people write right after a number without a space.
	gluedUnits = strings.Fields("x h hr hrs pc pcs st stk std ea")
)

// styleOf finds the decimal sign of a document from the numbers that can have only one reading.
func styleOf(text string) numberStyle {
	votes := map[string]int{}
	thousands := map[string]int{}
	for _, token := range digits.FindAllString(text, -1) {
		at := strings.LastIndexAny(token, ".,")
		if at < 0 {
			continue
		}
		sign, after := token[at:at+1], len(token)-at-1
		other := strings.Trim(".,", sign)
		switch {
		case strings.Count(token, sign) > 1: // a date, or groups of thousands
		case strings.Contains(token[:at], other):
			votes[sign] += 3
		case after == 2:
			votes[sign]++
		case after == 3:
			thousands[sign]++
		}
	}
	if votes[","] > votes["."] || (votes["."] == 0 && thousands["."] > thousands[","]) {
		return numberStyle{decimal: ","}
	}
	return numberStyle{decimal: "."}
}

// numbers finds the numbers of a line from left to right. Digits that are part of a word, a code or a
// measure such as HL-2270 or 90cm are none.
func (s numberStyle) numbers(line string) []number {
	pattern := digits
	if s.spaced {
		pattern = digitsSpaced
	}
	var found []number
	for _, span := range pattern.FindAllStringIndex(line, -1) {
		value, decimals, ok := s.parse(line[span[0]:span[1]])
		if !ok {
			continue
		}
		before, after := line[:span[0]], line[span[1]:]
		negative, free := freeLeft(before)
		if !free || !freeRight(after) {
			continue
		}
		trailing := strings.HasPrefix(after, "-") // "558.94-"; freeRight made sure that nothing follows
		if negative || trailing {
			value.Neg(value)
		}
		after = strings.TrimLeft(after, " "+noBreakSpaces)
		found = append(found, number{
			value: value, decimals: decimals, start: span[0], end: span[1], percent: strings.HasPrefix(after, "%"),
			money: decimals == 2 || currencyBefore(before) || currencyAfter(after),
		})
	}
	return found
}

// parse reads one number; groups that no custom would print make it none.
func (s numberStyle) parse(token string) (value *big.Rat, decimals int, ok bool) {
	whole, fraction, split := strings.Cut(token, s.decimal)
	if split && (fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		return nil, 0, false
	}
	groups := strings.FieldsFunc(whole, func(r rune) bool { return !unicode.IsDigit(r) })
	for i, group := range groups {
		last := i == len(groups)-1
		switch {
		case len(groups) == 1:
		case i == 0 && len(group) <= 3:
		case last && len(group) == 3:
		case i > 0 && !last && (len(group) == 2 || len(group) == 3): // two in Indian groups
		default:
			return nil, 0, false
		}
	}
	value, ok = new(big.Rat).SetString(strings.Join(groups, "") + "." + fraction + "0")
	return value, len(fraction), ok
}

// freeLeft says whether a number may begin after this text, and whether a sign makes it negative.
func freeLeft(before string) (negative, free bool) {
	for _, sign := range []string{"-", "−", "–", "("} {
		rest, found := strings.CutSuffix(trimCurrency(before), sign)
		if !found {
			continue
		}
		r, _ := utf8.DecodeLastRuneInString(rest)
		inside := unicode.IsLetter(r) || unicode.IsDigit(r)
		return !inside, !inside || sign == "("
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	switch {
	case r == '/' || r == '#' || r == '_':
		return false, false
	case unicode.IsLetter(r):
		word := before[strings.LastIndexFunc(before, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
		return false, currencyBefore(before) || strings.EqualFold(word, "x")
	case r == '.':
		return false, currencyBefore(before)
	}
	return false, true
}

// freeRight says whether a number may end before this text.
func freeRight(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	next, _ := utf8.DecodeRuneInString(after[size:])
	switch {
	case strings.ContainsRune("/-_:–", r):
		return !unicode.IsDigit(next) && !unicode.IsLetter(next)
	case unicode.IsLetter(r):
		end := strings.IndexFunc(after, func(r rune) bool { return !unicode.IsLetter(r) })
		if end < 0 {
			end = len(after)
		}
		following, _ := utf8.DecodeRuneInString(after[end:])
		unit := slices.Contains(gluedUnits, strings.ToLower(after[:end])) || currencyAfter(after)
		return unit && !unicode.IsDigit(following)
	}
	return true
}
