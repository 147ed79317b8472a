package providers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// answered is a whole answer with a status and a body.
func answered(status int, body string, header ...string) providers.Exchange {
	ex := providers.Exchange{Wrote: true, Status: status, Body: []byte(body), Complete: true, Header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		ex.Header.Add(header[i], header[i+1])
	}
	return ex
}

// said is a whole 200 with one choice, spelled as the wire spells it.
func said(message, finish string) providers.Exchange {
	return answered(200, `{"model":"m","choices":[{"index":0,"message":`+message+`,"finish_reason":`+finish+`}]}`)
}

// text is a finished answer with this content.
func text(content string) providers.Exchange {
	return said(fmt.Sprintf(`{"role":"assistant","content":%s}`, quoted(content)), `"stop"`)
}

func quoted(content string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range content {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func lost(err error) providers.Exchange {
	return providers.Exchange{RequestBody: []byte("{}"), Wrote: true, Err: err}
}

func cut(ex providers.Exchange, err error) providers.Exchange {
	ex.Complete, ex.Err = false, err
	return ex
}

func tooLarge(ex providers.Exchange) providers.Exchange {
	ex.Complete, ex.TooLarge = false, true
	return ex
}

func violating(path, detail string) func(string) []providers.Violation {
	return func(string) []providers.Violation {
		return []providers.Violation{{InstancePath: path, Detail: detail}, {InstancePath: "/later", Detail: "x"}}
	}
}

func agreeing(string) []providers.Violation { return nil }

type row struct {
	name      string
	ex        providers.Exchange
	rules     providers.Rules
	verdict   providers.Verdict
	reason    providers.Reason
	retryable bool
	detail    string // must occur in the detail
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			out := providers.Classify(r.ex, r.rules)
			g.Expect(out.Verdict).To(gomega.Equal(r.verdict), out.Detail)
			g.Expect(out.Reason).To(gomega.Equal(r.reason), out.Detail)
			g.Expect(out.Retryable).To(gomega.Equal(r.retryable), out.Detail)
			g.Expect(out.Detail).To(gomega.ContainSubstring(r.detail))
			if out.Verdict != providers.Succeeded {
				g.Expect(out.Detail).NotTo(gomega.BeEmpty())
			}
		})
	}
}

const (
	ok      = providers.Succeeded
	no      = providers.Failed
	indoubt = providers.InDoubt
)

func TestClassifyWithoutStatus(t *testing.T) {
	check(t, []row{
		{name: "refused dial", ex: providers.Exchange{RequestBody: []byte("{}"), Err: syscall.ECONNREFUSED}, verdict: no, reason: providers.ReasonNotSent, retryable: true, detail: "connection refused"},
		{name: "no error given", ex: providers.Exchange{}, verdict: no, reason: providers.ReasonNotSent, retryable: true},
		{name: "deadline before the first byte", ex: providers.Exchange{Err: context.DeadlineExceeded}, verdict: no, reason: providers.ReasonNotSent, retryable: true},
		{name: "unbuildable", ex: providers.Exchange{Unbuildable: true, Err: errors.New("no messages")}, verdict: no, reason: providers.ReasonUnmappable, detail: "could not be built: no messages"},
		{name: "deadline after the first byte", ex: lost(context.DeadlineExceeded), verdict: indoubt, reason: providers.ReasonTimeout},
		{name: "wrapped deadline", ex: lost(fmt.Errorf("read: %w", os.ErrDeadlineExceeded)), verdict: indoubt, reason: providers.ReasonTimeout},
		{name: "cancelled by us", ex: lost(context.Canceled), verdict: indoubt, reason: providers.ReasonConnectionLost},
		{name: "reset", ex: lost(syscall.ECONNRESET), verdict: indoubt, reason: providers.ReasonConnectionLost, detail: "reset"},
		// An error that is a connection error and a timeout at once: what left decides, not the error.
		{name: "kernel timeout, sent", ex: lost(syscall.ETIMEDOUT), verdict: indoubt, reason: providers.ReasonConnectionLost},
		{name: "kernel timeout, not sent", ex: providers.Exchange{Err: syscall.ETIMEDOUT}, verdict: no, reason: providers.ReasonNotSent, retryable: true},
		{name: "sent, no error given", ex: lost(nil), verdict: indoubt, reason: providers.ReasonConnectionLost},
	})
}

func TestClassifyStatus(t *testing.T) {
	failedRule := providers.Rules{ServerErrors: providers.ServerErrorsFailed}
	good := `{"choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}`
	rows := []row{
		{name: "detail", ex: answered(422, `{"error":{"message":"max_tokens is\nnot supported","code":7}}`), verdict: no, reason: providers.ReasonRejected, detail: "status 422: max_tokens is not supported"},
		{name: "error as text", ex: answered(400, `{"error":"no"}`), verdict: no, reason: providers.ReasonRejected, detail: "status 400: no"},
		{name: "HTML body", ex: answered(404, "<html>"), verdict: no, reason: providers.ReasonRejected, detail: "status 404"},
		{name: "4xx cut short", ex: cut(answered(400, `{"err`), syscall.ECONNRESET), verdict: no, reason: providers.ReasonRejected},
		{name: "5xx too large", ex: tooLarge(answered(500, "x")), verdict: indoubt, reason: providers.ReasonServerError},
		{name: "500 unknown rule is doubt", ex: answered(500, ""), rules: providers.Rules{ServerErrors: "maybe"}, verdict: indoubt, reason: providers.ReasonServerError},
		{name: "503 with Retry-After", ex: answered(503, "", "Retry-After", "3"), verdict: no, reason: providers.ReasonRateLimited, retryable: true},
		{name: "503 with unreadable Retry-After", ex: answered(503, "", "Retry-After", "soon"), verdict: indoubt, reason: providers.ReasonServerError},
		{name: "500 with Retry-After", ex: answered(500, "", "Retry-After", "3"), verdict: indoubt, reason: providers.ReasonServerError},
		{name: "502 stays doubt whatever the rule", ex: answered(502, ""), rules: failedRule, verdict: indoubt, reason: providers.ReasonGatewayTimeout},
		{name: "202 with a good body", ex: answered(202, good), verdict: indoubt, reason: providers.ReasonGatewayTimeout},
		{name: "201 with a good body", ex: answered(201, good), verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "302 with a good body", ex: answered(302, good, "Location", "/secret"), verdict: no, reason: providers.ReasonRedirect},
		{name: "a status though the write was not seen", ex: providers.Exchange{Status: 500}, verdict: indoubt, reason: providers.ReasonServerError},
	}
	add := func(verdict providers.Verdict, reason providers.Reason, retryable bool, rules providers.Rules, statuses ...int) {
		for _, status := range statuses {
			rows = append(rows, row{name: fmt.Sprint(status, rules.ServerErrors), ex: answered(status, good), rules: rules,
				verdict: verdict, reason: reason, retryable: retryable, detail: fmt.Sprint("status ", status)})
		}
	}
	none := providers.Rules{}
	add(no, providers.ReasonRejected, false, none, 400, 404, 405, 409, 413, 418, 422, 451)
	add(no, providers.ReasonServerError, false, none, 501, 505)
	add(no, providers.ReasonUnauthorized, false, none, 401, 402, 403)
	add(no, providers.ReasonRateLimited, true, none, 429)
	add(no, providers.ReasonRedirect, false, none, 300, 301, 302, 303, 304, 307, 308)
	add(indoubt, providers.ReasonServerError, false, none, 500, 503, 507, 530, 599)
	add(no, providers.ReasonServerError, true, failedRule, 500, 503, 507)
	add(indoubt, providers.ReasonGatewayTimeout, false, none, 408, 499, 502, 504, 520, 522, 524, 529)
	add(indoubt, providers.ReasonConnectionLost, false, none, 100, 101, 103)
	add(no, providers.ReasonMalformed, true, none, 203, 204, 206)
	add(indoubt, providers.ReasonServerError, false, none, 600, 999, 99)
	check(t, rows)
}

// TestClassifyErrorCodes: a 4xx that stands for any bad request may still be about the account, or about what
// the prompt says, as providers document it.
func TestClassifyErrorCodes(t *testing.T) {
	const gemini = `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT",` +
		`"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}]`
	const azure = `{"error":{"message":"The response was filtered.","type":null,"param":"prompt","code":"content_filter","status":400,` +
		`"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true}}}}}`
	of := func(code string) string {
		return `{"error":{"message":"no","type":"invalid_request_error","code":"` + code + `"}}`
	}
	account, refused, rejected := providers.ReasonUnauthorized, providers.ReasonRefused, providers.ReasonRejected
	check(t, []row{
		{name: "Gemini's refused key", ex: answered(400, gemini), verdict: no, reason: account, detail: "status 400: API key not valid"},
		{name: "xAI's refused key", ex: answered(400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***"}`), verdict: no, reason: account},
		{name: "no credit", ex: answered(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`), verdict: no, reason: account},
		{name: "no quota", ex: answered(400, of("insufficient_quota")), verdict: no, reason: account},
		{name: "billing", ex: answered(404, of("billing_not_active")), verdict: no, reason: account},
		{name: "Azure's filter", ex: answered(400, azure), verdict: no, reason: refused},
		{name: "its inner code alone", ex: answered(400, `{"error":{"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`), verdict: no, reason: refused},
		{name: "OpenAI's policy", ex: answered(400, of("content_policy_violation")), verdict: no, reason: refused},
		{name: "Alibaba's inspection", ex: answered(400, of("data_inspection_failed")), verdict: no, reason: refused},

		{name: "OpenRouter's moderation", ex: answered(403, `{"error":{"code":403,"message":"Input flagged","metadata":{"reasons":["violence"]}}}`), verdict: no, reason: refused},
		{name: "OpenAI's flagged prompt", ex: answered(400, `{"error":{"code":"invalid_prompt","message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy."}}`), verdict: no, reason: refused},
		{name: "Groq's own check", ex: answered(400, `{"error":{"code":"json_validate_failed","message":"Failed to generate JSON."}}`), verdict: no, reason: providers.ReasonContractViolation, retryable: true},
		{name: "a project without the model", ex: answered(404, `{"error":{"code":"model_not_found","message":"Project p does not have access to model m"}}`), verdict: no, reason: account},
		{name: "an account that was flagged", ex: answered(403, `{"error":{"code":403,"message":"Your account has been flagged for unusual activity"}}`), verdict: no, reason: account},
		{name: "a filter under 403", ex: answered(403, of("content_filter")), verdict: no, reason: refused},
		{name: "an account under 403", ex: answered(403, `{"error":{"message":"Country not supported"}}`), verdict: no, reason: account},

		{name: "FastAPI's words", ex: answered(422, `{"detail":[{"loc":["body"],"msg":"Extra inputs are not permitted"}]}`), verdict: no, reason: rejected, detail: "status 422: Extra inputs"},
		{name: "a list of errors", ex: answered(400, `{"errors":[{"message":"no such model"}]}`), verdict: no, reason: rejected, detail: "status 400: no such model"},
		{name: "a parameter", ex: answered(400, of("unsupported_parameter")), verdict: no, reason: rejected},
		{name: "a model", ex: answered(404, of("model_not_found")), verdict: no, reason: rejected},
		{name: "a key that is no credential", ex: answered(400, `{"error":{"message":"messages[0] lacks the key content; see the API documentation"}}`), verdict: no, reason: rejected},
		{name: "a code elsewhere in the body", ex: answered(400, `{"error":{"message":"x","metadata":{"code":"content_filter"}}}`), verdict: no, reason: rejected},
		{name: "too deep", ex: answered(400, strings.Repeat(`{"error":`, 20)+of("content_filter")+strings.Repeat(`}`, 20)), verdict: no, reason: rejected},
		{name: "the status is plainer than a code", ex: answered(429, of("content_filter")), verdict: no, reason: providers.ReasonRateLimited, retryable: true},
	})
}

// Each level of an error body is decoded again: a few are read, and not as many as a provider cares to send.
func TestMessagesAreReadToADepth(t *testing.T) {
	for levels, want := range map[int]string{1: "status 422: no", 3: "status 422: no", 20: "status 422", 9000: "status 422"} {
		body := strings.Repeat(`{"detail":`, levels) + `"no"` + strings.Repeat(`}`, levels)
		gomega.NewWithT(t).Expect(providers.Classify(answered(422, body), providers.Rules{}).Detail).To(gomega.Equal(want), "%d levels", levels)
	}
}

// What a provider says goes into columns and logs that have an end.
func TestWhatAProviderSaysIsBounded(t *testing.T) {
	long := strings.Repeat("é", 300)
	g := gomega.NewWithT(t)
	for said, kept := range map[string]string{long: long, long + "é": long + "…", strings.Repeat(long, 100): long + "…"} {
		out := providers.Classify(answered(200, `{"model":"`+said+`","choices":[]}`), providers.Rules{})
		g.Expect(out.ServedModel).To(gomega.Equal(kept))
	}
	out := providers.Classify(answered(400, `{"error":"`+long+`"}`), providers.Rules{})
	g.Expect([]rune(out.Detail)).To(gomega.HaveLen(301), "with what it is about, and what shows that it was cut")
}

func TestClassifyAnswers(t *testing.T) {
	asked := providers.Rules{ExpectJSON: true}
	contract := providers.Rules{ExpectJSON: true, Check: agreeing}
	check(t, []row{
		{name: "a valid answer", ex: text(`{"a":1}`), rules: contract, verdict: ok},
		{name: "white space around is JSON", ex: text("\n {\"a\":1}\n"), rules: contract, verdict: ok},
		{name: "escaped NUL in a string", ex: text(`{"a":"\u0000"}`), rules: contract, verdict: ok},
		{name: "prose where nothing else was asked", ex: text("hello\x00"), verdict: ok},
		{name: "a finish reason in capitals", ex: said(`{"content":"x"}`, `"STOP"`), verdict: ok},
		{name: "empty error field", ex: answered(200, `{"error":null,"choices":[{"error":"","message":{"content":"x","refusal":null},"finish_reason":"stop"}]}`), verdict: ok},
		{name: "false error field", ex: answered(200, `{"error":false,"choices":[{"error":false,"message":{"content":"x","refusal":false},"finish_reason":"stop"}]}`), verdict: ok},
		{name: "hollow error field", ex: answered(200, `{"error":{ },"choices":[{"error":[ ],"message":{"content":"x","refusal":""},"finish_reason":"stop"}]}`), verdict: ok},

		{name: "error object", ex: answered(200, `{"error":{"message":"overloaded"}}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "error body: overloaded"},
		{name: "MiniMax's error", ex: answered(200, `{"choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit"}}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "error body: rate limit"},
		{name: "error beside a good choice", ex: answered(200, `{"error":{"code":1},"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "error body"},
		{name: "error inside the choice", ex: answered(200, `{"choices":[{"error":{"message":"upstream"},"message":{"content":"x"},"finish_reason":"stop"}]}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "upstream"},
		{name: "no choices", ex: answered(200, `{}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "no choices"},
		{name: "null choices", ex: answered(200, `{"choices":null}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "no choices"},
		{name: "empty choices", ex: answered(200, `{"choices":[]}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "no choices"},
		{name: "choices of another kind", ex: answered(200, `{"choices":[1]}`), verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "no message", ex: answered(200, `{"choices":[{"finish_reason":"stop"}]}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not text"},
		{name: "null content", ex: said(`{"content":null}`, `"stop"`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not text"},
		{name: "content in parts", ex: said(`{"content":[{"type":"text","text":"{}"}]}`, `"stop"`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not text"},
		{name: "empty content", ex: text(""), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "empty"},
		{name: "blank content", ex: text(" \n"), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "empty"},
		{name: "finish_reason error", ex: said(`{"content":"{}"}`, `"error"`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: `"error"`},
		{name: "finish_reason tool_calls", ex: said(`{"content":"{}"}`, `"tool_calls"`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "tool_calls"},
		{name: "no finish_reason", ex: said(`{"content":"{}"}`, `null`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "does not say that the answer ended"},
		{name: "not JSON at all", ex: answered(200, `<html>502</html>`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not one JSON object"},
		{name: "a JSON list", ex: answered(200, `[]`), verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "an empty body", ex: answered(200, ``), verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "two envelopes", ex: answered(200, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}{}`), verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "compressed", ex: answered(200, "\x1f\x8b\x08", "Content-Encoding", "gzip"), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "compressed"},
		{name: "a key twice in the envelope", ex: answered(200, `{"choices":[],"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "duplicate"},
		{name: "a key twice deep in the envelope", ex: said(`{"content":"a","content":"b"}`, `"stop"`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "duplicate"},
		{name: "a key twice where nobody reads", ex: answered(200, `{"x":{"y":1,"y":2},"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "duplicate"},
		{name: "a lone surrogate", ex: answered(200, `{"choices":[{"message":{"content":"\ud83d"},"finish_reason":"stop"}]}`), verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "too large", ex: tooLarge(answered(200, "0123456789")), verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "answer larger than 10 bytes"},

		{name: "truncated though it parses", ex: said(`{"content":"{}"}`, `"length"`), rules: contract, verdict: no, reason: providers.ReasonTruncated, detail: "length"},
		{name: "truncated before the first word", ex: said(`{"content":""}`, `"length"`), rules: contract, verdict: no, reason: providers.ReasonTruncated},
		{name: "refusal", ex: said(`{"content":null,"refusal":"I can't."}`, `"stop"`), rules: contract, verdict: no, reason: providers.ReasonRefused, detail: "I can't."},
		{name: "refusal of another kind", ex: said(`{"content":"{}","refusal":{"why":1}}`, `"stop"`), rules: contract, verdict: no, reason: providers.ReasonRefused},
		{name: "refusal cut short", ex: said(`{"content":null,"refusal":"I"}`, `"length"`), rules: contract, verdict: no, reason: providers.ReasonRefused},
		{name: "content filter", ex: said(`{"content":"{}"}`, `"content_filter"`), rules: contract, verdict: no, reason: providers.ReasonRefused},

		{name: "cut, yet a whole envelope", ex: cut(text(`{}`), nil), rules: contract, verdict: indoubt, reason: providers.ReasonConnectionLost, detail: "cut short"},
		{name: "cut by the deadline", ex: cut(text(`{}`), context.DeadlineExceeded), rules: contract, verdict: indoubt, reason: providers.ReasonTimeout},
		{name: "cut by a reset", ex: cut(answered(200, `{"cho`), syscall.ECONNRESET), rules: contract, verdict: indoubt, reason: providers.ReasonConnectionLost},

		{name: "error prose", ex: text("Error [500]: try again"), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not one JSON value"},
		{name: "NaN", ex: text(`{"a":NaN,"b":{"c":1}}`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not one JSON value"},
		{name: "a raw newline in a string", ex: text("{\"a\":\"x\ny\"}"), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "a raw NUL", ex: text("{\"a\":\"\x00\"}"), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "a key twice", ex: text(`{"a":{"b":1},"a":2}`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "duplicate"},
		{name: "cut JSON that claims to have stopped", ex: text(`{"a":{"b":1}`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "EOF"},
		{name: "broken inside prose", ex: text(`Here: {"a":NaN,"b":{"c":1}}`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "not one JSON value"},
		{name: "fence without a contract", ex: text("```json\n{}\n```"), rules: asked, verdict: no, reason: providers.ReasonMalformed, retryable: true, detail: "code fence"},

		{name: "fence", ex: text("```json\n{\"a\":1}\n```"), rules: contract, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "code fence"},
		{name: "fence on one line", ex: text("```{\"a\":1}```"), rules: contract, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "code fence"},
		{name: "tilde fence", ex: text("~~~\n[1]\n~~~"), rules: contract, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "code fence"},
		{name: "prose before", ex: text(`Sure {really}: {"a":1}`), rules: contract, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "text before the JSON value"},
		{name: "prose after", ex: text(`{"a":1} Hope this helps!`), rules: contract, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "text after the JSON value"},
		{name: "prose on both sides", ex: text("Here:\n```\n{\"a\":1}\n```"), rules: contract, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "before and after"},
		{name: "two values", ex: text(`{"a":1}{"a":2}`), rules: contract, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "text after"},
		{name: "byte order mark", ex: text("\ufeff{}"), rules: contract, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "text before"},
		{name: "a check says no", ex: text(`{}`), rules: providers.Rules{ExpectJSON: true, Check: violating("/total", "missing")}, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "missing (and 1 more)"},
		{name: "a check says no to prose", ex: text(`hello`), rules: providers.Rules{Check: violating("", "rude")}, verdict: no, reason: providers.ReasonContractViolation, retryable: true, detail: "rude"},
	})
}

// TestClassifyKeepsWhatWasSaid shows that the parts of an answer are read apart from its verdict.
func TestClassifyKeepsWhatWasSaid(t *testing.T) {
	g := gomega.NewWithT(t)
	body := `{"model":"served\u0000","system_fingerprint":"fp","choices":[{"message":{"content":"{\"t\":\"\\u0000\"}"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":12.0,"completion_tokens":3,"total_tokens":15}}`
	out := providers.Classify(answered(200, body), providers.Rules{ExpectJSON: true, Check: violating("/t", "no\x00\nway")})
	g.Expect(out).To(gomega.Equal(providers.Outcome{
		Verdict: no, Reason: providers.ReasonContractViolation, Retryable: true,
		Detail: "no\ufffd way (and 1 more)", InstancePath: "/t",
		Content: `{"t":"\u0000"}`, FinishReason: "stop", ServedModel: "served\ufffd", Fingerprint: "fp",
		Usage: &providers.Usage{PromptTokens: 12, CompletionTokens: 3, TotalTokens: 15},
	}))
}

func TestClassifyUsage(t *testing.T) {
	for raw, want := range map[string]*providers.Usage{
		``:                            nil,
		`,"usage":null`:               nil,
		`,"usage":{}`:                 nil,
		`,"usage":[]`:                 nil,
		`,"usage":"lots"`:             nil,
		`,"usage":{"total_tokens":4}`: nil,
		`,"usage":{"prompt_tokens":-1,"completion_tokens":2}`:        nil,
		`,"usage":{"prompt_tokens":1.5,"completion_tokens":2}`:       nil,
		`,"usage":{"prompt_tokens":"1","completion_tokens":2}`:       nil,
		`,"usage":{"prompt_tokens":1e400,"completion_tokens":2}`:     nil,
		`,"usage":{"prompt_tokens":1,"completion_tokens":2}`:         {PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3},
		`,"usage":{"prompt_tokens":0,"completion_tokens":0}`:         {},
		`,"usage":{"prompt_tokens":1,"completion_tokens":2,"x":[1]}`: {PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3},
	} {
		t.Run(raw, func(t *testing.T) {
			g := gomega.NewWithT(t)
			out := providers.Classify(answered(200, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]`+raw+`}`), providers.Rules{})
			g.Expect(out.Verdict).To(gomega.Equal(ok), "an odd usage says nothing about the answer")
			g.Expect(out.Usage).To(gomega.Equal(want))
		})
	}
}

// A count that nobody can have counted is named; one that is not there is only unknown.
func TestClassifyNamesUsageThatMakesNoSense(t *testing.T) {
	for usage, want := range map[string]string{
		``: "", `null`: "", `{}`: "", `{"total_tokens":4}`: "", `{"prompt_tokens":null,"completion_tokens":2}`: "",
		`{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}`:  "",
		`{"prompt_tokens":12,"completion_tokens":5,"total_tokens":400}`: "", // reasoning that is no part of either
		`[]`: "usage is no object", `"lots"`: "usage is no object", `7`: "usage is no object",
		`{"prompt_tokens":-5,"completion_tokens":2}`:                    "prompt_tokens is -5",
		`{"prompt_tokens":"12","completion_tokens":2}`:                  `prompt_tokens is "12"`,
		`{"prompt_tokens":12,"completion_tokens":2.5}`:                  "completion_tokens is 2.5",
		`{"prompt_tokens":12,"completion_tokens":2,"total_tokens":-14}`: "total_tokens is -14",
		`{"prompt_tokens":12,"completion_tokens":5,"total_tokens":10}`:  "total_tokens is 10, and its parts are 12 and 5",
	} {
		t.Run(usage, func(t *testing.T) {
			g := gomega.NewWithT(t)
			beside := ""
			if usage != "" {
				beside = `,"usage":` + usage
			}
			out := providers.Classify(answered(200, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]`+beside+`}`), providers.Rules{})
			g.Expect(out.Verdict).To(gomega.Equal(ok))
			g.Expect(out.UsageFault).To(gomega.Equal(want))
		})
	}
	responses := providers.Classify(background("completed", `,"usage":{"input_tokens":-1,"output_tokens":3}`+outputs(words("x"))), providers.Rules{})
	gomega.NewWithT(t).Expect(responses.UsageFault).To(gomega.Equal("input_tokens is -1"), "in the words of the format")
}

func TestRetryAfter(t *testing.T) {
	year := 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		header []string
		want   time.Duration
	}{
		"absent":            {nil, 0},
		"seconds":           {[]string{"Retry-After", " 60 "}, time.Minute},
		"fraction":          {[]string{"Retry-After", "0.25"}, 250 * time.Millisecond},
		"zero":              {[]string{"Retry-After", "0"}, 0},
		"negative":          {[]string{"Retry-After", "-5"}, 0},
		"absurd":            {[]string{"Retry-After", "99999999999999999999"}, year},
		"out of range":      {[]string{"Retry-After", strings.Repeat("9", 400)}, year},
		"infinite":          {[]string{"Retry-After", "Inf"}, 0},
		"exponent":          {[]string{"Retry-After", "1e3"}, 0},
		"words":             {[]string{"Retry-After", "soon"}, 0},
		"date":              {[]string{"Retry-After", noon.Add(90 * time.Second).Format(http.TimeFormat)}, 90 * time.Second},
		"date in RFC 850":   {[]string{"Retry-After", noon.Add(time.Second).Format("Monday, 02-Jan-06 15:04:05 GMT")}, time.Second},
		"date in the past":  {[]string{"Retry-After", noon.Add(-time.Hour).Format(http.TimeFormat)}, 0},
		"date far away":     {[]string{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}, year},
		"several":           {[]string{"Retry-After", "1", "Retry-After", "7", "Retry-After", "x"}, 7 * time.Second},
		"milliseconds":      {[]string{"retry-after-ms", "1500"}, 1500 * time.Millisecond},
		"seconds win":       {[]string{"retry-after-ms", "1", "Retry-After", "2"}, 2 * time.Second},
		"only milliseconds": {[]string{"retry-after-ms", "20", "Retry-After", "x"}, 20 * time.Millisecond},
		"bad milliseconds":  {[]string{"retry-after-ms", "."}, 0},
		"empty":             {[]string{"Retry-After", ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			out := providers.Classify(answered(429, "", c.header...), providers.Rules{Now: noon})
			gomega.NewWithT(t).Expect(out.RetryAfter).To(gomega.Equal(c.want))
		})
	}
	t.Run("without a clock the exchange's own end counts", func(t *testing.T) {
		ex := answered(429, "", "Retry-After", noon.Add(time.Minute).Format(http.TimeFormat))
		ex.Finished = noon
		gomega.NewWithT(t).Expect(providers.Classify(ex, providers.Rules{}).RetryAfter).To(gomega.Equal(time.Minute))
	})
}

// TestClassifyReportedCases are the public reports on what an answer must mean.
func TestClassifyReportedCases(t *testing.T) {
	contract := providers.Rules{ExpectJSON: true, Check: agreeing}
	check(t, []row{
		{name: "1: our timeout while the provider still generates", ex: lost(context.DeadlineExceeded), verdict: indoubt, reason: providers.ReasonTimeout},
		{name: "2: headers slower than the timeout, forever", ex: lost(fmt.Errorf("net/http: %w", context.DeadlineExceeded)), verdict: indoubt, reason: providers.ReasonTimeout},
		{name: "3: connection error and timeout at once, sent", ex: lost(errors.Join(syscall.ECONNRESET, context.DeadlineExceeded)), verdict: indoubt, reason: providers.ReasonTimeout},
		{name: "3: connection error and timeout at once, not sent", ex: providers.Exchange{Err: errors.Join(syscall.ECONNREFUSED, context.DeadlineExceeded)}, verdict: no, reason: providers.ReasonNotSent, retryable: true},
		{name: "4: a reset invites nobody to send again", ex: lost(syscall.ECONNRESET), verdict: indoubt, reason: providers.ReasonConnectionLost},
		{name: "25: no choices", ex: answered(200, `{"id":"x","choices":[]}`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "26: null content", ex: said(`{"content":null}`, `"stop"`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "26: error prose", ex: text("An error occurred."), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "27: an error object", ex: answered(200, `{"error":{"message":"x","code":502}}`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "28: finish_reason error", ex: said(`{"content":"{\"a\":1}"}`, `"error"`), rules: contract, verdict: no, reason: providers.ReasonMalformed, retryable: true},
		{name: "29: cut but closed cleanly", ex: cut(text(`{"a":1}`), nil), rules: contract, verdict: indoubt, reason: providers.ReasonConnectionLost},
	})
}
