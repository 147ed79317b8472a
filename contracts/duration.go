package contracts

import (
	"fmt"
	"math"
	"regexp"
	"time"
)

// longestDuration is in whole hours the most that a time.Duration holds, as people write it.
const longestDuration = math.MaxInt64 / time.Hour

// durationForm is what time.ParseDuration reads, whatever its size: its error does not tell one that is too
// long from one that is written wrongly.
var durationForm = regexp.MustCompile(`^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`)

// ParseDuration reads a positive duration as Go writes it. The error says what is wanted, with examples as
// they are usual where it stands, or that the duration is too long and which is the longest.
func ParseDuration(written, examples string) (time.Duration, error) {
	d, err := time.ParseDuration(written)
	switch {
	case err != nil && durationForm.MatchString(written):
		return 0, fmt.Errorf("too long; the longest duration is %dh, which is 292 years", longestDuration)
	case err != nil || d <= 0:
		return 0, fmt.Errorf("want a positive duration such as %s", examples)
	}
	return d, nil
}
