package providers

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readResponse reads a whole response object under a 200, and asks in the order of [readAnswer]: what is
// none, or holds an error, is malformed; what has not ended is in doubt; a refusal is refused, also where
// the text was cut; a cut text is truncated, also where it parses or is empty; an answer without a
// proper end or without text is malformed; then its content is judged.
func readResponse(ex Exchange, rules Rules) Outcome {
	object, err := decodeResponse(ex.Body)
	if err != nil {
		return notAnObject(ex, err)
	}
	out := Outcome{Verdict: Failed, Reason: ReasonMalformed, Retryable: true}
	out.Usage, out.UsageFault = usageIn(object.Usage, responseUsage)
	out.ServedModel = lineIn(object.Model)
	head, err := object.head()
	switch {
	case err != nil && says(object.Error):
		out.Detail = with("status 200 with an error body", messageOf(object.Error))
		return out
	case err != nil:
		out.Detail = err.Error()
		return out
	case !head.Ended():
		return unended(out, ex, head)
	}
	out.FinishReason = head.Status
	switch {
	case head.Status == responseFailed:
		return failedResponse(out, ex, object.Error, rules)
	case says(object.Error):
		out.Detail = with("a response with an error", messageOf(object.Error))
		return out
	case head.Status == responseCancelled:
		// Only somebody who holds the provider's key can have done that: it is not undone by sending again.
		out.Reason, out.Retryable, out.Detail = ReasonRejected, false, "the response was cancelled at the provider"
		return out
	}
	return readOutput(out, object, rules)
}

// unended is doubt about a response that was accepted: waiting for it ended before it did.
func unended(out Outcome, ex Exchange, head Response) Outcome {
	doubt := lost(ex, oneLine(fmt.Sprintf("status %q does not say that the response ended", head.Status)))
	if head.Unfinished() {
		doubt = lost(ex, "the response is still "+head.Status)
	}
	if ex.Err == nil {
		doubt.Reason = ReasonTimeout
	}
	doubt.ServedModel, doubt.Usage = out.ServedModel, out.Usage
	return doubt
}

// failedResponse reads why the provider gave up. An error that nobody knows makes the answer malformed,
// as an error body does.
func failedResponse(out Outcome, ex Exchange, raw jsontext.Value, rules Rules) Outcome {
	var problem struct {
		Code jsontext.Value `json:"code"`
	}
	if raw.Kind() == '{' {
		_ = json.Unmarshal(raw, &problem) // part of a body that was decoded: it is valid
	}
	code := lineIn(problem.Code)
	out.Detail = "the response failed"
	if code != "" {
		out.Detail = oneLine(out.Detail + ", " + code)
	}
	out.Detail = with(out.Detail, messageOf(raw))
	row, known := errorCodes[strings.ToLower(code)]
	if !known {
		return out
	}
	out.Reason, out.Retryable = row.reason, row.retryable
	if row.reason == ReasonRateLimited {
		out.RetryAfter, _ = RetryAfter(ex.Header, now(ex, rules))
	}
	return out
}

// cutShort are the reasons of an incomplete response with a meaning of their own.
var cutShort = map[string]Reason{
	"max_output_tokens": ReasonTruncated, "max_tokens": ReasonTruncated, "content_filter": ReasonRefused,
}

// readOutput finishes out, which comes in as malformed and retryable.
func readOutput(out Outcome, object responseObject, rules Rules) Outcome {
	said, problem := spoken(object.Output)
	out.Content = said.text
	var details struct {
		Reason jsontext.Value `json:"reason"`
	}
	incomplete := out.FinishReason == responseIncomplete
	if incomplete && object.Incomplete.Kind() == '{' {
		_ = json.Unmarshal(object.Incomplete, &details) // part of a body that was decoded: it is valid
		out.FinishReason = lineIn(details.Reason)
	}
	ending, known := cutShort[strings.ToLower(out.FinishReason)]
	switch {
	case problem != "" && !incomplete:
		out.Detail = problem
	case said.refused:
		out.Reason, out.Retryable, out.Detail = ReasonRefused, false, with("refusal", said.refusal)
	case incomplete && known:
		out.Reason, out.Retryable, out.Detail = ending, false, "incomplete: "+out.FinishReason
	case incomplete:
		out.Detail = oneLine(fmt.Sprintf("incomplete, and the reason %q is not known", out.FinishReason))
	case said.unfinished:
		out.Detail = "the response holds a message that does not say that it ended"
	case !said.isText:
		out.Detail = "the output holds no text"
	case strings.TrimSpace(said.text) == "":
		out.Detail = "the content is empty"
	default:
		return judge(out, rules)
	}
	return out
}
