package openai_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

var answer200 = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(completion), completion)

const both = `"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"stream":false`

// TestBody compares whole bodies: what a profile declares, byte for byte, and nothing else.
func TestBody(t *testing.T) {
	far := listen(t, sends(answer200, true))
	c := client(t, openai.Config{BaseURL: far.url})
	schema := `,"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}}`
	for name, row := range map[string]struct {
		change func(*providers.Request)
		want   string
	}{
		"defaults": {func(*providers.Request) {},
			`{"model":"m","temperature":0` + schema + `,` + both + `}`},
		"temperature": {func(r *providers.Request) { r.Temperature = 0.7 },
			`{"model":"m","temperature":0.7` + schema + `,` + both + `}`},
		"omit": {func(r *providers.Request) { r.Temperature, r.Profile.Temperature = 0.7, "omit" },
			`{"model":"m"` + schema + `,` + both + `}`},
		"max_completion_tokens": {func(r *providers.Request) { r.MaxOutputTokens = 9 },
			`{"model":"m","temperature":0,"max_completion_tokens":9` + schema + `,` + both + `}`},
		"max_tokens": {func(r *providers.Request) { r.MaxOutputTokens, r.Profile.MaxTokensField = 9, "max_tokens" },
			`{"model":"m","temperature":0,"max_tokens":9` + schema + `,` + both + `}`},
		"json_object": {func(r *providers.Request) { r.Profile.StructuredOutput = "json_object" },
			`{"model":"m","temperature":0,"response_format":{"type":"json_object"},` + both + `}`},
		"no structured output": {func(r *providers.Request) { r.Profile.StructuredOutput, r.Schema = "none", nil },
			`{"model":"m","temperature":0,` + both + `}`},
		"developer": {func(r *providers.Request) { r.Profile.StructuredOutput, r.Profile.SystemRole = "none", "developer" },
			`{"model":"m","temperature":0,` + strings.Replace(both, `"system"`, `"developer"`, 1) + `}`},
		"merge": {func(r *providers.Request) { r.Profile.StructuredOutput, r.Profile.SystemRole = "none", "merge" },
			`{"model":"m","temperature":0,"messages":[{"role":"user","content":"s\n\nu"}],"stream":false}`},
		"schema bytes unchanged": {func(r *providers.Request) {
			r.Schema = []byte("{ \"maximum\" : 1.0e2,\n \"pattern\":\"<\\u00e9&>\" ,\"const\":9007199254740993}")
		}, `{"model":"m","temperature":0,"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":` +
			"{ \"maximum\" : 1.0e2,\n \"pattern\":\"<\\u00e9&>\" ,\"const\":9007199254740993}" + `}},` + both + `}`},
		"model of the target": {func(r *providers.Request) {
			r.Profile, r.Target.Model = providers.Profile{StructuredOutput: "none"}, `org/"m"`
		}, `{"model":"org/\"m\"","temperature":0,` + both + `}`},
		// The library refuses these by name, the first for its parameters, the second for its endpoint.
		"reasoning model with free parameters": {func(r *providers.Request) {
			r.Profile = providers.Profile{Model: "o1-mini", MaxTokensField: "max_tokens", StructuredOutput: "none"}
			r.Temperature, r.MaxOutputTokens = 0.5, 5
		}, `{"model":"o1-mini","temperature":0.5,"max_tokens":5,` + both + `}`},
		"completion model": {func(r *providers.Request) {
			r.Profile = providers.Profile{Model: "text-davinci-003", StructuredOutput: "none"}
		}, `{"model":"text-davinci-003","temperature":0,` + both + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			row.change(&r)
			ex := far.send(t, t.Context(), c, r)
			g := gomega.NewWithT(t)
			g.Expect(string(ex.RequestBody)).To(gomega.Equal(row.want))
			g.Expect(read(ex).Verdict).To(gomega.Equal(providers.Succeeded))
		})
	}
}

func TestHeaders(t *testing.T) {
	far := listen(t, sends(answer200, true))
	r := request()

	far.send(t, t.Context(), client(t, openai.Config{BaseURL: far.url + "/v1/", APIKey: "sk-secret-key"}), r)
	r.Profile.BaseURL = far.url + "/v1/" // the same endpoint, spelled with a slash
	far.send(t, t.Context(), client(t, openai.Config{BaseURL: far.url + "/v1"}), r)

	g := gomega.NewWithT(t)
	seen := far.requests()
	g.Expect(seen[0].path).To(gomega.Equal("/v1/chat/completions"))
	g.Expect(seen[1].path).To(gomega.Equal("/v1/chat/completions"))
	common := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"identity"}, "Content-Type": {"application/json"},
		"User-Agent": {"fallproof"}, "X-Fallproof-Attempt": {"attempt-1"},
	}
	withKey := common.Clone()
	withKey.Set("Authorization", "Bearer sk-secret-key")
	for i, want := range []http.Header{withKey, common} {
		seen[i].header.Del("Content-Length")
		g.Expect(seen[i].header).To(gomega.Equal(want), "these headers and no others: no Idempotency-Key, no empty Authorization")
	}
}

// TestUnbuildable: a fault on our side is terminal and reaches nobody.
func TestUnbuildable(t *testing.T) {
	far := listen(t, sends(answer200, true))
	for name, row := range map[string]struct {
		config openai.Config
		change func(*providers.Request)
		want   string
	}{
		"no messages":            {change: func(r *providers.Request) { r.Messages = nil }, want: "no messages"},
		"empty message":          {change: func(r *providers.Request) { r.Messages[1].Content = "" }, want: "its template produced nothing"},
		"invalid UTF-8":          {change: func(r *providers.Request) { r.Messages[1].Content = "\xff" }, want: "not valid UTF-8"},
		"role":                   {change: func(r *providers.Request) { r.Messages[1].Role = "tool" }, want: `role "tool"`},
		"no model":               {change: func(r *providers.Request) { r.Profile.Model, r.Target.Model = "", "" }, want: "no model"},
		"model not UTF-8":        {change: func(r *providers.Request) { r.Profile.Model = "\xff" }, want: "model"},
		"temperature":            {change: func(r *providers.Request) { r.Temperature = math.NaN() }, want: "temperature"},
		"infinite temperature":   {change: func(r *providers.Request) { r.Temperature = math.Inf(1) }, want: "temperature"},
		"max output tokens":      {change: func(r *providers.Request) { r.MaxOutputTokens = -1 }, want: "-1 is negative"},
		"no schema":              {change: func(r *providers.Request) { r.Schema = nil }, want: "schema is absent or not valid JSON"},
		"broken schema":          {change: func(r *providers.Request) { r.Schema = []byte(`{"a":1,"a":2}`) }, want: "not valid JSON"},
		"schema name":            {change: func(r *providers.Request) { r.SchemaName = `a","x":"` }, want: "schema name"},
		"attempt id":             {change: func(r *providers.Request) { r.AttemptID = "a\r\nX: y" }, want: "attempt id"},
		"another endpoint":       {change: func(r *providers.Request) { r.Profile.BaseURL = "https://elsewhere/v1" }, want: "the profile declares base_url https://elsewhere/v1"},
		"profile's temperature":  {change: func(r *providers.Request) { r.Profile.Temperature = "cold" }, want: `"cold"`},
		"profile's max tokens":   {change: func(r *providers.Request) { r.Profile.MaxTokensField = "n" }, want: `"n"`},
		"profile's system role":  {change: func(r *providers.Request) { r.Profile.SystemRole = "boss" }, want: `"boss"`},
		"profile's output":       {change: func(r *providers.Request) { r.Profile.StructuredOutput = "xml" }, want: `"xml"`},
		"base URL":               {config: openai.Config{BaseURL: "alpha.example"}, want: "base_url"},
		"secret in the base URL": {config: openai.Config{BaseURL: "https://u:sk-secret-key@x"}, want: "base_url"},
		"line break in the key":  {config: openai.Config{BaseURL: far.url, APIKey: "sk-secret-key\n"}, want: "the API key: character 14 is a line break"},
		"negative limit":         {config: openai.Config{BaseURL: far.url, MaxAnswerBytes: -1}, want: "negative"},
		"negative dial timeout":  {config: openai.Config{BaseURL: far.url, DialTimeout: -1}, want: "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			r := request()
			if row.change != nil {
				row.change(&r)
				row.config = openai.Config{BaseURL: far.url}
			}
			ex := client(t, row.config).Send(t.Context(), r)
			g.Expect(ex.Err).To(gomega.MatchError(gomega.ContainSubstring(row.want)))
			g.Expect(ex.Err.Error()).NotTo(gomega.ContainSubstring("sk-secret-key"))
			g.Expect(ex.Wrote).To(gomega.BeFalse())
			g.Expect(ex.Unbuildable).To(gomega.BeTrue())
			g.Expect(ex.RequestBody).To(gomega.BeNil())
			out := read(ex)
			g.Expect(out.Reason).To(gomega.Equal(providers.ReasonUnmappable))
			g.Expect(out.Retryable).To(gomega.BeFalse())
			g.Expect(far.connections()).To(gomega.BeZero())
		})
	}
}
