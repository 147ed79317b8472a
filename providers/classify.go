package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// ServerErrorsDoubt and ServerErrorsFailed are what Rules.ServerErrors may hold; anything else is doubt.
const (
	ServerErrorsDoubt  = "doubt"
	ServerErrorsFailed = "failed"
)

// Classify says what an exchange means for its attempt. It is pure and decides from what was written
// and from raw status, headers and bytes; the transport's error only words the detail and tells a
// deadline from a lost connection, never success or failure from doubt.
//
// The order of the questions is part of the promise:
//
//  1. Did the request leave? If not: not_sent (unmappable where it could not be built), also where a deadline was the cause.
//  2. Did a status arrive? If not: in doubt, timeout where a deadline ended the wait.
//  3. Is the status other than 200? Then the status table decides, whatever the body says.
//  4. Did the body arrive whole and within the limit? Cut short is in doubt, oversized is malformed.
//  5. What does the answer say? See readAnswer, and readResponse where Exchange.Responses says so.
//
// Succeeded is only ever said of a whole body under a 200 that passed every question.
func Classify(ex Exchange, rules Rules) Outcome {
	if ex.Status == 0 {
		return withoutStatus(ex)
	}
	if ex.Status != http.StatusOK {
		return fromStatus(ex, rules)
	}
	switch {
	case ex.TooLarge:
		return failed(ReasonMalformed, true, fmt.Sprintf("answer larger than %d bytes", len(ex.Body)))
	case !ex.Complete:
		return lost(ex, "the answer was cut short")
	}
	if ex.Responses {
		return readResponse(ex, rules)
	}
	return readAnswer(ex, rules)
}

// withoutStatus reads an exchange in which no status line arrived.
func withoutStatus(ex Exchange) Outcome {
	switch {
	case ex.Wrote:
		return lost(ex, "no answer after the request was sent")
	case ex.Unbuildable:
		return failed(ReasonUnmappable, false, because("the request could not be built", ex.Err))
	default:
		return failed(ReasonNotSent, true, because("the request was not sent", ex.Err))
	}
}

// lost is doubt after the request may have left. Only the reason's wording hangs on the error: a
// deadline of ours is timeout, everything else (the kernel's own timeouts too) a lost connection.
func lost(ex Exchange, what string) Outcome {
	reason := ReasonConnectionLost
	if errors.Is(ex.Err, context.DeadlineExceeded) || errors.Is(ex.Err, os.ErrDeadlineExceeded) {
		reason = ReasonTimeout
	}
	return Outcome{Verdict: InDoubt, Reason: reason, Detail: because(what, ex.Err)}
}

func failed(reason Reason, retryable bool, detail string) Outcome {
	return Outcome{Verdict: Failed, Reason: reason, Retryable: retryable, Detail: oneLine(detail)}
}

func because(what string, err error) string {
	if err == nil {
		return what
	}
	return with(what, err.Error())
}
