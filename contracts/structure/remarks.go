package structure

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/fallproof/fallproof/contracts/value"
)

// The remarks, which are no faults: these numbers stay exact here, and not in every reader (RFC 7493 section
// 2.2, RFC 8259 section 6).
const (
	UnsafeInteger Reason = "unsafe_integer" // an integer beyond 2^53
	BeyondDouble  Reason = "beyond_double"  // a number so large, or so close to zero, that no double is near it
)

var greatestSafe = new(big.Int).Lsh(big.NewInt(1), 53)

// Remarks says what of an answer that holds may surprise who reads it elsewhere.
func Remarks(answer any) []Finding { return remarks(answer, "") }

func remarks(v any, at string) []Finding {
	var found []Finding
	switch v := v.(type) {
	case value.Number:
		if becomes := beyond(v); becomes != "" {
			return []Finding{{BeyondDouble, at, fmt.Sprintf("%s is beyond what a double can hold: readers that use doubles %s", shortened(v), becomes)}}
		}
		if unsafe(string(v)) {
			return []Finding{{UnsafeInteger, at, fmt.Sprintf("%s is beyond 2^53: readers that use doubles change it", shortened(v))}}
		}
	case []any:
		for i, element := range v {
			found = append(found, remarks(element, value.Pointer(at, fmt.Sprint(i)))...)
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			found = append(found, remarks(v[key], value.Pointer(at, key))...)
		}
	}
	return found
}

// beyond is what becomes of a number that overflows a double, or falls below all but zero; "" of any other.
func beyond(number value.Number) string {
	switch f, err := strconv.ParseFloat(string(number), 64); {
	case err != nil:
		return "refuse it, or read infinity"
	case f == 0 && number.Canonical() != "0":
		return "read 0"
	}
	return ""
}

// unsafe is asked of integers alone: who writes a fraction or an exponent means a double.
func unsafe(number string) bool {
	if strings.ContainsAny(number, ".eE") {
		return false
	}
	n, ok := new(big.Int).SetString(number, 10)
	return ok && n.CmpAbs(greatestSafe) > 0
}

// shortened keeps a number of a thousand digits from hiding what is said of it.
func shortened(number value.Number) string {
	const most = 60
	if len(number) <= most {
		return string(number)
	}
	return string(number[:most]) + "…"
}
