package providers_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
)

// background is a whole 200 with a response object of this status; members follow it verbatim.
func background(status, members string, header ...string) providers.Exchange {
	ex := answered(200, fmt.Sprintf(`{"id":"resp_1","object":"response","status":%q,"model":"m"%s}`, status, members), header...)
	ex.Responses = true
	return ex
}

// outputs are the members of a response with one message of these parts.
func outputs(parts string) string {
	return `,"error":null,"incomplete_details":null,"output":[{"type":"reasoning","summary":[]},` +
		`{"type":"message","role":"assistant","status":"completed","content":[` + parts + `]}]`
}

func words(text string) string {
	return fmt.Sprintf(`{"type":"output_text","annotations":[],"text":%s}`, quoted(text))
}

func refusing(why string) string { return fmt.Sprintf(`{"type":"refusal","refusal":%q}`, why) }

func incomplete(reason, members string) providers.Exchange {
	return background("incomplete", fmt.Sprintf(`,"incomplete_details":{"reason":%q}`, reason)+members)
}

func broke(code string) providers.Exchange {
	return background("failed", fmt.Sprintf(`,"output":[],"error":{"code":%q,"message":"so it is"}`, code))
}

func raw(body string, header ...string) providers.Exchange {
	ex := answered(200, body, header...)
	ex.Responses = true
	return ex
}

func ended(ex providers.Exchange, err error) providers.Exchange {
	ex.Err = err
	return ex
}

func TestClassifyResponses(t *testing.T) {
	asked := providers.Rules{ExpectJSON: true}
	contract := providers.Rules{ExpectJSON: true, Check: agreeing}
	failedRule := providers.Rules{ServerErrors: providers.ServerErrorsFailed}
	ours := fmt.Errorf("%w; last seen: status 502", context.DeadlineExceeded)
	check(t, []row{
		{name: "a valid answer", ex: background("completed", outputs(words(`{"a":1}`))), rules: contract, verdict: ok},
		{name: "text in several parts", ex: background("completed", outputs(words(`{"a":`)+","+words(`1}`))), rules: contract, verdict: ok},
		{name: "only the assistant speaks", ex: background("completed", `,"output":[{"type":"message","role":"user","content":[`+words("x")+`]},{"type":"message","content":[`+words(`{}`)+`]}]`), rules: contract, verdict: ok},
		{name: "empty error field", ex: background("completed", `,"error":{},"output":[{"type":"message","content":[`+words(`{}`)+`]}]`), rules: contract, verdict: ok},

		{name: "queued when the wait ended", ex: ended(background("queued", ""), ours), rules: contract, verdict: indoubt, reason: providers.ReasonTimeout, detail: "the response is still queued: context deadline exceeded; last seen: status 502"},
		{name: "in progress, no error given", ex: background("in_progress", outputs(words(`{}`))), rules: contract, verdict: indoubt, reason: providers.ReasonTimeout, detail: "still in_progress"},
		{name: "queued when we were stopped", ex: ended(background("queued", ""), context.Canceled), rules: contract, verdict: indoubt, reason: providers.ReasonConnectionLost, detail: "still queued"},
		{name: "a status that nobody knows", ex: background("expired", outputs(words(`{}`))), rules: contract, verdict: indoubt, reason: providers.ReasonTimeout, detail: `"expired" does not say`},
		{name: "no status", ex: raw(`{"id":"r","object":"response"}`), rules: contract, verdict: indoubt, reason: providers.ReasonTimeout, detail: "does not say"},
		{name: "queued with an error", ex: background("queued", `,"error":{"message":"x"}`), verdict: indoubt, reason: providers.ReasonTimeout},

		{name: "error body", ex: raw(`{"error":{"message":"overloaded"}}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "error body: overloaded"},
		{name: "a chat completion", ex: raw(`{"id":"x","object":"chat.completion","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not a response object"},
		{name: "no id", ex: raw(`{"object":"response","status":"completed"` + outputs(words(`{}`)) + `}`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "without an id"},
		{name: "an id of another kind", ex: raw(`{"object":"response","id":7,"status":"queued"}`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "without an id"},
		{name: "HTML", ex: raw(`<html>`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not one JSON object"},
		{name: "compressed", ex: raw("\x1f\x8b\x08", "Content-Encoding", "gzip"), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "compressed"},
		{name: "a key twice where nobody reads", ex: background("completed", `,"x":{"y":1,"y":2}`+outputs(words(`{}`))), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "duplicate"},
		{name: "too large", ex: tooLarge(background("queued", "")), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "answer larger"},
		{name: "cut short", ex: cut(background("completed", outputs(words(`{}`))), syscall.ECONNRESET), rules: contract, verdict: indoubt, reason: providers.ReasonConnectionLost},
		{name: "no answer to the request", ex: providers.Exchange{Wrote: true, Responses: true, Err: context.DeadlineExceeded}, verdict: indoubt, reason: providers.ReasonTimeout},
		{name: "another status is read by the table", ex: func() providers.Exchange { ex := answered(400, `{"error":"no"}`); ex.Responses = true; return ex }(), verdict: no, reason: providers.ReasonRejected, detail: "status 400: no"},
		{name: "accepted elsewhere", ex: func() providers.Exchange { ex := answered(202, `{}`); ex.Responses = true; return ex }(), verdict: indoubt, reason: providers.ReasonGatewayTimeout},

		{name: "failed: rate limit", ex: broke("rate_limit_exceeded"), rules: contract, verdict: no, reason: providers.ReasonRateLimited, retryable: true, detail: "the response failed, rate_limit_exceeded: so it is"},
		{name: "failed: quota", ex: broke("insufficient_quota"), verdict: no, reason: providers.ReasonUnauthorized},
		{name: "failed: server error", ex: broke("server_error"), rules: contract, verdict: no, reason: providers.ReasonServerError, retryable: true, detail: "server_error"},
		{name: "failed: prompt", ex: broke("invalid_prompt"), rules: failedRule, verdict: no, reason: providers.ReasonRejected},
		{name: "failed: filter", ex: broke("content_filter"), verdict: no, reason: providers.ReasonRefused},
		{name: "failed: nobody knows why", ex: broke("frobnicated\n"), rules: failedRule, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "the response failed, frobnicated: so it is"},
		{name: "failed: without an error", ex: background("failed", outputs(words(`{}`))), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "the response failed"},
		{name: "failed: an error in words", ex: background("failed", `,"error":"server_error"`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "the response failed: server_error"},
		{name: "completed with an error", ex: background("completed", `,"error":{"code":"server_error","message":"x"},"output":[{"type":"message","content":[`+words(`{}`)+`]}]`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "a response with an error: x"},
		{name: "cancelled", ex: background("cancelled", outputs(words(`{}`))), rules: contract, verdict: no, reason: providers.ReasonRejected, detail: "cancelled at the provider"},

		{name: "truncated though it parses", ex: incomplete("max_output_tokens", `,"output":[{"type":"message","status":"incomplete","content":[`+words(`{}`)+`]}]`), rules: contract, verdict: no, reason: providers.ReasonTruncated, detail: "max_output_tokens"},
		{name: "truncated before the first word", ex: incomplete("max_output_tokens", `,"output":[]`), rules: contract, verdict: no, reason: providers.ReasonTruncated},
		{name: "content filter", ex: incomplete("content_filter", `,"output":[{"type":"message","content":[`+words(`{}`)+`]}]`), rules: contract, verdict: no, reason: providers.ReasonRefused},
		{name: "refusal cut short", ex: incomplete("max_output_tokens", `,"output":[{"type":"message","content":[`+refusing("I")+`]}]`), rules: contract, verdict: no, reason: providers.ReasonRefused, detail: "refusal: I"},
		{name: "incomplete, nobody knows why", ex: incomplete("boredom", `,"output":[{"type":"message","content":[`+words(`{}`)+`]}]`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: `"boredom"`},
		{name: "incomplete, no reason", ex: background("incomplete", outputs(words(`{}`))), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "refusal", ex: background("completed", outputs(refusing("I can't."))), rules: contract, verdict: no, reason: providers.ReasonRefused, detail: "I can't."},
		{name: "refusal beside an answer", ex: background("completed", outputs(words(`{}`)+","+refusing(""))), rules: contract, verdict: no, reason: providers.ReasonRefused},

		{name: "no output", ex: background("completed", ""), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "no output"},
		{name: "empty output", ex: background("completed", `,"output":[]`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "no output"},
		{name: "output of another kind", ex: background("completed", `,"output":[1]`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not a list of objects"},
		{name: "content of another kind", ex: background("completed", `,"output":[{"type":"message","content":"{}"}]`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "content of a message"},
		{name: "a message that did not end", ex: background("completed", `,"output":[{"type":"message","status":"in_progress","content":[`+words(`{}`)+`]}]`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "does not say that it ended"},
		{name: "reasoning alone", ex: background("completed", `,"output":[{"type":"reasoning","content":[`+words(`{}`)+`]}]`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "holds no text"},
		{name: "text of another kind", ex: background("completed", outputs(`{"type":"output_text","text":{}}`)), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "holds no text"},
		{name: "empty text", ex: background("completed", outputs(words(""))), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "empty"},

		{name: "error prose", ex: background("completed", outputs(words("Error [500]"))), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not one JSON value"},
		{name: "fence", ex: background("completed", outputs(words("```json\n{}\n```"))), rules: contract, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "code fence"},
		{name: "fence without a contract", ex: background("completed", outputs(words("```json\n{}\n```"))), rules: asked, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "code fence"},
		{name: "a check says no", ex: background("completed", outputs(words(`{}`))), rules: providers.Rules{ExpectJSON: true, Check: violating("/total", "missing")}, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "missing (and 1 more)"},
	})
}

// TestClassifyResponsesKeepsWhatWasSaid: the parts of a response are read apart from its verdict.
func TestClassifyResponsesKeepsWhatWasSaid(t *testing.T) {
	g := gomega.NewWithT(t)
	usage := `,"usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"total_tokens":15}`
	want := &providers.Usage{PromptTokens: 12, CompletionTokens: 3, TotalTokens: 15}
	g.Expect(providers.Classify(background("completed", usage+outputs(words(`{"t":1}`))), providers.Rules{ExpectJSON: true, Check: violating("/t", "no")})).
		To(gomega.Equal(providers.Outcome{
			Verdict: no, Reason: providers.ReasonContractViolation, Retryable: true, Detail: "no (and 1 more)", InstancePath: "/t",
			Content: `{"t":1}`, FinishReason: "completed", ServedModel: "m", Usage: want,
		}))
	for status, finish := range map[string]string{"failed": "failed", "cancelled": "cancelled", "incomplete": "incomplete", "queued": ""} {
		out := providers.Classify(background(status, usage), providers.Rules{})
		g.Expect(out.Usage).To(gomega.Equal(want), status)
		g.Expect(out.ServedModel).To(gomega.Equal("m"), status)
		g.Expect(out.FinishReason).To(gomega.Equal(finish), status)
	}
	cut := providers.Classify(incomplete("max_output_tokens", `,"output":[{"type":"message","content":[`+words(`{"a`)+`]}]`), providers.Rules{})
	g.Expect([]string{cut.Content, cut.FinishReason}).To(gomega.Equal([]string{`{"a`, "max_output_tokens"}))
	chat := providers.Classify(background("completed", `,"usage":{"prompt_tokens":1,"completion_tokens":2}`+outputs(words("x"))), providers.Rules{})
	g.Expect(chat.Usage).To(gomega.BeNil(), "another format's counts are not this one's")

	limited := background("failed", `,"error":{"code":"rate_limit_exceeded"}`, "Retry-After", "7")
	g.Expect(providers.Classify(limited, providers.Rules{}).RetryAfter).To(gomega.Equal(7 * time.Second))
}

func TestParseResponse(t *testing.T) {
	g := gomega.NewWithT(t)
	head, err := providers.ParseResponse([]byte(`{"object":"response","id":"r","status":"queued","metadata":{"k":"v"}}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(head).To(gomega.Equal(providers.Response{ID: "r", Status: "queued", Metadata: map[string]string{"k": "v"}}))
	odd, err := providers.ParseResponse([]byte(`{"object":"response","id":"r","metadata":{"k":1}}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(odd).To(gomega.Equal(providers.Response{ID: "r"}))
	for _, bad := range []string{``, `[]`, `{}`, `{"object":"list","id":"r"}`, `{"object":"response"}`, `{"object":"response","id":""}`, `{"object":"response","id":"r","id":"s"}`, `{"object":"response","id":"r"}{}`} {
		_, err := providers.ParseResponse([]byte(bad))
		g.Expect(err).To(gomega.HaveOccurred(), bad)
	}
	for status, want := range map[string][2]bool{
		"completed": {true, false}, "failed": {true, false}, "incomplete": {true, false}, "cancelled": {true, false},
		"queued": {false, true}, "in_progress": {false, true}, "": {false, false}, "Completed": {false, false}, "expired": {false, false},
	} {
		r := providers.Response{Status: status}
		g.Expect([2]bool{r.Ended(), r.Unfinished()}).To(gomega.Equal(want), status)
	}
}
