package openai_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

// TestStoredBody: a completion that is to be found again is stored under its attempt's id, and is the
// same request otherwise.
func TestStoredBody(t *testing.T) {
	far := listen(t, sends(answer200, true))
	c := client(t, openai.Config{BaseURL: far.url})
	r := request()
	r.Profile.StructuredOutput = "none"
	plain := string(far.send(t, t.Context(), c, r).RequestBody)

	r.Profile.Reconcile, r.Profile.IdempotencyHeader, r.AttemptID = providers.ReconcileStoredCompletions, "Idempotency-Key", `a"\1`
	stored := string(far.send(t, t.Context(), c, r).RequestBody)
	gomega.NewWithT(t).Expect(stored).To(gomega.Equal(
		strings.Replace(plain, `,"temperature"`, `,"store":true,"metadata":{"fallproof_attempt":"a\"\\1"},"temperature"`, 1)))
}

// TestResponseBody: the same of a background response.
func TestResponseBody(t *testing.T) {
	far := listen(t, answers(200, response("completed")))
	c := client(t, openai.Config{BaseURL: far.url})
	const head = `{"model":"m","background":true,"store":true,"metadata":{"fallproof_attempt":"attempt-1"}`
	const input = `,"input":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}`
	format := `,"text":{"format":{"type":"json_schema","name":"answer","strict":true,"schema":{"type":"object"}}}`
	for name, row := range map[string]struct {
		change func(*providers.Request)
		want   string
	}{
		"defaults": {func(*providers.Request) {}, head + `,"temperature":0` + format + input},
		"omit":     {func(r *providers.Request) { r.Profile.Temperature = "omit" }, head + format + input},
		"max tokens have one name": {func(r *providers.Request) { r.MaxOutputTokens, r.Profile.MaxTokensField = 9, "max_tokens" },
			head + `,"temperature":0,"max_output_tokens":9` + format + input},
		"json_object": {func(r *providers.Request) { r.Profile.StructuredOutput = "json_object" },
			head + `,"temperature":0,"text":{"format":{"type":"json_object"}}` + input},
		"no structured output": {func(r *providers.Request) { r.Profile.StructuredOutput, r.Schema = "none", nil },
			head + `,"temperature":0` + input},
		"developer": {func(r *providers.Request) { r.Profile.SystemRole = "developer" },
			head + `,"temperature":0` + format + strings.Replace(input, "system", "developer", 1)},
		"merge": {func(r *providers.Request) { r.Profile.SystemRole = "merge" },
			head + `,"temperature":0` + format + `,"input":[{"role":"user","content":"s\n\nu"}]}`},
		"schema bytes unchanged": {func(r *providers.Request) { r.Schema = []byte("{ \"const\" : 9007199254740993,\n\"pattern\":\"<&>\"}") },
			head + `,"temperature":0` + strings.Replace(format, `{"type":"object"}`, "{ \"const\" : 9007199254740993,\n\"pattern\":\"<&>\"}", 1) + input},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			r.Profile.Reconcile = providers.ReconcileResponses
			row.change(&r)
			ex := far.send(t, t.Context(), c, r)
			g := gomega.NewWithT(t)
			g.Expect(string(ex.RequestBody)).To(gomega.Equal(row.want))
			g.Expect(read(ex).Verdict).To(gomega.Equal(providers.Succeeded))
		})
	}
}

// TestIdempotencyHeader: the declared header carries the attempt's id, and no other header changes.
func TestIdempotencyHeader(t *testing.T) {
	far := listen(t, sends(answer200, true))
	c := client(t, openai.Config{BaseURL: far.url})
	r := request()
	far.send(t, t.Context(), c, r)
	r.Profile.IdempotencyHeader = "idempotency-key"
	far.send(t, t.Context(), c, r)

	seen := far.requests()
	want := seen[0].header.Clone()
	g := gomega.NewWithT(t)
	g.Expect(want).NotTo(gomega.HaveKey("Idempotency-Key"))
	want["Idempotency-Key"] = []string{"attempt-1"}
	g.Expect(seen[1].header).To(gomega.Equal(want))
}

// TestUnfindable: a request that could not be told from others later is not sent.
func TestUnfindable(t *testing.T) {
	far := listen(t, sends(answer200, true))
	for name, row := range map[string]struct {
		config openai.Config
		change func(*providers.Request)
		want   string
	}{
		"to be found, without an id":     {change: func(r *providers.Request) { r.Profile.Reconcile, r.AttemptID = "stored_completions", "" }, want: "no attempt id"},
		"to be read, without an id":      {change: func(r *providers.Request) { r.Profile.Reconcile, r.AttemptID = "responses", "" }, want: "no attempt id"},
		"a key, without an id":           {change: func(r *providers.Request) { r.Profile.IdempotencyHeader, r.AttemptID = "Idempotency-Key", "" }, want: "no attempt id"},
		"header that breaks the request": {change: func(r *providers.Request) { r.Profile.IdempotencyHeader = "A\r\nB" }, want: "not the name of a header"},
		"header of the client's own":     {change: func(r *providers.Request) { r.Profile.IdempotencyHeader = "content-length" }, want: "set by the client itself"},
		"profile's reconcile":            {change: func(r *providers.Request) { r.Profile.Reconcile = "hope" }, want: `"hope"`},
		"response without a schema":      {change: func(r *providers.Request) { r.Profile.Reconcile, r.Schema = "responses", nil }, want: "schema is absent"},
		"negative pause":                 {config: openai.Config{BaseURL: far.url, PollPause: -1}, want: "negative"},
		"negative look timeout":          {config: openai.Config{BaseURL: far.url, LookTimeout: -1}, want: "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			if row.change != nil {
				row.change(&r)
				row.config = openai.Config{BaseURL: far.url}
			}
			ex := client(t, row.config).Send(t.Context(), r)
			g := gomega.NewWithT(t)
			g.Expect(ex.Err).To(gomega.MatchError(gomega.ContainSubstring(row.want)))
			g.Expect(ex.Unbuildable).To(gomega.BeTrue())
			g.Expect(ex.Wrote).To(gomega.BeFalse())
			g.Expect(ex.RequestBody).To(gomega.BeNil())
			g.Expect(far.connections()).To(gomega.BeZero())
		})
	}
}
