package providers

import (
	"fmt"
	"net/http"
	"time"
)

// statusRow says what a range of statuses other than 200 means.
type statusRow struct {
	from, to  int
	verdict   Verdict
	reason    Reason
	retryable bool
	byRules   bool // 5xx: Rules.ServerErrors turns doubt into a retryable failure
	note      string
}

// statusTable is DESIGN's table for answers by status; the first row that covers a status holds. Why a request was
// rejected, a code of [errorCodes] in the body says better than a status that stands for any bad request. Where the
// design is silent the choice errs towards doubt wherever work may still be going on behind a hop.
var statusTable = []statusRow{
	{from: 100, to: 199, verdict: InDoubt, reason: ReasonConnectionLost, note: "an interim status and no final one"},
	{from: 202, to: 202, verdict: InDoubt, reason: ReasonGatewayTimeout, note: "accepted, and the answer is elsewhere"},
	{from: 201, to: 299, verdict: Failed, reason: ReasonMalformed, retryable: true, note: "not the status of a chat completion"},
	{from: 300, to: 399, verdict: Failed, reason: ReasonRedirect, note: "a redirect, never followed"},
	{from: 401, to: 403, verdict: Failed, reason: ReasonUnauthorized}, // 402: the account has no means left
	{from: 408, to: 408, verdict: InDoubt, reason: ReasonGatewayTimeout},
	{from: 429, to: 429, verdict: Failed, reason: ReasonRateLimited, retryable: true},
	// nginx's own code: a hop behind us was hung up on, and what it had called may still be working.
	{from: 499, to: 499, verdict: InDoubt, reason: ReasonGatewayTimeout},
	{from: 400, to: 499, verdict: Failed, reason: ReasonRejected},
	// The server says that it does not do such a thing at all, so it did not.
	{from: 501, to: 501, verdict: Failed, reason: ReasonServerError},
	{from: 505, to: 505, verdict: Failed, reason: ReasonServerError},
	{from: 502, to: 502, verdict: InDoubt, reason: ReasonGatewayTimeout},
	{from: 504, to: 504, verdict: InDoubt, reason: ReasonGatewayTimeout},
	{from: 520, to: 529, verdict: InDoubt, reason: ReasonGatewayTimeout},
	{from: 500, to: 599, verdict: InDoubt, reason: ReasonServerError, byRules: true},
}

// unknownStatus is for what the table does not cover, e.g. 999: nobody knows what it means.
var unknownStatus = statusRow{verdict: InDoubt, reason: ReasonServerError, note: "a status that HTTP does not know"}

func fromStatus(ex Exchange, rules Rules) Outcome {
	row := rowFor(ex.Status)
	after, asked := RetryAfter(ex.Header, now(ex, rules))
	switch {
	case ex.Status == http.StatusServiceUnavailable && asked:
		// It named a time to come back, so it turned the request away.
		row = statusRow{verdict: Failed, reason: ReasonRateLimited, retryable: true}
	case row.byRules && rules.ServerErrors == ServerErrorsFailed:
		row.verdict, row.retryable = Failed, true
	case row.reason == ReasonRejected, ex.Status == http.StatusForbidden:
		if said, known := codedReason(ex.Body); known {
			row.reason, row.retryable = said.reason, said.retryable
		}
	}
	out := Outcome{Verdict: row.verdict, Reason: row.reason, Retryable: row.retryable, RetryAfter: after}
	out.Detail = fmt.Sprintf("status %d", ex.Status)
	if row.note != "" {
		out.Detail += ", " + row.note
	}
	out.Detail = with(out.Detail, errorMessage(ex.Body))
	return out
}

func rowFor(status int) statusRow {
	for _, row := range statusTable {
		if row.from <= status && status <= row.to {
			return row
		}
	}
	return unknownStatus
}

// now is the moment that Retry-After dates are measured from.
func now(ex Exchange, rules Rules) time.Time {
	if rules.Now.IsZero() {
		return ex.Finished
	}
	return rules.Now
}
