package providers

import (
	"context"
	"net/http"
	"time"
)

// Provider sends one request to one provider. Send makes at most one POST and returns what was seen,
// never an interpretation of it: [Classify] alone decides what an [Exchange] means. It returns when
// the answer is complete, the connection broke, or ctx ended; it never retries. A background response
// ([ReconcileResponses]) that was accepted is read again and again until it has ended or ctx has:
// reading it is no second request.
type Provider interface {
	Send(ctx context.Context, request Request) Exchange
}

// Message is one chat message before the profile's role mapping is applied.
type Message struct {
	Role    string // "system", "user" or "assistant"
	Content string
}

// Request is what a contract asks of a target. How it is spelled on the wire is the profile's business.
type Request struct {
	Target   Target
	Profile  Profile
	Messages []Message

	// SchemaName and Schema are sent where the profile's StructuredOutput is json_schema.
	SchemaName string
	Schema     []byte // the JSON Schema document, sent unchanged

	Temperature     float64 // really sent, 0 included, unless the profile says omit
	MaxOutputTokens int     // 0 = not sent

	// AttemptID travels as the header X-Fallproof-Attempt, so that a provider's log can be matched with
	// the attempts; besides in the metadata and in the profile's idempotency header, where it declares
	// either, and then it must not be empty.
	AttemptID string

	// Native, where it is set, is asked instead of everything above but the target, the profile and the id of
	// the attempt.
	Native *Native

	// Accepted, where it is set, is called at most once, during Send, with the provider's own id of a
	// background response, as soon as it is known: by it the response can be found again.
	Accepted func(reference string)
}

// Exchange is everything seen of one send.
type Exchange struct {
	RequestBody []byte // the body as built for the wire; nil when none could be. Wrote says whether it may have left
	Unbuildable bool   // the request could not be built: a fault on our side, sending it again cannot help
	Wrote       bool   // whether any byte of the request may have left the machine
	Status      int    // 0 when no status line arrived
	Header      http.Header
	Body        []byte // up to the size limit
	Complete    bool   // whether the body arrived to its declared end
	TooLarge    bool   // whether reading stopped at the size limit
	Err         error  // the transport's error, if any; for people, never for a decision alone
	Peer        string // the IP address that was talked to; "" where no connection was made
	Started     time.Time
	Finished    time.Time

	// Responses says that Body is a response object and not a chat completion (Profile.Reconcile is responses).
	Responses bool
}
