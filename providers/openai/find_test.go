package openai_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

// storedAs is a stored completion as a listing has it, with this metadata and finish reason.
func storedAs(id, metadata, finish string) string {
	return fmt.Sprintf(`{"object":"chat.completion","id":%q,"model":"m","request_id":"req_1","metadata":%s,`+
		`"choices":[{"index":0,"message":{"role":"assistant","content":"{}"},"finish_reason":%s}]}`, id, metadata, finish)
}

const (
	mine   = `{"fallproof_attempt":"attempt-1"}`
	theirs = `{"fallproof_attempt":"attempt-10"}` // of which mine is the beginning
)

func listing(more bool, entries ...string) string {
	return fmt.Sprintf(`{"object":"list","data":[%s],"first_id":null,"last_id":null,"has_more":%v}`, strings.Join(entries, ","), more)
}

func question(reconcile string) providers.Question {
	q := providers.Question{
		Target:  providers.Target{Provider: "alpha", Model: "m"},
		Profile: providers.Profile{Model: "m", Reconcile: reconcile}, AttemptID: "attempt-1",
	}
	if reconcile == providers.ReconcileResponses {
		q.Reference = "resp_1"
	}
	return q
}

// finds asks once and checks what holds of every finding: nothing but GETs was sent, and only an answer
// comes with an exchange.
func (f *farEnd) finds(t *testing.T, ctx context.Context, config openai.Config, q providers.Question) providers.Finding {
	t.Helper()
	config.BaseURL = f.url + "/v1"
	finding := client(t, config).Find(ctx, q)
	g := gomega.NewWithT(t)
	for _, seen := range f.requests() {
		g.Expect(seen.method).To(gomega.Equal("GET"))
		g.Expect(seen.body).To(gomega.BeEmpty())
	}
	g.Expect(finding.Detail).NotTo(gomega.BeEmpty())
	g.Expect(finding.Detail).NotTo(gomega.ContainSubstring("\n"))
	if finding.Found == providers.FoundAnswer {
		g.Expect(finding.Exchange.Wrote).To(gomega.BeTrue())
		g.Expect(finding.Exchange.Status).To(gomega.Equal(200))
		g.Expect(finding.Exchange.Complete).To(gomega.BeTrue())
		g.Expect(finding.Exchange.Started).NotTo(gomega.BeZero())
		g.Expect(finding.Exchange.Finished).To(gomega.BeTemporally(">=", finding.Exchange.Started))
		g.Expect(finding.Exchange.Responses).To(gomega.Equal(q.Profile.Reconcile == providers.ReconcileResponses))
	} else {
		g.Expect(finding.Exchange).To(gomega.BeZero())
	}
	return finding
}

// TestFindAsks: what is asked, byte for byte where it matters.
func TestFindAsks(t *testing.T) {
	far := listen(t, answers(200, listing(false)))
	q := question(providers.ReconcileStoredCompletions)
	q.AttemptID = "a&b=c"
	far.finds(t, t.Context(), openai.Config{APIKey: "sk-secret-key"}, q)
	far.finds(t, t.Context(), openai.Config{}, question(providers.ReconcileResponses))

	g := gomega.NewWithT(t)
	seen := far.requests()
	asked, err := url.ParseRequestURI(seen[0].uri)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(asked.Path).To(gomega.Equal("/v1/chat/completions"))
	g.Expect(asked.Query()).To(gomega.Equal(url.Values{
		"metadata[fallproof_attempt]": {"a&b=c"}, "limit": {"50"}, "order": {"desc"},
	}))
	g.Expect(seen[0].header).To(gomega.Equal(http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"identity"}, "Authorization": {"Bearer sk-secret-key"},
		"User-Agent": {"fallproof"}, "X-Fallproof-Attempt": {"a&b=c"},
	}))
	g.Expect(seen[1].uri).To(gomega.Equal("/v1/responses/resp_1"))
	g.Expect(seen[1].header).NotTo(gomega.HaveKey("Authorization"))
}

func TestFindStored(t *testing.T) {
	own, stranger, bare := storedAs("c1", mine, `"stop"`), storedAs("c2", theirs, `"stop"`), storedAs("c3", `null`, `"stop"`)
	for name, row := range map[string]struct {
		far    reply
		found  providers.Found
		body   string
		detail string
		gets   int
	}{
		"honest, and has it":             {answers(200, listing(false, own)), providers.FoundAnswer, own, "", 1},
		"honest, and has it not":         {answers(200, listing(false)), providers.FoundAbsent, "", "no completion of this attempt", 1},
		"lists everything":               {answers(200, listing(false, stranger, bare, own)), providers.FoundAnswer, own, "", 1},
		"lists everything, page by page": {inTurn(answers(200, listing(true, stranger)), answers(200, listing(true, bare)), answers(200, listing(false, own))), providers.FoundAnswer, own, "", 3},
		"has it twice":                   {answers(200, listing(false, storedAs("c0", mine, `null`), own)), providers.FoundAnswer, own, "", 1},
		"has it twice, on two pages":     {inTurn(answers(200, listing(true, storedAs("c0", mine, `null`))), answers(200, listing(false, own))), providers.FoundAnswer, own, "", 2},
		"has a refusal":                  {answers(200, listing(false, storedAs("c1", mine, `"content_filter"`))), providers.FoundAnswer, storedAs("c1", mine, `"content_filter"`), "", 1},
		"has the beginning of it":        {answers(200, listing(false, storedAs("c1", mine, `null`))), providers.FoundUnfinished, "", "does not say that it has ended", 1},
		"has it without choices":         {answers(200, listing(false, `{"id":"c1","metadata":`+mine+`}`)), providers.FoundUnfinished, "", "", 1},
		"bytes are kept":                 {answers(200, listing(false, `{ "metadata":`+mine+`,"n":9007199254740993, "choices":[{"finish_reason":"stop"}]}`)), providers.FoundAnswer, `{ "metadata":` + mine + `,"n":9007199254740993, "choices":[{"finish_reason":"stop"}]}`, "", 1},

		"strangers":                     {answers(200, listing(false, stranger, bare)), providers.FoundNothing, "", "ignores the metadata filter: none of the 2", 1},
		"strangers without metadata":    {answers(200, listing(false, bare, storedAs("c4", `{}`, `"stop"`))), providers.FoundNothing, "", "without metadata", 1},
		"strangers, then an empty page": {inTurn(answers(200, listing(true, stranger)), answers(200, listing(false))), providers.FoundNothing, "", "ignores the metadata filter", 2},
		"metadata of another kind":      {answers(200, listing(false, storedAs("c1", `{"fallproof_attempt":["attempt-1"]}`, `"stop"`))), providers.FoundNothing, "", "without metadata", 1},
		"empty, and more of it":         {answers(200, listing(true)), providers.FoundNothing, "", "end of the listing was not reached", 1},
		"more, and no way on":           {answers(200, listing(true, storedAs("", theirs, `"stop"`))), providers.FoundNothing, "", "end of the listing was not reached", 1},
		"the same page for ever":        {answers(200, listing(true, stranger)), providers.FoundNothing, "", "end of the listing was not reached", 2},
		"pages without end":             {endlessly, providers.FoundNothing, "", "none of the first 10", 10},
		"breaks off behind a page":      {inTurn(answers(200, listing(true, stranger)), answers(500, `{}`)), providers.FoundNothing, "", "status 500", 2},

		"does not say whether there is more": {answers(200, `{"object":"list","data":[]}`), providers.FoundNothing, "", "not well-formed", 1},
		"says it in words":                   {answers(200, `{"object":"list","data":[],"has_more":"false"}`), providers.FoundNothing, "", "not well-formed", 1},
		"no data":                            {answers(200, `{"object":"list","has_more":false}`), providers.FoundNothing, "", "not well-formed", 1},
		"null data":                          {answers(200, `{"object":"list","data":null,"has_more":false}`), providers.FoundNothing, "", "not well-formed", 1},
		"not a list":                         {answers(200, `{"object":"model","data":[],"has_more":false}`), providers.FoundNothing, "", "not well-formed", 1},
		"entries of another kind":            {answers(200, listing(false, `7`)), providers.FoundNothing, "", "not well-formed", 1},
		"a key twice":                        {answers(200, `{"object":"list","data":[`+own+`],"data":[],"has_more":false}`), providers.FoundNothing, "", "not well-formed", 1},
		"a key twice in an entry":            {answers(200, listing(false, `{"id":"a","id":"b"}`)), providers.FoundNothing, "", "not well-formed", 1},
		"a completion":                       {answers(200, completion), providers.FoundNothing, "", "not well-formed", 1},
		"nothing at all":                     {answers(200, ``), providers.FoundNothing, "", "not well-formed", 1},
		"HTML":                               {answers(200, `<html>`), providers.FoundNothing, "", "not well-formed", 1},
		"more behind the list":               {answers(200, listing(false)+`{}`), providers.FoundNothing, "", "not well-formed", 1},
	} {
		t.Run(name, func(t *testing.T) {
			far := listen(t, row.far)
			finding := far.finds(t, t.Context(), openai.Config{}, question(providers.ReconcileStoredCompletions))
			g := gomega.NewWithT(t)
			g.Expect(finding.Found).To(gomega.Equal(row.found), finding.Detail)
			g.Expect(string(finding.Exchange.Body)).To(gomega.Equal(row.body))
			g.Expect(finding.Detail).To(gomega.ContainSubstring(row.detail))
			g.Expect(far.requests()).To(gomega.HaveLen(row.gets))
		})
	}
	t.Run("an answer is judged as if it had come in time", func(t *testing.T) {
		far := listen(t, answers(200, listing(false, own)))
		out := read(far.finds(t, t.Context(), openai.Config{}, question(providers.ReconcileStoredCompletions)).Exchange)
		gomega.NewWithT(t).Expect([]string{string(out.Verdict), out.Content, out.ServedModel}).To(gomega.Equal([]string{"succeeded", "{}", "m"}))
	})
	t.Run("each page goes on where the last one ended", func(t *testing.T) {
		named := strings.Replace(listing(true, bare), `"last_id":null`, `"last_id":"after this"`, 1)
		far := listen(t, inTurn(answers(200, listing(true, stranger, bare)), answers(200, named), answers(200, listing(false))))
		far.finds(t, t.Context(), openai.Config{}, question(providers.ReconcileStoredCompletions))
		var after []string
		for _, seen := range far.requests() {
			asked, _ := url.ParseRequestURI(seen.uri)
			after = append(after, asked.Query().Get("after"))
		}
		gomega.NewWithT(t).Expect(after).To(gomega.Equal([]string{"", "c3", "after this"}))
	})
}

// endlessly lists a stranger a page, and always one more.
func endlessly(n int, conn net.Conn) bool {
	return answers(200, listing(true, storedAs(fmt.Sprint("c", n), theirs, `"stop"`)))(n, conn)
}

func TestFindResponse(t *testing.T) {
	for name, row := range map[string]struct {
		far    reply
		found  providers.Found
		detail string
	}{
		"completed":            {answers(200, response("completed")), providers.FoundAnswer, ""},
		"failed":               {answers(200, response("failed")), providers.FoundAnswer, ""},
		"cancelled":            {answers(200, response("cancelled")), providers.FoundAnswer, ""},
		"incomplete":           {answers(200, response("incomplete")), providers.FoundAnswer, ""},
		"without metadata":     {answers(200, `{"id":"resp_1","object":"response","status":"failed"}`), providers.FoundAnswer, ""},
		"another id, but ours": {answers(200, responseOf("resp_2", "completed", "attempt-1")), providers.FoundAnswer, ""},
		"queued":               {answers(200, response("queued")), providers.FoundUnfinished, "still queued"},
		"in progress":          {answers(200, response("in_progress")), providers.FoundUnfinished, "still in_progress"},
		"denied":               {answers(404, denial), providers.FoundAbsent, "no such response"},

		"a status nobody knows":     {answers(200, response("warming")), providers.FoundNothing, `"warming"`},
		"of another attempt":        {answers(200, responseOf("resp_1", "completed", "attempt-10")), providers.FoundNothing, "another response"},
		"another one":               {answers(200, `{"id":"resp_10","object":"response","status":"completed"}`), providers.FoundNothing, "another response"},
		"error under a 200":         {answers(200, `{"error":{"message":"no"}}`), providers.FoundNothing, "error body: no"},
		"a completion":              {answers(200, completion), providers.FoundNothing, "not a response object"},
		"HTML under a 200":          {answers(200, `<html>`), providers.FoundNothing, "not one JSON object"},
		"a key twice":               {answers(200, `{"id":"resp_1","id":"resp_1","object":"response","status":"failed"}`), providers.FoundNothing, "duplicate"},
		"404 of a proxy":            {answers(404, `<html>404</html>`), providers.FoundNothing, "remove reconcile"},
		"404 without a word":        {answers(404, ``), providers.FoundNothing, "remove reconcile"},
		"404 of a framework":        {answers(404, `{"detail":"Not Found"}`), providers.FoundNothing, "remove reconcile"},
		"404 of the path":           {answers(404, `{"error":{"message":"Invalid URL (GET /v1/responses/resp_1)","type":"invalid_request_error"}}`), providers.FoundNothing, "remove reconcile"},
		"404 of another one":        {answers(404, strings.Replace(denial, "resp_1", "resp_10", 1)), providers.FoundNothing, "remove reconcile"},
		"404 of the end of another": {answers(404, strings.Replace(denial, "resp_1", "myresp_1", 1)), providers.FoundNothing, "remove reconcile"},
		"404 of nothing":            {answers(404, `{"error":{"message":"not found"}}`), providers.FoundNothing, "remove reconcile"},
		"404 cut short":             {sends("HTTP/1.1 404 No\r\nContent-Length: 999\r\n\r\n"+denial, false), providers.FoundNothing, "status 404"},
		"denied by a 400":           {answers(400, denial), providers.FoundNothing, "status 400"},
		"denied by a 410":           {answers(410, denial), providers.FoundNothing, "status 410"},
		"202":                       {answers(202, response("queued")), providers.FoundNothing, "status 202"},
	} {
		t.Run(name, func(t *testing.T) {
			far := listen(t, row.far)
			finding := far.finds(t, t.Context(), openai.Config{}, question(providers.ReconcileResponses))
			g := gomega.NewWithT(t)
			g.Expect(finding.Found).To(gomega.Equal(row.found), finding.Detail)
			g.Expect(finding.Detail).To(gomega.ContainSubstring(row.detail))
			g.Expect(far.requests()).To(gomega.HaveLen(1))
		})
	}
	t.Run("an answer is judged as if it had come in time", func(t *testing.T) {
		far := listen(t, answers(200, response("completed")))
		out := read(far.finds(t, t.Context(), openai.Config{}, question(providers.ReconcileResponses)).Exchange)
		gomega.NewWithT(t).Expect([]string{string(out.Verdict), out.Content}).To(gomega.Equal([]string{"succeeded", "{}"}))
	})
}

// TestFindNothing: what says nothing about an attempt is the same in either way of asking.
func TestFindNothing(t *testing.T) {
	for name, row := range map[string]struct {
		far    reply
		detail string
		wait   time.Duration
	}{
		"401":                {answers(401, `{"error":{"message":"bad key"}}`), "does not let this key ask: give it that permission, or remove reconcile (status 401: bad key)", 0},
		"403":                {answers(403, ``), "does not let this key ask", 0},
		"405":                {answers(405, ``), "remove reconcile from its configuration (status 405)", 0},
		"501":                {answers(501, ``), "remove reconcile from its configuration (status 501)", 0},
		"404":                {answers(404, ``), "remove reconcile from its configuration (status 404)", 0},
		"429":                {answers(429, ``, "Retry-After: 7"), "status 429", 7 * time.Second},
		"500":                {answers(500, `{"error":"oh"}`), "status 500: oh", 0},
		"503":                {answers(503, ``, "Retry-After: 7"), "status 503", 7 * time.Second},
		"a redirect":         {redirects(302), "a redirect, never followed", 0},
		"another protocol":   {sends("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", true), "status 101", 0},
		"too large":          {answers(200, strings.Repeat(" ", 2000)+response("completed")), "answer larger than 1000 bytes", 0},
		"without an end":     {endless("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 4096)), "answer larger than 1000 bytes", 0},
		"cut short":          {sends("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"+listing(false), false), "cut short", 0},
		"an empty list, cut": {sends("HTTP/1.0 200 OK\r\n\r\n"+listing(false)[:30], false), "cut short", 0},
		"closed":             {hangsUp, "no answer after the request was sent", 0},
		"reset":              {resets, "no answer after the request was sent", 0},
		"nonsense":           {sends("hello\r\n\r\n", false), "malformed HTTP", 0},
		"compressed":         {sends("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08", true), "", 0},
	} {
		for _, reconcile := range []string{providers.ReconcileStoredCompletions, providers.ReconcileResponses} {
			t.Run(reconcile+" "+name, func(t *testing.T) {
				finding := listen(t, row.far).finds(t, t.Context(), openai.Config{MaxAnswerBytes: 1000}, question(reconcile))
				g := gomega.NewWithT(t)
				g.Expect(finding.Found).To(gomega.Equal(providers.FoundNothing), finding.Detail)
				g.Expect(finding.Detail).To(gomega.ContainSubstring(row.detail))
				g.Expect(finding.RetryAfter).To(gomega.Equal(row.wait))
			})
		}
	}
	for _, reconcile := range []string{providers.ReconcileStoredCompletions, providers.ReconcileResponses} {
		t.Run(reconcile+" refused dial", func(t *testing.T) {
			far := listen(t, silent)
			far.stop()
			finding := far.finds(t, t.Context(), openai.Config{}, question(reconcile))
			g := gomega.NewWithT(t)
			g.Expect(finding.Found).To(gomega.Equal(providers.FoundNothing))
			g.Expect(finding.Detail).To(gomega.ContainSubstring("the request was not sent"))
		})
		t.Run(reconcile+" silence", func(t *testing.T) {
			finding := listen(t, silent).finds(t, t.Context(), openai.Config{LookTimeout: 50 * time.Millisecond}, question(reconcile))
			g := gomega.NewWithT(t)
			g.Expect(finding.Found).To(gomega.Equal(providers.FoundNothing))
			g.Expect(finding.Detail).To(gomega.ContainSubstring("context deadline exceeded"))
		})
		t.Run(reconcile+" our own deadline", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			finding := listen(t, silent).finds(t, ctx, openai.Config{}, question(reconcile))
			gomega.NewWithT(t).Expect(finding.Found).To(gomega.Equal(providers.FoundNothing))
		})
	}
	t.Run("an unfinished one may ask for patience", func(t *testing.T) {
		far := listen(t, answers(200, response("queued"), "Retry-After: 7"))
		finding := far.finds(t, t.Context(), openai.Config{}, question(providers.ReconcileResponses))
		gomega.NewWithT(t).Expect(finding.RetryAfter).To(gomega.Equal(7 * time.Second))
	})
}

// TestFindCannotAsk: a question that nobody can answer reaches nobody.
func TestFindCannotAsk(t *testing.T) {
	far := listen(t, answers(200, listing(false)))
	for name, row := range map[string]struct {
		config openai.Config
		change func(*providers.Question)
		want   string
	}{
		"no way declared":        {change: func(q *providers.Question) { q.Profile.Reconcile = "" }, want: "cannot be asked"},
		"an unknown way":         {change: func(q *providers.Question) { q.Profile.Reconcile = "hope" }, want: `"hope"`},
		"no attempt":             {change: func(q *providers.Question) { q.AttemptID = "" }, want: "no id"},
		"an attempt of lines":    {change: func(q *providers.Question) { q.AttemptID = "a\r\nX: y" }, want: "cannot carry"},
		"no reference":           {change: func(q *providers.Question) { q.Reference = "" }, want: "never learned"},
		"a reference of dots":    {change: func(q *providers.Question) { q.Reference = ".." }, want: "cannot be asked for"},
		"another endpoint":       {change: func(q *providers.Question) { q.Profile.BaseURL = "https://elsewhere/v1" }, want: "https://elsewhere/v1"},
		"a client without a URL": {config: openai.Config{BaseURL: "alpha.example"}, want: "base_url"},
		"a key of two lines":     {config: openai.Config{BaseURL: far.url, APIKey: "sk-secret-key\n"}, want: "the API key: character 14 is a line break"},
	} {
		t.Run(name, func(t *testing.T) {
			q := question(providers.ReconcileResponses)
			if row.change != nil {
				row.change(&q)
				row.config = openai.Config{BaseURL: far.url}
			}
			finding := client(t, row.config).Find(t.Context(), q)
			g := gomega.NewWithT(t)
			g.Expect(finding.Found).To(gomega.Equal(providers.FoundNothing))
			g.Expect(finding.Detail).To(gomega.ContainSubstring(row.want))
			g.Expect(finding.Detail).NotTo(gomega.ContainSubstring("sk-secret-key"))
			g.Expect(far.connections()).To(gomega.BeZero())
		})
	}
}

// TestFindKeepsNoKey: providers echo keys, in what is found and in why nothing was.
func TestFindKeepsNoKey(t *testing.T) {
	const key = "sk-secret-key"
	for name, answer := range map[string]reply{
		"refused": answers(401, `{"error":{"message":"Incorrect API key: `+key+`"}}`),
		"found":   answers(200, listing(false, strings.Replace(storedAs("c1", mine, `"stop"`), "req_1", key, 1)), "X-Echo: "+key, "Set-Cookie: session=secret"),
	} {
		t.Run(name, func(t *testing.T) {
			far := listen(t, answer)
			finding := far.finds(t, t.Context(), openai.Config{APIKey: key}, question(providers.ReconcileStoredCompletions))
			g := gomega.NewWithT(t)
			g.Expect(fmt.Sprintf("%+v %s", finding, finding.Exchange.Body)).NotTo(gomega.ContainSubstring("secret"))
			g.Expect(far.requests()[0].header.Get("Authorization")).To(gomega.Equal("Bearer " + key))
		})
	}
}
