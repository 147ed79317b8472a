package providers

import (
	"context"
	"time"
)

// Finder asks a provider what became of an attempt that was sent to it. It only reads, so it never
// causes work, and it asks once: whoever calls it comes again.
type Finder interface {
	Find(ctx context.Context, question Question) Finding
}

// Question names an attempt to the provider that it was sent to.
type Question struct {
	Target    Target
	Profile   Profile // Reconcile says how it can be found
	AttemptID string
	Reference string // the provider's own id; with ReconcileResponses alone, "" where it was never learned
}

// Found says what a provider knew about an attempt.
type Found string

// What a provider may know.
const (
	FoundAnswer     Found = "answer"      // Finding.Exchange holds it, for Classify
	FoundUnfinished Found = "unfinished"  // it is still at work
	FoundAbsent     Found = "absent"      // the provider answered, and has no such thing
	FoundNothing    Found = "unreachable" // it did not say: no connection, an error, or an answer that proves nothing
)

// Finding is a provider's word about an attempt.
type Finding struct {
	Found      Found
	Exchange   Exchange      // with FoundAnswer: as if the answer had come by the attempt's own connection
	Detail     string        // one line for people; holds no key
	RetryAfter time.Duration // as the provider asked; 0 when it did not
}
