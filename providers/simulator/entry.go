package simulator

import "time"

// Entry is one request as the simulator saw it: one for work, or in the ledger of questions one about
// work that was asked for earlier.
type Entry struct {
	Seq            int64     `json:"seq"` // strictly increasing in order of arrival, never reused
	AttemptID      string    `json:"attempt_id"`
	IdempotencyKey string    `json:"idempotency_key"` // as sent in the header that the model declares, else in Idempotency-Key; "" = none
	Method         string    `json:"method"`
	Path           string    `json:"path"`
	Query          string    `json:"query,omitzero"` // as sent, without its question mark
	Model          string    `json:"model"`          // "" until the body was read, and where it names none
	Request        string    `json:"request"`        // the body's bytes, verbatim
	ReceivedAt     time.Time `json:"received_at"`
	Answered       *Answer   `json:"answered"`           // null while the request is open
	Executed       bool      `json:"executed"`           // whether it put the model to work: not if it was refused, replayed or never taken up
	ReplayOf       int64     `json:"replay_of,omitzero"` // the request whose work is this one's too, by its idempotency key; 0 = none
	Produced       *Product  `json:"produced"`           // null until the work has yielded something, whether or not it was delivered
}

// Product is what the work for a request has yielded.
type Product struct {
	ID      string    `json:"id"`      // of the completion or the response
	Content string    `json:"content"` // the text; "" where there is none
	Stored  bool      `json:"stored"`  // whether it can be found again
	At      time.Time `json:"at"`      // when it was there
}

// Answer is how a request ended.
type Answer struct {
	How        string    `json:"how"`         // the personality's text form, or "rejected" for a bad request
	Outcome    Outcome   `json:"outcome"`     // what left this server
	Status     int       `json:"status"`      // 0 when no status line was written
	At         time.Time `json:"at"`          // when the server began to answer, or gave up
	ClientGone bool      `json:"client_gone"` // whether the client had left by then
}

// Outcome says what left the server.
type Outcome string

const (
	OutcomeAnswered   Outcome = "answered"   // a whole answer, of whatever status
	OutcomeCut        Outcome = "cut"        // part of a body, then a closed connection
	OutcomeDropped    Outcome = "dropped"    // no byte, then a closed connection
	OutcomeUnanswered Outcome = "unanswered" // the client or the server went first
)

// Filter selects entries; its zero value selects all.
type Filter struct {
	AttemptID string
	Model     string
	Answered  bool // only requests that have ended
	Executed  bool // only requests that put the model to work
	Produced  bool // only requests whose work has yielded something
}

func (f Filter) matches(e *Entry) bool {
	return (f.AttemptID == "" || f.AttemptID == e.AttemptID) &&
		(f.Model == "" || f.Model == e.Model) &&
		(!f.Answered || e.Answered != nil) &&
		(!f.Executed || e.Executed) &&
		(!f.Produced || e.Produced != nil)
}
