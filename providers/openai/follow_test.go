package openai_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

// response is a response object of attempt-1 with this status.
func response(status string) string { return responseOf("resp_1", status, "attempt-1") }

func responseOf(id, status, attempt string) string {
	output := `[]`
	if status == "completed" {
		output = `[{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"{}"}]}]`
	}
	return fmt.Sprintf(`{"id":%q,"object":"response","status":%q,"model":"m","metadata":{"fallproof_attempt":%q},"output":%s}`, id, status, attempt, output)
}

const denial = `{"error":{"message":"Response with id 'resp_1' not found.","type":"invalid_request_error","param":"id","code":null}}`

// followed is what one Send of a background response came to.
type followed struct {
	ex       providers.Exchange
	accepted []string
	looks    []received // the GETs
}

// follows sends once and counts: one POST, whatever happened, and then nothing but GETs.
func (f *farEnd) follows(t *testing.T, ctx context.Context, config openai.Config) followed {
	t.Helper()
	config.BaseURL = f.url + "/v1"
	if config.PollPause == 0 {
		config.PollPause = time.Millisecond
	}
	var done followed
	r := request()
	r.Profile.Reconcile = providers.ReconcileResponses
	r.Accepted = func(reference string) {
		if n := len(f.requests()); n != 1 {
			t.Errorf("accepted only after %d requests", n)
		}
		done.accepted = append(done.accepted, reference)
	}
	done.ex = client(t, config).Send(ctx, r)
	g := gomega.NewWithT(t)
	for i, seen := range f.requests() {
		if i == 0 {
			g.Expect([]string{seen.method, seen.uri}).To(gomega.Equal([]string{"POST", "/v1/responses"}))
			g.Expect(done.ex.RequestBody).To(gomega.Equal(seen.body))
			continue
		}
		g.Expect(seen.method).To(gomega.Equal("GET"))
		g.Expect(seen.body).To(gomega.BeEmpty())
		g.Expect(seen.header.Get(openai.AttemptHeader)).To(gomega.Equal("attempt-1"))
		g.Expect(seen.header.Get("Accept-Encoding")).To(gomega.Equal("identity"))
		done.looks = append(done.looks, seen)
	}
	g.Expect(done.ex.Responses).To(gomega.BeTrue())
	g.Expect(done.ex.Wrote).To(gomega.BeTrue())
	g.Expect(done.ex.Unbuildable).To(gomega.BeFalse())
	return done
}

func TestFollow(t *testing.T) {
	queued, working, completed := answers(200, response("queued")), answers(200, response("in_progress")), answers(200, response("completed"))
	moved := responseOf("resp_2", "completed", "attempt-1") // an id of its own once it is finished
	for name, row := range map[string]struct {
		far    reply
		looks  int
		body   string
		reason providers.Reason
	}{
		"ended at once":          {completed, 0, response("completed"), ""},
		"queued, working, ended": {inTurn(queued, working, answers(200, response("in_progress")), completed), 3, response("completed"), ""},
		"accepted with a 202":    {inTurn(answers(202, response("queued")), completed), 1, response("completed"), ""},
		"ended with a 202":       {answers(202, response("completed")), 0, response("completed"), ""},
		"another id at its end":  {inTurn(queued, answers(200, moved)), 1, moved, ""},
		"failed":                 {inTurn(queued, answers(200, response("failed"))), 1, response("failed"), providers.ReasonMalformed},
		"cancelled":              {inTurn(queued, answers(200, response("cancelled"))), 1, response("cancelled"), providers.ReasonRejected},
		"incomplete":             {inTurn(queued, answers(200, response("incomplete"))), 1, response("incomplete"), providers.ReasonMalformed},
		"a status nobody knows":  {inTurn(answers(200, response("warming")), completed), 1, response("completed"), ""},
		"a look denied":          {inTurn(queued, answers(404, denial), completed), 2, response("completed"), ""},
		"a look refused":         {inTurn(queued, answers(401, `{}`), answers(429, `{}`), answers(500, `{}`), completed), 4, response("completed"), ""},
		"a look redirected":      {inTurn(queued, redirects(302), completed), 2, response("completed"), ""},
		"a look cut short":       {inTurn(queued, sends("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"+response("completed"), false), completed), 2, response("completed"), ""},
		"a look at HTML":         {inTurn(queued, answers(200, "<html>"), completed), 2, response("completed"), ""},
		"a look at too much":     {inTurn(queued, answers(200, strings.Repeat(" ", 2000)+response("completed")), completed), 2, response("completed"), ""},
		"a look at nonsense":     {inTurn(queued, sends("hello\r\n\r\n", false), completed), 2, response("completed"), ""},
		"a look at a stranger":   {inTurn(queued, answers(200, responseOf("resp_1", "completed", "attempt-2")), completed), 2, response("completed"), ""},
		"a look at another one":  {inTurn(queued, answers(200, strings.Replace(responseOf("resp_9", "completed", ""), "fallproof_attempt", "x", 1)), completed), 2, response("completed"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			far := listen(t, row.far)
			done := far.follows(t, t.Context(), openai.Config{MaxAnswerBytes: 1000})
			g := gomega.NewWithT(t)
			g.Expect(done.accepted).To(gomega.Equal([]string{"resp_1"}))
			g.Expect(done.looks).To(gomega.HaveLen(row.looks))
			for _, look := range done.looks {
				g.Expect(look.uri).To(gomega.Equal("/v1/responses/resp_1"))
			}
			g.Expect(string(done.ex.Body)).To(gomega.Equal(row.body))
			g.Expect(done.ex.Status).To(gomega.Equal(200))
			g.Expect(done.ex.Complete).To(gomega.BeTrue())
			g.Expect(done.ex.Err).NotTo(gomega.HaveOccurred())
			out := read(done.ex)
			g.Expect(out.Reason).To(gomega.Equal(row.reason), out.Detail)
		})
	}
}

// TestFollowClosedConnection: net/http repeats a GET on a reused connection that closed; a POST it may
// not, and a look is none.
func TestFollowClosedConnection(t *testing.T) {
	far := listen(t, inTurn(answers(200, response("queued")), hangsUp, answers(200, response("completed"))))
	done := far.follows(t, t.Context(), openai.Config{})
	gomega.NewWithT(t).Expect(read(done.ex).Verdict).To(gomega.Equal(providers.Succeeded))
}

// TestFollowPastSilence: a look that hangs is given up in time for the next one.
func TestFollowPastSilence(t *testing.T) {
	far := listen(t, inTurn(answers(200, response("queued")), silent, answers(200, response("completed"))))
	done := far.follows(t, t.Context(), openai.Config{LookTimeout: 300 * time.Millisecond})
	gomega.NewWithT(t).Expect(read(done.ex).Verdict).To(gomega.Equal(providers.Succeeded))
}

// TestNotAccepted: an answer that names no response is read as it is, and nobody is asked again.
func TestNotAccepted(t *testing.T) {
	for name, row := range map[string]struct {
		answer  reply
		verdict providers.Verdict
		reason  providers.Reason
	}{
		"400":             {answers(400, `{"error":{"message":"no"}}`), providers.Failed, providers.ReasonRejected},
		"404":             {answers(404, denial), providers.Failed, providers.ReasonRejected},
		"429":             {answers(429, response("queued")), providers.Failed, providers.ReasonRateLimited},
		"500":             {answers(500, response("queued")), providers.InDoubt, providers.ReasonServerError},
		"302":             {redirects(302), providers.Failed, providers.ReasonRedirect},
		"202 of nothing":  {answers(202, `{}`), providers.InDoubt, providers.ReasonGatewayTimeout},
		"chat completion": {answers(200, completion), providers.Failed, providers.ReasonMalformed},
		"no id":           {answers(200, `{"object":"response","status":"queued"}`), providers.Failed, providers.ReasonMalformed},
		"error body":      {answers(200, `{"error":{"message":"busy"}}`), providers.Failed, providers.ReasonMalformed},
		"HTML":            {answers(200, `<html>`), providers.Failed, providers.ReasonMalformed},
		"too large":       {answers(200, strings.Repeat(" ", 2000)+response("queued")), providers.Failed, providers.ReasonMalformed},
		"cut short":       {sends("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"+response("queued"), false), providers.InDoubt, providers.ReasonConnectionLost},
		"closed":          {hangsUp, providers.InDoubt, providers.ReasonConnectionLost},
		"reset":           {resets, providers.InDoubt, providers.ReasonConnectionLost},
		// It is under way, but cannot be asked for: dots are a way through the tree, and ids are stored.
		"an id of dots":             {answers(200, responseOf("..", "queued", "attempt-1")), providers.InDoubt, providers.ReasonConnectionLost},
		"an id of a novel":          {answers(200, responseOf(strings.Repeat("x", 256), "queued", "attempt-1")), providers.InDoubt, providers.ReasonConnectionLost},
		"an end with an id of dots": {answers(202, responseOf("..", "completed", "attempt-1")), providers.Succeeded, ""},
		"an id with spaces":         {answers(200, responseOf("a b", "queued", "attempt-1")), providers.InDoubt, providers.ReasonConnectionLost},
	} {
		t.Run(name, func(t *testing.T) {
			far := listen(t, row.answer)
			done := far.follows(t, t.Context(), openai.Config{MaxAnswerBytes: 1000})
			g := gomega.NewWithT(t)
			g.Expect(done.accepted).To(gomega.BeEmpty())
			g.Expect(far.requests()).To(gomega.HaveLen(1))
			out := read(done.ex)
			g.Expect(out.Verdict).To(gomega.Equal(row.verdict), out.Detail)
			g.Expect(out.Reason).To(gomega.Equal(row.reason), out.Detail)
		})
	}
}

// TestFollowEnds: where ctx ends first the attempt is in doubt, by the last that was seen of it.
func TestFollowEnds(t *testing.T) {
	soon := func(t *testing.T) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	queued, working := answers(200, response("queued")), answers(200, response("in_progress"))
	for name, row := range map[string]struct {
		far    reply
		body   string
		detail string
	}{
		"still working":             {inTurn(queued, working), response("in_progress"), "the response is still in_progress: context deadline exceeded"},
		"denied ever since":         {inTurn(queued, answers(404, denial)), response("queued"), "still queued: context deadline exceeded; last seen: status 404: Response with id"},
		"a look that never ends":    {inTurn(queued, silent), response("queued"), "still queued: context deadline exceeded"},
		"asked to come much later":  {answers(200, response("queued"), "Retry-After: 3600"), response("queued"), "still queued: context deadline exceeded"},
		"asked by a failure":        {inTurn(queued, answers(503, "", "Retry-After: 3600")), response("queued"), "last seen: status 503"},
		"asked, and accepted by it": {answers(202, response("queued"), "Retry-After: 3600"), response("queued"), "still queued"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its own deadline
			far := listen(t, row.far)
			done := far.follows(t, soon(t), openai.Config{})
			g := gomega.NewWithT(t)
			g.Expect(done.accepted).To(gomega.Equal([]string{"resp_1"}))
			g.Expect(string(done.ex.Body)).To(gomega.Equal(row.body))
			g.Expect(done.ex.Err).To(gomega.MatchError(context.DeadlineExceeded))
			out := read(done.ex)
			g.Expect(out.Verdict).To(gomega.Equal(providers.InDoubt))
			g.Expect(out.Reason).To(gomega.Equal(providers.ReasonTimeout))
			g.Expect(out.Detail).To(gomega.ContainSubstring(row.detail))
			// 1 ms, growing by half to 20 ms: about thirty looks fit in, and hundreds would without.
			g.Expect(len(done.looks)).To(gomega.BeNumerically("<", 40))
			if strings.HasPrefix(name, "asked") {
				g.Expect(len(done.looks)).To(gomega.BeNumerically("<", 2), "Retry-After is honoured")
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		far := listen(t, inTurn(queued, func(n int, conn net.Conn) bool { cancel(); return working(n, conn) }))
		done := far.follows(t, ctx, openai.Config{})
		g := gomega.NewWithT(t)
		g.Expect(done.ex.Err).To(gomega.MatchError(context.Canceled))
		g.Expect(read(done.ex).Verdict).To(gomega.Equal(providers.InDoubt))
	})
}

// TestFollowEscapes: an id is one segment of a path, whatever stands in it.
func TestFollowEscapes(t *testing.T) {
	const id = "resp/../1?a=b#c%2F"
	far := listen(t, inTurn(answers(200, responseOf(id, "queued", "attempt-1")), answers(200, responseOf(id, "completed", "attempt-1"))))
	done := far.follows(t, t.Context(), openai.Config{})
	g := gomega.NewWithT(t)
	g.Expect(done.accepted).To(gomega.Equal([]string{id}))
	g.Expect(done.looks[0].uri).To(gomega.Equal("/v1/responses/resp%2F..%2F1%3Fa=b%23c%252F"))
}

// TestFollowKeepsNoKey: neither does the id that is told and stored.
func TestFollowKeepsNoKey(t *testing.T) {
	const key = "sk-secret-key"
	far := listen(t, inTurn(answers(200, responseOf("resp-"+key, "queued", "attempt-1")), answers(500, `{"error":"bad key `+key+`"}`), answers(200, responseOf("resp-"+key, "completed", "attempt-1"), "X-Echo: "+key)))
	done := far.follows(t, t.Context(), openai.Config{APIKey: key})
	g := gomega.NewWithT(t)
	g.Expect(done.accepted).To(gomega.Equal([]string{"resp-[redacted]"}))
	g.Expect(fmt.Sprintf("%s %v %v", done.ex.Body, done.ex.Header, done.ex.Err)).NotTo(gomega.ContainSubstring("secret"))
	g.Expect(done.looks[0].header.Get("Authorization")).To(gomega.Equal("Bearer " + key))
}
