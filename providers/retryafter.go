package providers

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what is believed, so that no number a provider sends overflows a duration.
// The bound that matters, how long a job may really wait, is policy and far below it.
const maxRetryAfter = 365 * 24 * time.Hour

// RetryAfter reads how long the provider asked to be left alone, and whether it asked at all. Seconds
// and HTTP dates are understood, fractions too (common, though not in the RFC), and retry-after-ms where
// Retry-After is absent. A date in the past asks for no wait; what cannot be read, negative numbers
// included, counts as not asked. Of several values the longest holds: never sooner than asked.
func RetryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	longest, asked := time.Duration(0), false
	for _, value := range header.Values("Retry-After") {
		value = strings.TrimSpace(value)
		wait, ok := delay(value, time.Second)
		if !ok {
			wait, ok = until(value, now)
		}
		if ok {
			longest, asked = max(longest, wait), true
		}
	}
	if !asked {
		return delay(strings.TrimSpace(header.Get("Retry-After-Ms")), time.Millisecond)
	}
	return longest, true
}

// delay reads a plain decimal number of units, rounded up to the nanosecond.
func delay(value string, unit time.Duration) (time.Duration, bool) {
	if value == "" || strings.Trim(value, "0123456789.") != "" { // no signs, exponents, hex, Inf or NaN
		return 0, false
	}
	number, err := strconv.ParseFloat(value, 64)
	if err != nil && !math.IsInf(number, 1) { // out of range is a number all the same: an absurd one
		return 0, false
	}
	if number >= float64(maxRetryAfter)/float64(unit) {
		return maxRetryAfter, true
	}
	return time.Duration(math.Ceil(number * float64(unit))), true
}

func until(value string, now time.Time) (time.Duration, bool) {
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}
