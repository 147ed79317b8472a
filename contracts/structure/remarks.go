package structure

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/fallproof/fallproof/contracts/value"
)

// UnsafeInteger is no fault but a remark: an integer beyond 2^53 stays exact here, and not in every
// reader (RFC 7493 section 2.2).
const UnsafeInteger Reason = "unsafe_integer"

var greatestSafe = new(big.Int).Lsh(big.NewInt(1), 53)

// Remarks says what of an answer that holds may surprise who reads it elsewhere.
func Remarks(answer any) []Finding { return remarks(answer, "") }

func remarks(v any, at string) []Finding {
	var found []Finding
	switch v := v.(type) {
	case value.Number:
		if unsafe(string(v)) {
			return []Finding{{UnsafeInteger, at, fmt.Sprintf("%s is beyond 2^53: readers that use doubles change it", v)}}
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

// unsafe is asked of integers alone: who writes a fraction or an exponent means a double.
func unsafe(number string) bool {
	if strings.ContainsAny(number, ".eE") {
		return false
	}
	n, ok := new(big.Int).SetString(number, 10)
	return ok && n.CmpAbs(greatestSafe) > 0
}
