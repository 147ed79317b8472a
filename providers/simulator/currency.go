package simulator

import (
	"strings"
	"unicode"
)

// currencySign is a way to print a currency beside an amount.
type currencySign struct{ text, code string }

// currencySigns in order of trust: a sign that means one currency stands before one that may mean several.
var currencySigns = []currencySign{
	{"EUR", "EUR"}, {"USD", "USD"}, {"GBP", "GBP"}, {"CAD", "CAD"}, {"AUD", "AUD"}, {"NZD", "NZD"},
	{"CHF", "CHF"}, {"ILS", "ILS"}, {"NIS", "ILS"}, {"INR", "INR"}, {"JPY", "JPY"}, {"CNY", "CNY"},
	{"SEK", "SEK"}, {"NOK", "NOK"}, {"DKK", "DKK"}, {"PLN", "PLN"}, {"CZK", "CZK"}, {"HUF", "HUF"},
	{"BRL", "BRL"}, {"MXN", "MXN"}, {"ZAR", "ZAR"}, {"SGD", "SGD"}, {"HKD", "HKD"}, {"AED", "AED"},
	{"US$", "USD"}, {"CA$", "CAD"}, {"C$", "CAD"}, {"AU$", "AUD"}, {"A$", "AUD"}, {"NZ$", "NZD"}, {"R$", "BRL"},
	{"€", "EUR"}, {"£", "GBP"}, {"₪", "ILS"}, {`ש"ח`, "ILS"}, {"ש״ח", "ILS"}, {"₹", "INR"}, {"Rs.", "INR"}, {"Rs", "INR"},
	{"¥", "JPY"}, {"円", "JPY"}, {"zł", "PLN"}, {"Kč", "CZK"}, {"Fr.", "CHF"}, {"$", "USD"},
}

// currencyOf is the currency that stands beside most amounts; a code named anywhere else decides what a
// sign that several countries share means.
func currencyOf(lines []string) string {
	counts := map[string]int{}
	for _, line := range lines {
		for _, span := range digits.FindAllStringIndex(line, -1) {
			for _, sign := range currencySigns {
				if endsIn(line[:span[0]], sign.text) || startsWith(line[span[1]:], sign.text) {
					counts[sign.code]++
					break
				}
			}
		}
	}
	best := mostCounted(counts)
	named := mostCounted(namedCodes(lines))
	if named != "" && (best == "" || best == "USD" || best == "JPY") {
		return named
	}
	if best == "" {
		return "USD"
	}
	return best
}

// namedCodes counts the codes that stand in the text as words of their own.
func namedCodes(lines []string) map[string]int {
	counts := map[string]int{}
	for _, line := range lines {
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !unicode.IsLetter(r) }) {
			for _, sign := range currencySigns {
				if len(sign.text) == 3 && word == sign.text {
					counts[sign.code]++
				}
			}
		}
	}
	return counts
}

// mostCounted prefers the more trusted of two that are counted equally often.
func mostCounted(counts map[string]int) string {
	best := ""
	for _, sign := range currencySigns {
		if counts[sign.code] > counts[best] {
			best = sign.code
		}
	}
	return best
}

func endsIn(text, sign string) bool {
	return strings.HasSuffix(strings.TrimRight(text, "- "+noBreakSpaces), sign)
}

func startsWith(text, sign string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " "+noBreakSpaces), sign)
}

func currencyBefore(text string) bool { return text != trimCurrency(text) }

func currencyAfter(text string) bool {
	for _, sign := range currencySigns {
		if startsWith(text, sign.text) {
			return true
		}
	}
	return false
}

// trimCurrency cuts a currency off the end of a text, together with the space around it.
func trimCurrency(text string) string {
	trimmed := strings.TrimRight(text, " "+noBreakSpaces)
	for _, sign := range currencySigns {
		if rest, found := strings.CutSuffix(trimmed, sign.text); found {
			return rest
		}
	}
	return text
}
