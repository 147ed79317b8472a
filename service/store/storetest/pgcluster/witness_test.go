package pgcluster

import (
	"fmt"
	"runtime"
	"testing"
)

// witness is a test that is allowed to fail. Whatever else is asked of it goes to the real one.
type witness struct {
	testing.TB
	failure string
}

func (w *witness) Fatal(arguments ...any) {
	w.failure = fmt.Sprint(arguments...)
	runtime.Goexit() // as a real test does
}
