package tokens

import (
	"testing"
	"time"
)

// LimitSearches lets searches give up early for the rest of a test.
func LimitSearches(t *testing.T) {
	t.Helper()
	before := matchTimeout
	matchTimeout = 50 * time.Millisecond
	t.Cleanup(func() { matchTimeout = before })
}
