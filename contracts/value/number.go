package value

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Number is a JSON number literal, kept as it was sent. Compare numbers with [Number.Canonical] or
// [Equal], never with ==.
type Number string

// Bounds of what is turned into a [big.Rat]. A short literal such as 1e131071 would otherwise become
// 54 kB of digits, and arithmetic on a few of them gigabytes.
const (
	maxRatExponent = 400
	maxRatDigits   = 1000
)

// String is the literal as sent.
func (n Number) String() string { return string(n) }

// Calculable is an error where [Number.Rat] is one: where the literal is no JSON number, or where its exponent or its
// count of digits goes beyond what arithmetic here is meant for. It costs less.
func (n Number) Calculable() error {
	_, err := n.calculable()
	return err
}

func (n Number) calculable() (decimal, error) {
	if !IsNumber(string(n)) {
		return decimal{}, fmt.Errorf("%q is not a JSON number", shorten(string(n)))
	}
	d := n.decimal()
	if len(d.digits) > maxRatDigits {
		return d, fmt.Errorf("number with %d digits: at most %d can be calculated with", len(d.digits), maxRatDigits)
	}
	if !d.exponent.IsInt64() || d.exponent.Int64() > maxRatExponent || d.exponent.Int64() < -maxRatExponent {
		return d, fmt.Errorf("number %s: exponents beyond ±%d cannot be calculated with", shorten(string(n)), maxRatExponent)
	}
	return d, nil
}

// Rat is the exact value. It is an error where the number is not [Number.Calculable].
func (n Number) Rat() (*big.Rat, error) {
	d, err := n.calculable()
	if err != nil {
		return nil, err
	}
	rat, ok := new(big.Rat).SetString(d.sign() + "0" + d.digits + "e" + d.exponent.String())
	if !ok { // unreachable: digits and a small exponent are a rational
		return nil, fmt.Errorf("%q is not a number", shorten(string(n)))
	}
	return rat, nil
}

// Canonical is one spelling for all literals of one value: 1, 1.0, 1e0 and 10e-1 are "1", and -0 is
// "0". It is exact, is itself a JSON number, and is never much longer than the literal.
func (n Number) Canonical() string {
	d := n.decimal()
	if d.digits == "" {
		return "0"
	}
	const plain = 24 // longer runs of zeros are written as an exponent
	if d.exponent.IsInt64() {
		switch e := d.exponent.Int64(); {
		case e == 0:
			return d.sign() + d.digits
		case e > 0 && e <= plain:
			return d.sign() + d.digits + strings.Repeat("0", int(e))
		case e < 0 && int(-e) < len(d.digits):
			point := len(d.digits) - int(-e)
			return d.sign() + d.digits[:point] + "." + d.digits[point:]
		case e < 0 && e >= -plain:
			return d.sign() + "0." + strings.Repeat("0", int(-e)-len(d.digits)) + d.digits
		}
	}
	return d.sign() + d.digits + "e" + d.exponent.String()
}

// FromRat is the Number of an exact rational that has a finite decimal form; ok is false for others,
// such as 1/3.
func FromRat(r *big.Rat) (Number, bool) {
	places, exact := r.FloatPrec()
	if !exact {
		return "", false
	}
	return Number(Number(r.FloatString(places)).Canonical()), true
}

// FromInt is the Number of an int.
func FromInt(i int) Number { return Number(strconv.Itoa(i)) }

// decimal is ± digits × 10^exponent, without leading or trailing zeros in digits; zero has none.
type decimal struct {
	negative bool
	digits   string
	exponent *big.Int
}

func (d decimal) sign() string {
	if d.negative {
		return "-"
	}
	return ""
}

// decimal takes the literal apart. The exponent is a big.Int because a literal's exponent may itself
// have any number of digits.
func (n Number) decimal() decimal {
	literal, negative := strings.CutPrefix(string(n), "-")
	exponent := new(big.Int)
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		exponent.SetString(strings.TrimPrefix(literal[i+1:], "+"), 10)
		literal = literal[:i]
	}
	whole, fraction, _ := strings.Cut(literal, ".")
	exponent.Sub(exponent, big.NewInt(int64(len(fraction))))
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return decimal{exponent: new(big.Int)}
	}
	exponent.Add(exponent, big.NewInt(int64(len(digits)-len(significant))))
	return decimal{negative: negative, digits: significant, exponent: exponent}
}

// IsNumber reports whether s is a number by the grammar of RFC 8259: no sign but minus, no leading
// zero, no bare point, no NaN.
func IsNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole := leadingDigits(s)
	if whole == 0 || (whole > 1 && s[0] == '0') {
		return false
	}
	s = s[whole:]
	if rest, ok := strings.CutPrefix(s, "."); ok {
		fraction := leadingDigits(rest)
		if fraction == 0 {
			return false
		}
		s = rest[fraction:]
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && leadingDigits(s) == len(s)
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// shorten keeps hostile literals out of messages.
func shorten(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
