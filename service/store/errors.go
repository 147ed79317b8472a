package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/fallproof/fallproof/service/job"
)

// Errors that a caller is expected to tell apart, with errors.Is.
var (
	// ErrNotFound: no such thing for this owner. Another owner's job is not found either.
	ErrNotFound = errors.New("not found")
	// ErrPurged: retention emptied the job; a tombstone is left. It is an ErrNotFound too, for whoever need not
	// tell apart what is gone from what never was.
	ErrPurged error = purgedError{}
	// ErrJobFinal: the job is succeeded or cancelled.
	ErrJobFinal = errors.New("the job is final")
	// ErrAttemptsExhausted: the job's cap on attempts is reached.
	ErrAttemptsExhausted = errors.New("the job has no attempts left")
	// ErrUnavailable: the database could not be reached, or went away in the middle. The change may have been
	// made; repeating it is safe.
	ErrUnavailable = errors.New("the database is not available")
)

type purgedError struct{}

func (purgedError) Error() string { return "the job was purged" }
func (purgedError) Unwrap() error { return ErrNotFound }

// KeyConflict says that the idempotency key already names another intent. Pointers are the JSON pointers that
// differ, never values; of a purged job nothing is left to compare.
type KeyConflict struct {
	Pointers []string
	Purged   bool
}

func (e *KeyConflict) Error() string {
	if e.Purged {
		return "the idempotency key already names another intent, of a job that was purged"
	}
	return fmt.Sprintf("the idempotency key already names another intent; it differs at %v", e.Pointers)
}

// Blocked says that an attempt stands in the way of a new one.
type Blocked struct{ By job.Attempt }

func (e *Blocked) Error() string {
	return fmt.Sprintf("attempt %d is %s", e.By.Number, e.By.State)
}

// NotCertified says that the target has no standing proof for this job.
type NotCertified struct{ Refusal job.TargetRefusal }

func (e *NotCertified) Error() string {
	return fmt.Sprintf("%s is not certified for this job: %v", e.Refusal.Target, e.Refusal.Reasons)
}

// NotYet says that the attempt's turn cannot have come by the database's clock; nothing changed.
type NotYet struct{ In time.Duration }

func (e *NotYet) Error() string { return fmt.Sprintf("its turn comes in %s at the earliest", e.In) }

// IllegalTransition says that the attempt's state does not allow the event; nothing changed.
type IllegalTransition struct {
	Attempt job.Attempt
	Event   job.Event
}

func (e *IllegalTransition) Error() string {
	return fmt.Sprintf("attempt %d is %s: %q is not possible", e.Attempt.Number, e.Attempt.State, e.Event)
}
