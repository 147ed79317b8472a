package providers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
)

// What is no completion, and complains of nothing that was sent, says nothing about the target, however a
// provider, an account's keeper or a hop on the way words it.
func TestTargetAtFault(t *testing.T) {
	const (
		page    = "<!DOCTYPE html><html><body>We are down for maintenance</body></html>"
		xhtml   = `<?xml version="1.0" encoding="iso-8859-1"?>` + "\n<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\">\n<html></html>"
		comment = "<!--\n  Maintenance\n-->\n<!DOCTYPE html><html></html>"
		ended   = `{"choices":[{"message":{"content":"x"},"finish_reason":%q}]}`
	)
	oops := func(members string) string { return `{"error":{` + members + `}}` }
	for _, row := range []struct {
		status int
		body   string
	}{
		{200, ""}, {200, page}, {200, xhtml}, {200, comment}, {200, "\ufeff" + page}, {200, "<title>Maintenance</title>"}, {200, "null"}, {200, `"ok"`},
		{200, "upstream connect error or disconnect/reset before headers. reset reason: connection failure"}, {200, "{}"}, {200, "[]"},
		{200, `{"detail":"Service temporarily unavailable"}`}, {200, `{"error":"Internal server error"}`},
		{200, `{"statusCode":401,"message":"Access denied due to invalid subscription key"}`}, {200, `{"id":"x","choices":[{"mess`},
		{200, oops(`"code":"ServiceUnavailable","message":"The service is temporarily unable to process the model's request"`)},
		{200, oops(`"code":"insufficient_quota","message":"You exceeded your current quota"`)}, {200, oops(`"code":402,"message":"Insufficient credits"`)},
		{200, oops(`"message":"The server had an error while processing your request","param":"model"`)},
		{200, `{"error":{"code":1},"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`},
		{200, `{"choices":[{"finish_reason":"stop","error":{"code":502},"message":{"content":"partial"}}]}`},
		{200, fmt.Sprintf(ended, "error")}, {200, fmt.Sprintf(ended, "ERROR")}, {200, fmt.Sprintf(ended, "abort")},
		{200, `{"choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit"}}`},
		{200, `{"choices":[],"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`}, {200, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"base_resp":{"status_code":1000}}`},
		{400, oops(`"code":402,"message":"This request requires more credits, or fewer max_tokens."`)}, {400, oops(`"code":503,"message":"unknown model"`)}, {400, oops(`"code":"504","message":"unknown model"`)},
		{201, "{}"}, {204, ""}, {302, ""}, {307, `<a href="/login">Found</a>`}, {308, oops(`"message":"model"`)},
		{404, page}, {404, xhtml}, {404, "404 page not found\n"}, {404, "default backend - 404"}, {404, ""}, {404, `{"message":"no Route matched with those values"}`},
		{404, `{"detail":"Not Found"}`}, {400, ""}, {400, page}, {413, page}, {422, ""},
		{400, oops(`"message":"The server is currently overloaded, please retry later"`)}, {400, oops(`"code":"InternalServerError","message":"temporarily unable"`)},
		{400, `{"__type":"ThrottlingException","message":"Too many requests, please wait"}`}, {400, oops(`"code":"ThrottlingException","message":"Rate exceeded"`)},
		{400, oops(`"code":"Arrearage","type":"Arrearage","message":"Access denied, please make sure your account is in good standing."`)},
		{400, oops(`"code":"organization_restricted","type":"invalid_request_error","message":"Organization has been restricted."`)},
		{400, oops(`"message":"Invalid token"`)}, {400, oops(`"message":"Authentication failed: invalid credentials"`)}, {400, oops(`"message":"The API token has expired"`)},
		{400, oops(`"message":"Your account has been suspended due to unpaid invoices"`)}, {400, oops(`"message":"Insufficient account balance"`)},
		{400, oops(`"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"`)},
		{400, oops(`"code":"invalid_api_key","message":"The key may not call this model"`)}, {400, oops(`"message":"context deadline exceeded"`)},
		{413, oops(`"code":"rate_limit_exceeded","message":"Request too large for model m on tokens per minute (TPM): Limit 6000. Reduce your messages"`)},
		{400, oops(`"code":"rate_limit_exceeded","message":"Rate limit reached for model m, max_tokens 5"`)}, {400, oops(`"message":"The model is overloaded. Please try again later."`)},
		{404, oops(`"message":"The model is still loading, retry in 20s"`)}, {400, oops(`"message":"No healthy deployment available, passed model=m"`)},
		{404, oops(`"message":"Your account has not activated the model"`)}, {404, oops(`"message":"Model use case details have not been submitted for this account"`)},
		{404, oops(`"message":"Your organization must be verified to use the model m"`)}, {404, oops(`"message":"No endpoints found matching your data policy (Free model publication)"`)},
		{404, oops(`"message":"No allowed providers are available for the selected model"`)}, {400, oops(`"message":"Missing required request parameters: [x-api-key]"`)},
		{400, oops(`"message":"Request header field Authorization is missing"`)}, {404, `{"kind":"Status","message":"services \"model-server\" not found","code":404}`},
		{400, oops(`"message":"Account suspended. Follow the instructions in our e-mail."`)}, {404, oops(`"message":"Scheduled maintenance. Input queue closed."`)},
		{413, `{"message":"Request size limit exceeded"}`}, {422, `{"detail":"Insufficient balance, please top up"}`}, {400, oops(`"param":"none","message":"no"`)},
		{413, oops(`"message":"too large"`)}, {400, oops(`"code":"server_error","param":"model","message":"no"`)},
		{400, oops(`"message":"No such organization: org-x","param":"organization"`)}, {400, oops(`"message":"unavailable","param":"organization"`)},
		{404, oops(`"message":"Project proj_x does not have access to model m","code":"model_not_found"`)},
		{404, oops(`"message":"Your organization must be verified to use the model m.","code":"model_not_found"`)},
		{400, oops(`"message":"Your plan does not include the model m","param":"model"`)},
		{401, oops(`"message":"model"`)}, {402, ""}, {403, oops(`"message":"Your account has been flagged for unusual activity"`)},
		{405, oops(`"message":"model"`)}, {407, ""}, {409, ""}, {419, ""}, {421, ""}, {423, ""}, {425, ""}, {429, oops(`"message":"model"`)}, {451, ""}, {460, ""}, {498, ""},
		{501, oops(`"message":"model"`)}, {505, page},
	} {
		ex := answered(row.status, row.body)
		out := providers.Classify(ex, providers.Rules{})
		g := gomega.NewWithT(t)
		g.Expect(out.Verdict).To(gomega.Equal(no), "%d %s", row.status, row.body)
		g.Expect(providers.TargetAtFault(ex, out)).To(gomega.BeFalse(), "%d %s: %s", row.status, row.body, out.Reason)
	}

	for _, row := range []struct {
		status int
		body   string
	}{
		{200, `{"choices":[]}`}, {200, `{"choices":[1]}`}, {200, `{"choices":[{"finish_reason":"stop"}]}`}, {200, `{"error":null,"choices":[]}`},
		{200, `{"choices":[],"base_resp":{"status_code":0,"status_msg":"success"}}`}, {200, `{"choices":[],"base_resp":"odd"}`},
		{200, fmt.Sprintf(ended, "length")}, {200, fmt.Sprintf(ended, "content_filter")}, {200, fmt.Sprintf(ended, "tool_calls")},
		{200, `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`}, {200, `{"choices":[{"message":{"content":"","refusal":"no"},"finish_reason":"stop"}]}`},
		{200, `{"choices":[{"message":{"content":null,"reasoning":"{\"error\":{\"code\":503}}"},"finish_reason":"stop"}]}`},
		{200, `{"choices":[{"message":{"content":"a","content":"b"},"finish_reason":"stop"}]}`}, {200, `{"choices":[{"message":{"content":"\ud83d"},"finish_reason":"stop"}]}`},
		{200, `{"type":"server_error","status":500,"choices":[{"status":500,"reason":"timeout","message":{"content":""},"finish_reason":"stop"}]}`},
		{200, fmt.Sprintf(ended, "stop") + "{}"}, {201, fmt.Sprintf(ended, "stop")},
		{400, oops(`"type":"api_error","code":null,"message":"response_format of type json_schema is not supported"`)},
		{400, oops(`"type":"internal_error","code":400,"message":"messages[0].role 'system' is not supported"`)},
		{400, oops(`"type":"invalid_request_error","code":"unsupported_parameter","message":"no"`)}, {400, oops(`"param":"temperature","message":"no"`)},
		{400, `[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"seed\": Cannot find field.","status":"INVALID_ARGUMENT"}}]`},
		{400, oops(`"code":"context_length_exceeded","message":"too long"`)}, {400, oops(`"type":"exceed_context_size_error","message":"too long"`)},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`},
		{400, oops(`"code":"InvalidParameter","message":"no"`)}, {400, oops(`"message":"System role not supported"`)}, {400, oops(`"code":"content_filter","message":"filtered"`)},
		{400, oops(`"code":"json_validate_failed","message":"Failed to generate JSON. Please adjust your prompt."`)},
		{400, oops(`"code":"invalid_prompt","message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy."`)},
		{403, oops(`"code":403,"message":"Input flagged","metadata":{"flagged_input":"…"}`)},
		{404, oops(`"code":"model_not_found","message":"no"`)}, {404, oops(`"type":"api_error","message":"model \"x\" not found, try pulling it first"`)},
		{404, oops(`"code":"DeploymentNotFound","message":"no"`)}, {413, oops(`"message":"This model's maximum context length is 8192 tokens"`)},
		{422, `{"detail":[{"type":"extra_forbidden","loc":["body","metadata"],"msg":"Extra inputs are not permitted"}]}`}, {422, `{"detail":[{"loc":["body","response_format","type"],"msg":"no"}]}`},
		{400, oops(`"code":400,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"param\":\"response_format\"}}"}`)},
		{422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted"}]},"param":null}`},
		{422, `{"object":"error","message":{"detail":[{"loc":["body","temperature"],"msg":"no"}]}}`},
		{400, `[{"error":{"code":400,"message":"Developer instruction is not enabled for models/m","status":"INVALID_ARGUMENT"}}]`},
		{400, `[{"error":{"code":400,"message":"JSON mode is not enabled for models/m","status":"INVALID_ARGUMENT"}}]`},
		{400, `{"object":"error","message":"Invalid model: m","type":"invalid_model","code":"1500"}`},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`}, {400, `{"message":"The provided model identifier is invalid."}`},
		{400, oops(`"code":"OperationNotSupported","message":"The chatCompletion operation does not work with the specified model, m."`)},
		{400, oops(`"message":"System message must be at the beginning"`)}, {400, oops(`"message":"Unrecognized request argument supplied: store"`)},
		{404, oops(`"message":"The model m does not exist or you do not have access to it."`)}, {404, oops(`"message":"models/m is not found for API version v1beta"`)},
		{400, oops(`"message":"The model m has been decommissioned and is no longer supported."`)},
		{200, "data: {\"choices\":[{\"delta\":{}}]}\n\ndata: [DONE]\n"}, {200, `{"score":NaN,"choices":[]}`}, {200, "\ufeff" + `{"choices":[]}`},
		{400, `{"errors":[{"message":"AiError: unsupported response_format","code":5007}]}`}, {400, `{"detail":[{"msg":"Extra inputs are not permitted"}]}`},
	} {
		ex := answered(row.status, row.body)
		out := providers.Classify(ex, providers.Rules{ExpectJSON: true})
		g := gomega.NewWithT(t)
		g.Expect(out.Verdict).To(gomega.Equal(no), "%d %s", row.status, row.body)
		g.Expect(providers.TargetAtFault(ex, out)).To(gomega.BeTrue(), "%d %s: %s", row.status, row.body, out.Reason)
	}

	g := gomega.NewWithT(t)
	for body, want := range map[string]bool{`{"choices":[{"message":{"content":"` + strings.Repeat("ab", 50): true, page: false} {
		ex := tooLarge(answered(200, body))
		g.Expect(providers.TargetAtFault(ex, providers.Classify(ex, providers.Rules{}))).To(gomega.Equal(want), body)
	}
	g.Expect(providers.TargetAtFault(lost(nil), providers.Classify(lost(nil), providers.Rules{}))).To(gomega.BeFalse())
}

// Of a response the same: one that came to its end is the target's, one that failed only where it names what it
// was sent.
func TestTargetAtFaultOfAResponse(t *testing.T) {
	for _, row := range []struct {
		ex   providers.Exchange
		want bool
	}{
		{background("completed", ""), true}, {background("completed", outputs(words(""))), true},
		{background("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`), true},
		{broke("invalid_prompt"), true}, {broke("model_not_found"), true}, {broke("content_filter"), true},
		{broke("server_error"), false}, {broke("insufficient_quota"), false}, {broke("nobody knows"), false}, {background("cancelled", ""), false},
		{background("completed", `,"error":{"code":"odd"}`), false},
	} {
		out := providers.Classify(row.ex, providers.Rules{})
		g := gomega.NewWithT(t)
		g.Expect(out.Verdict).To(gomega.Equal(no), string(row.ex.Body))
		g.Expect(providers.TargetAtFault(row.ex, out)).To(gomega.Equal(row.want), string(row.ex.Body))
	}
}
