package providers_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fallproof/fallproof/providers"
)

// FuzzClassify holds Classify to what it promises of every exchange: it never panics, never says
// succeeded without a whole 200 that carries text, and puts nothing unprintable into its detail.
func FuzzClassify(f *testing.F) {
	f.Add(200, []byte(`{"choices":[{"message":{"content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`), "", true, true, false, false)
	f.Add(200, []byte(`{"choices":[{"message":{"content":"x {\"a\":1} y"},"finish_reason":"stop"}]}`), "", true, true, false, false)
	f.Add(200, []byte(`{"error":{"message":"\u0000"}}`), "", true, true, false, false)
	f.Add(200, []byte(`{"choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}`), "", true, false, false, false)
	f.Add(503, []byte(`busy`), "-1", true, true, false, false)
	f.Add(429, []byte(`{}`), "Fri, 31 Dec 9999 23:59:59 GMT", true, true, true, false)
	f.Add(0, []byte(nil), "", false, false, false, false)
	f.Add(200, []byte(`{"object":"response","id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"{}"}]}],"usage":{"input_tokens":1,"output_tokens":2}}`), "", true, true, false, true)
	f.Add(200, []byte(`{"object":"response","id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}`), "", true, true, false, true)
	f.Add(200, []byte(`{"object":"response","id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"\u0000"}}`), "7", true, true, false, true)
	f.Add(200, []byte(`{"object":"response","id":"r","status":"queued"}`), "", true, true, false, true)
	f.Fuzz(func(t *testing.T, status int, body []byte, after string, wrote, complete, large, responses bool) {
		ex := providers.Exchange{
			Wrote: wrote, Status: status, Body: body, Complete: complete, TooLarge: large,
			Header: http.Header{"Retry-After": {after}}, Err: errors.New(after), Responses: responses,
		}
		seen := ""
		rules := providers.Rules{ExpectJSON: true, Check: func(content string) []providers.Violation { seen = content; return nil }}
		out := providers.Classify(ex, rules)
		switch out.Verdict {
		case providers.Succeeded:
			if status != 200 || !complete || large || out.Reason != providers.ReasonNone || out.Content == "" || seen != out.Content {
				t.Fatalf("succeeded without a whole, checked 200: %+v", out)
			}
		case providers.Failed, providers.InDoubt:
			if out.Reason == providers.ReasonNone || out.Detail == "" {
				t.Fatalf("no reason: %+v", out)
			}
		default:
			t.Fatalf("verdict %q", out.Verdict)
		}
		if out.Verdict == providers.InDoubt && (out.Retryable || !wrote && status == 0) {
			t.Fatalf("doubt that is retryable, or about nothing: %+v", out)
		}
		if head, err := providers.ParseResponse(body); responses && status == 200 && complete && !large &&
			err == nil && !head.Ended() && out.Verdict != providers.InDoubt {
			t.Fatalf("a verdict on a response that has not ended: %+v", out)
		}
		if out.RetryAfter < 0 {
			t.Fatalf("negative wait: %v", out.RetryAfter)
		}
		for _, line := range []string{out.Detail, out.ServedModel, out.Fingerprint, out.FinishReason} {
			if !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
				t.Fatalf("not fit for a line: %q", line)
			}
		}
	})
}
