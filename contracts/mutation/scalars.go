package mutation

import (
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fallproof/fallproof/contracts/value"
)

func numberProposals(at path, n value.Number) []proposal {
	rat, err := n.Rat()
	if err != nil {
		return nil // no check could calculate with it either
	}
	var list []proposal
	add := func(operator Operator, with *big.Rat) {
		if number, finite := value.FromRat(with); finite {
			list = append(list, changed(operator, at, n, number))
		}
	}
	add(OffByOne, new(big.Rat).Add(rat, big.NewRat(1, 1)))
	if rat.Sign() != 0 {
		add(Sign, new(big.Rat).Neg(rat))
		add(Scale, new(big.Rat).Mul(rat, big.NewRat(10, 1)))
		add(Blank, new(big.Rat))
	}
	return list
}

// dayOf reads a date, alone or at the beginning of a moment (RFC 3339).
func dayOf(text string) (time.Time, bool) {
	day, rest := text, ""
	if len(text) > len(time.DateOnly) {
		day, rest = text[:len(time.DateOnly)], text[len(time.DateOnly):]
	}
	read, err := time.Parse(time.DateOnly, day)
	if err != nil || (rest != "" && rest[0] != 'T' && rest[0] != 't' && rest[0] != ' ') {
		return time.Time{}, false
	}
	return read, true
}

// textProposals leaves the wording of a free text alone: other letters may be other words for the same.
func textProposals(at path, text string, free bool) []proposal {
	var list []proposal
	add := func(operator Operator, with string) { list = append(list, changed(operator, at, text, with)) }
	if day, ok := dayOf(text); ok {
		rest := text[len(time.DateOnly):]
		for operator, other := range datesNear(day) {
			add(operator, other.Format(time.DateOnly)+rest)
		}
		return list
	}
	if other, ok := otherCurrency(text); ok {
		add(Currency, other)
	}
	if other, ok := otherLetter(text); ok && !free {
		add(Letter, other)
	}
	if cut, ok := cutShort(text); ok && !free {
		add(Truncate, cut)
	}
	if text != "" {
		add(Blank, "")
	}
	return list
}

// datesNear yields wrong dates in a fixed order.
func datesNear(day time.Time) func(yield func(Operator, time.Time) bool) {
	type near struct {
		operator Operator
		date     time.Time
	}
	all := []near{
		{Day, day.AddDate(0, 0, 1)},
		{Month, inMonth(day, 1)},
		{Year, inMonth(day, -12)},
	}
	if day.Day() <= 12 && day.Day() != int(day.Month()) {
		all = append(all, near{DayMonth, time.Date(day.Year(), time.Month(day.Day()), int(day.Month()), 0, 0, 0, 0, time.UTC)})
	}
	return func(yield func(Operator, time.Time) bool) {
		for _, each := range all {
			if !yield(each.operator, each.date) {
				return
			}
		}
	}
}

// inMonth keeps the day where the other month has it, else takes its last.
func inMonth(day time.Time, months int) time.Time {
	first := time.Date(day.Year(), day.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(day.Day(), last)-1)
}

// currencies are those that are taken for one another most: of one sign, or of one region.
var currencies = []string{
	"USD", "CAD", "AUD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "ILS", "SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "MXN", "ZAR",
	"NZD", "HKD", "SGD", "KRW", "TRY", "THB", "HUF", "RON",
}

func otherCurrency(text string) (string, bool) {
	i := slices.Index(currencies, text)
	if i < 0 {
		return "", false
	}
	return currencies[(i+1)%len(currencies)], true
}

// otherLetter changes the middle one of a text's letters and digits.
func otherLetter(text string) (string, bool) {
	runes := []rune(text)
	var at []int
	for i, r := range runes {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return "", false
	}
	i := at[len(at)/2]
	runes[i] = nextOf(runes[i])
	return string(runes), true
}

// nextOf is another letter or digit of the same alphabet and case.
func nextOf(r rune) rune {
	switch r {
	case 'z', 'Z', '9', 'ת':
		return r - 1
	}
	if next := r + 1; unicode.IsLetter(next) == unicode.IsLetter(r) && unicode.IsDigit(next) == unicode.IsDigit(r) && unicode.IsUpper(next) == unicode.IsUpper(r) {
		return next
	}
	return r - 1
}

// cutShort loses the last word, or the second half of the only one.
func cutShort(text string) (string, bool) {
	trimmed := strings.TrimRightFunc(text, unicode.IsSpace)
	if i := strings.LastIndexFunc(trimmed, unicode.IsSpace); i > 0 {
		return strings.TrimRightFunc(trimmed[:i], unicode.IsSpace), true
	}
	runes := []rune(trimmed)
	if len(runes) < 2 {
		return "", false
	}
	return string(runes[:len(runes)/2]), true
}
