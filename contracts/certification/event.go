package certification

import (
	"slices"
	"time"
)

// Event is something that happened to a record after it was issued. Each kind happens to a record at most
// once; events are append-only.
type Event struct {
	CertificationID string    `json:"certification_id"`
	Type            EventType `json:"type"`
	Cause           string    `json:"cause"`   // a stable word
	Detail          string    `json:"detail"`  // for people; never the content of an answer
	By              string    `json:"by"`      // who: a replica, an API key or a person; for Displaced the record that did it
	Grounds         *Grounds  `json:"grounds"` // nil = none
	At              time.Time `json:"at"`
}

// EventType names what happened.
type EventType string

// Types of events. Suspended, Expired and Revoked are also the reasons that follow.
const (
	EventSuspended   EventType = "suspended"                 // live answers are not what was certified; a cause of package drift
	EventFingerprint EventType = "fingerprint_changed"       // another configuration of the provider answered, or its model has a name now: a warning
	EventRequested   EventType = "recertification_requested" // cause: the type of event that called for it
	EventExpiring    EventType = "expiring"                  // the end of its validity is near: a warning
	EventExpired     EventType = "expired"
	EventRevoked     EventType = "revoked"
	EventDisplaced   EventType = "displaced" // another record counts now
)

// CauseCarriedOver is the cause of a suspension that a new record did not end, because its run had begun
// before: what it saw may be from before as well.
const CauseCarriedOver = "carried_over"

// Grounds are what a suspension rests on.
type Grounds struct {
	Answers    int          `json:"answers,omitzero"`    // judged in the window
	Violations int          `json:"violations,omitzero"` // of them
	Attempts   []AttemptRef `json:"attempts"`            // newest first; not all where there are many
}

// AttemptRef names an attempt for whoever may look into its owner's jobs.
type AttemptRef struct {
	Owner  string `json:"owner"`
	JobID  string `json:"job_id"`
	Number int    `json:"number"`
	ID     string `json:"id"`
}

// EventsOf are events as one owner may see them; never nil.
func EventsOf(owner string, events []Event) []Event {
	seen := make([]Event, len(events))
	for i, event := range events {
		event.Grounds = event.Grounds.Of(owner)
		seen[i] = event
	}
	return seen
}

// Of are the grounds as one owner may see it: the counts, and the attempts that are his own.
func (g *Grounds) Of(owner string) *Grounds {
	if g == nil {
		return nil
	}
	own := *g
	own.Attempts = slices.DeleteFunc(slices.Clone(g.Attempts), func(ref AttemptRef) bool { return ref.Owner != owner })
	if own.Attempts == nil {
		own.Attempts = []AttemptRef{}
	}
	return &own
}

// How long before its end a proof is called expiring: this part of its validity, and no longer than a day.
const (
	expiringPart = 5
	expiringMost = 24 * time.Hour
)

// ExpiringFrom is the moment from which on the end of a record's validity is near.
func ExpiringFrom(issued, expires time.Time) time.Time {
	return expires.Add(-min(expires.Sub(issued)/expiringPart, expiringMost))
}

// Warning is what is worth knowing about a proof that stands all the same; the words are part of the API.
type Warning string

// Warnings of a standing proof.
const (
	WarningExpiring    Warning = Warning(EventExpiring)
	WarningFingerprint Warning = Warning(EventFingerprint)
)

// Warnings are what is worth knowing about a certified proof; none once it expired.
func (s Standing) Warnings() []Warning {
	if s.Proof == nil || s.Proof.Verdict != Certified || !s.Now.Before(s.Proof.ExpiresAt) {
		return nil
	}
	var warnings []Warning
	if issued := s.Proof.IssuedAt; !issued.IsZero() && !s.Now.Before(ExpiringFrom(issued, s.Proof.ExpiresAt)) {
		warnings = append(warnings, WarningExpiring)
	}
	if _, changed := s.Event(EventFingerprint); changed {
		warnings = append(warnings, WarningFingerprint)
	}
	return warnings
}

// Event finds what happened to the proof's record.
func (s Standing) Event(kind EventType) (Event, bool) {
	i := slices.IndexFunc(s.Events, func(e Event) bool { return e.Type == kind })
	if i < 0 {
		return Event{}, false
	}
	return s.Events[i], true
}
