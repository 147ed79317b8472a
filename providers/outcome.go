package providers

import "time"

// Verdict is what an exchange means for its attempt (DESIGN section 5).
type Verdict string

const (
	Succeeded Verdict = "succeeded" // a valid answer
	Failed    Verdict = "failed"    // a definite failure: nothing is in flight
	InDoubt   Verdict = "in_doubt"  // it may or may not have taken effect
)

// Reason says why, in one word that is stable across API, SQL and metrics.
type Reason string

const (
	ReasonNone              Reason = ""
	ReasonNotSent           Reason = "not_sent"           // refused dial, DNS, TLS
	ReasonUnmappable        Reason = "unmappable"         // a request that could not be built: the fault is ours, wherever it is sent
	ReasonRejected          Reason = "rejected"           // 400 404 413 422 and other 4xx
	ReasonUnauthorized      Reason = "unauthorized"       // 401 402 403, and a 4xx whose body turns the account away
	ReasonRateLimited       Reason = "rate_limited"       // 429, and 503 with Retry-After
	ReasonServerError       Reason = "server_error"       // 500, 503 and other 5xx; 501 and 505 are definite
	ReasonConnectionLost    Reason = "connection_lost"    // reset or EOF after the request was written, body cut short
	ReasonGatewayTimeout    Reason = "gateway_timeout"    // 408 502 504 52x
	ReasonTimeout           Reason = "timeout"            // no answer by the deadline
	ReasonRedirect          Reason = "redirect"           // never followed
	ReasonMalformed         Reason = "malformed"          // 200 with an error body, no choices, empty content, not JSON where JSON was asked
	ReasonTruncated         Reason = "truncated"          // finish_reason: length
	ReasonRefused           Reason = "refused"            // refusal, content_filter, also as the code of a 4xx
	ReasonContractViolation Reason = "contract_violation" // schema or business check violated
)

// Outcome is the reading of one exchange.
type Outcome struct {
	Verdict      Verdict
	Reason       Reason
	Detail       string        // one line for people; holds no key and no header value
	InstancePath string        // JSON pointer of the first contract violation, if any
	Retryable    bool          // whether the same target may be tried again
	RetryAfter   time.Duration // as the provider asked; 0 when it did not

	Content      string // the answer's text, verbatim
	FinishReason string
	ServedModel  string
	Fingerprint  string // system_fingerprint
	Usage        *Usage // nil when the provider reported none: unknown, never zero
	UsageFault   string // what makes no sense in what it reported, in one line; "" = nothing
}

// Usage is the provider's own count, in tokens.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// Violation is why an answer that arrived whole does not meet its contract.
type Violation struct {
	InstancePath string // JSON pointer into the answer; "" is the whole
	Detail       string
}

// Rules are what Classify needs to know beyond the exchange.
type Rules struct {
	ServerErrors string                           // "doubt" (default) or "failed": what 500 and 503 mean after the request was sent
	ExpectJSON   bool                             // whether the content must be one JSON value
	Unwrap       func(content string) string      // what of the content is the answer; nil = all of it
	Check        func(content string) []Violation // the contract's schema and business checks; nil = none
	Now          time.Time                        // for Retry-After in its HTTP-date form
}
