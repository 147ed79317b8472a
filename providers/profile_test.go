package providers_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
)

func sound() providers.Profile {
	return providers.Profile{BaseURL: "https://api.example/v1", Model: "m", Source: providers.SourceLive}.WithDefaults()
}

func TestProfileDefaults(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(sound()).To(gomega.Equal(providers.Profile{
		BaseURL: "https://api.example/v1", Model: "m", Source: providers.SourceLive,
		Tokenizer: "none", SystemRole: "system", Temperature: "free",
		MaxTokensField: "max_completion_tokens", StructuredOutput: "json_schema",
	}))
	own := providers.Profile{Tokenizer: "o200k_base", SystemRole: "merge", Temperature: "omit", MaxTokensField: "max_tokens", StructuredOutput: "none"}
	g.Expect(own.WithDefaults()).To(gomega.Equal(own), "defaults never replace what was declared")
	bare := providers.Profile{}
	bare.WithDefaults()
	g.Expect(bare).To(gomega.Equal(providers.Profile{}), "the receiver is left alone")
}

func TestProfileValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*providers.Profile)
		want   string
	}{
		"sound":                      {func(*providers.Profile) {}, ""},
		"path and port":              {func(p *providers.Profile) { p.BaseURL = "http://127.0.0.1:8080/v1/" }, ""},
		"no base URL":                {func(p *providers.Profile) { p.BaseURL = "" }, "base_url"},
		"relative":                   {func(p *providers.Profile) { p.BaseURL = "/v1" }, "absolute http or https"},
		"other scheme":               {func(p *providers.Profile) { p.BaseURL = "ftp://x/v1" }, "absolute http or https"},
		"no host":                    {func(p *providers.Profile) { p.BaseURL = "https://:80/" }, "absolute http or https"},
		"unparsable":                 {func(p *providers.Profile) { p.BaseURL = "https://a b%zz" }, "not a URL"},
		"password in it":             {func(p *providers.Profile) { p.BaseURL = "https://u:hunter2@x/v1" }, "api_key_env"},
		"query":                      {func(p *providers.Profile) { p.BaseURL = "https://x/v1?key=1" }, "query"},
		"fragment":                   {func(p *providers.Profile) { p.BaseURL = "https://x/v1#a" }, "fragment"},
		"no model":                   {func(p *providers.Profile) { p.Model = "" }, "model"},
		"negative window":            {func(p *providers.Profile) { p.ContextWindow = -1 }, "context_window: -1"},
		"source":                     {func(p *providers.Profile) { p.Source = "" }, `source: "" is not allowed; want one of live, replay, simulated`},
		"tokenizer":                  {func(p *providers.Profile) { p.Tokenizer = "gpt2" }, `tokenizer: "gpt2" is not allowed; want one of o200k_base, cl100k_base, none, file`},
		"tokenizer without its file": {func(p *providers.Profile) { p.Tokenizer = "file" }, `tokenizer: "file" and a tokenizer file go together`},
		"file without its tokenizer": {func(p *providers.Profile) { p.TokenizerFile = providers.NewFile("t.json", "{}") }, `tokenizer: "file" and a tokenizer file go together`},
		"tokenizer with its file": {func(p *providers.Profile) {
			p.Tokenizer, p.TokenizerFile = "file", providers.NewFile("t.json", "{}")
		}, ""},
		"control tokens":     {func(p *providers.Profile) { p.ControlTokens = "drop" }, `control_tokens: "drop" is not allowed; want one of keep, break`},
		"native":             {func(p *providers.Profile) { p.Native = "ollama" }, `native: "ollama" is not allowed; want one of llama.cpp, vllm`},
		"tolerance":          {func(p *providers.Profile) { p.TokenTolerance = 10 }, "token_tolerance: 10 is not a share"},
		"negative":           {func(p *providers.Profile) { p.TokenTolerance = -0.1 }, "token_tolerance: -0.1 is not a share"},
		"add_bos, of which":  {func(p *providers.Profile) { p.AddBOS = true }, "add_bos: without bos_token"},
		"add_bos":            {func(p *providers.Profile) { p.AddBOS, p.BOSToken = true, "<s>" }, ""},
		"system role":        {func(p *providers.Profile) { p.SystemRole = "user" }, `system_role: "user" is not allowed; want one of system, developer, merge`},
		"temperature":        {func(p *providers.Profile) { p.Temperature = "0" }, `temperature: "0" is not allowed; want one of free, omit`},
		"max tokens field":   {func(p *providers.Profile) { p.MaxTokensField = "" }, `max_tokens_field: "" is not allowed; want one of max_completion_tokens, max_tokens`},
		"stored completions": {func(p *providers.Profile) { p.Reconcile = "stored_completions" }, ""},
		"responses":          {func(p *providers.Profile) { p.Reconcile = "responses" }, ""},
		"reconcile":          {func(p *providers.Profile) { p.Reconcile = "none" }, `reconcile: "none" is not allowed; want one of stored_completions, responses`},
		"idempotency header": {func(p *providers.Profile) { p.IdempotencyHeader = "X-Request_Id.2" }, ""},
		"no header's name":   {func(p *providers.Profile) { p.IdempotencyHeader = "Idempotency Key" }, `"Idempotency Key" is not the name of a header`},
		"structured output":  {func(p *providers.Profile) { p.StructuredOutput = "xml" }, `structured_output: "xml" is not allowed; want one of json_schema, json_object, none`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := sound()
			c.change(&p)
			err := p.Validate()
			if c.want == "" {
				g.Expect(err).NotTo(gomega.HaveOccurred())
				return
			}
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(c.want)))
			g.Expect(err.Error()).NotTo(gomega.ContainSubstring("hunter2"))
		})
	}
	t.Run("everything at once", func(t *testing.T) {
		err := providers.Profile{}.Validate()
		for _, field := range []string{"base_url", "model", "source", "tokenizer", "system_role", "temperature", "max_tokens_field", "structured_output"} {
			gomega.NewWithT(t).Expect(err).To(gomega.MatchError(gomega.ContainSubstring(field)))
		}
	})
}

// TestProfileDigest shows that every declared field moves the digest, fields added later included.
func TestProfileDigest(t *testing.T) {
	g := gomega.NewWithT(t)
	seen := map[string]string{sound().Digest(): "unchanged"}
	fields := reflect.TypeFor[providers.Profile]()
	for i := range fields.NumField() {
		p := sound()
		switch field := reflect.ValueOf(&p).Elem().Field(i); field.Kind() {
		case reflect.String:
			field.SetString(field.String() + "x")
		case reflect.Int:
			field.SetInt(field.Int() + 1)
		case reflect.Bool:
			field.SetBool(!field.Bool())
		case reflect.Float64:
			field.SetFloat(field.Float() + 0.5)
		case reflect.Struct:
			field.Set(reflect.ValueOf(providers.NewFile("a name", "content")))
		default:
			t.Fatalf("%s: a kind that this test does not change", fields.Field(i).Name)
		}
		digest := p.Digest()
		g.Expect(seen).NotTo(gomega.HaveKey(digest), "%s leaves the digest where it was", fields.Field(i).Name)
		seen[digest] = fields.Field(i).Name
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		g.Expect(p.Settings()[name]).NotTo(gomega.Equal(sound().Settings()[name]), "its settings tell which")
	}
	g.Expect(sound().Digest()).To(gomega.Equal(sound().Digest()))
}

// TestProfileFiles: a file's content decides, and neither its name nor a default that is spelt out.
func TestProfileFiles(t *testing.T) {
	g := gomega.NewWithT(t)
	with := func(name, content string, tolerance float64) string {
		p := sound()
		p.ChatTemplate, p.TokenTolerance = providers.NewFile(name, content), tolerance
		return p.WithDefaults().Digest()
	}
	g.Expect(with("a.jinja", "x", 0)).To(gomega.Equal(with("b/c.jinja", "x", 0)))
	g.Expect(with("a.jinja", "x", 0)).NotTo(gomega.Equal(with("a.jinja", "y", 0)))
	g.Expect(with("a.jinja", "x", 0.1)).To(gomega.Equal(with("a.jinja", "x", 0)))
	g.Expect(with("a.jinja", "x", 0.2)).NotTo(gomega.Equal(with("a.jinja", "x", 0)))
	g.Expect(with("a.jinja", "", 0)).NotTo(gomega.Equal(sound().Digest()), "an empty template is a template")
	keeping := sound()
	keeping.ControlTokens = "keep"
	g.Expect(keeping.WithDefaults().Digest()).To(gomega.Equal(sound().Digest()))
	g.Expect(providers.Profile{}.Tolerance()).To(gomega.Equal(0.1))
	g.Expect(providers.Profile{TokenTolerance: 0.3}.Tolerance()).To(gomega.Equal(0.3))
}

// TestProfileDigestOfBefore: proofs that were won before a field existed stay good where it is absent.
func TestProfileDigestOfBefore(t *testing.T) {
	gomega.NewWithT(t).Expect(sound().Digest()).To(gomega.Equal("3090d3865ed94b264bce4726d6707a15543e61922ea3f442111510382f2902e7"))
}

func TestValidateIdempotencyHeader(t *testing.T) {
	g := gomega.NewWithT(t)
	for _, good := range []string{"", "Idempotency-Key", "X-Idempotency-Key", "x-request-id", "!#$%&'*+-.^_`|~09azAZ"} {
		g.Expect(providers.ValidateIdempotencyHeader(good)).To(gomega.Succeed(), good)
	}
	for _, bad := range []string{" ", "a b", "a:", "Key\r\nX: y", "schlüssel", "a\x00", "(a)", `"a"`, "a/b"} {
		g.Expect(providers.ValidateIdempotencyHeader(bad)).To(gomega.MatchError(gomega.ContainSubstring("is not the name of a header")), bad)
	}
	for _, own := range []string{
		"Authorization", "content-type", "Content-Length", "HOST", "Accept", "Accept-Encoding", "User-Agent", "x-fallproof-attempt",
		"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "HTTP2-Settings", "Expect", "Cookie",
	} {
		g.Expect(providers.ValidateIdempotencyHeader(own)).To(gomega.MatchError(gomega.ContainSubstring(own+" is set by the client itself")), own)
	}
}

func TestWireMessages(t *testing.T) {
	message := func(role, content string) providers.Message { return providers.Message{Role: role, Content: content} }
	given := []providers.Message{message("system", "a"), message("user", "u"), message("system", "b"), message("assistant", "x"), message("user", "v")}
	for name, c := range map[string]struct {
		role  string
		given []providers.Message
		want  []providers.Message
		err   string
	}{
		"system":               {"system", given, given, ""},
		"undeclared is system": {"", given, given, ""},
		"developer": {"developer", given, []providers.Message{
			message("developer", "a"), message("user", "u"), message("developer", "b"), message("assistant", "x"), message("user", "v")}, ""},
		"merge": {"merge", given, []providers.Message{
			message("user", "a\n\nb\n\nu"), message("assistant", "x"), message("user", "v")}, ""},
		"merge without a system message": {"merge", given[1:2], given[1:2], ""},
		"merge without a user message":   {"merge", given[:1], []providers.Message{message("user", "a")}, ""},
		"unknown system role":            {"boss", given, nil, "want one of system, developer, merge"},
		"no messages":                    {"system", nil, nil, "no messages"},
		"unknown role":                   {"system", []providers.Message{message("user", "u"), message("tool", "x")}, nil, `message 2: role "tool"`},
		"developer is not a contract's":  {"system", []providers.Message{message("developer", "x")}, nil, "want system, user or assistant"},
		"empty":                          {"merge", []providers.Message{message("system", "s"), message("user", " \n")}, nil, "message 2: the user message is empty"},
		"invalid UTF-8":                  {"system", []providers.Message{message("user", "a\xff")}, nil, "not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			before := append([]providers.Message(nil), c.given...)
			got, err := providers.Profile{SystemRole: c.role}.WireMessages(c.given)
			if c.err != "" {
				g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(c.err)))
			} else {
				g.Expect(err).NotTo(gomega.HaveOccurred())
			}
			g.Expect(got).To(gomega.Equal(c.want))
			g.Expect(c.given).To(gomega.Equal(before), "the contract's own messages are never changed")
		})
	}
}

func TestParseTarget(t *testing.T) {
	g := gomega.NewWithT(t)
	target, err := providers.ParseTarget("gamma/org/model-7b")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(target).To(gomega.Equal(providers.Target{Provider: "gamma", Model: "org/model-7b"}))
	g.Expect(target.String()).To(gomega.Equal("gamma/org/model-7b"))
	for _, bad := range []string{"", "alpha", "/m", "alpha/"} {
		_, err := providers.ParseTarget(bad)
		g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("want PROVIDER/MODEL")), bad)
	}
}

// TestWireMessagesBreakControlTokens: where it is declared, none of them reaches the server as a token.
func TestWireMessagesBreakControlTokens(t *testing.T) {
	g := gomega.NewWithT(t)
	p := providers.Profile{SystemRole: "merge", ControlTokens: "break", Breaks: "<|im_end|>\n<s>x\n<s>\n｜A｜"}
	given := []providers.Message{{Role: "system", Content: "a <s> b"}, {Role: "user", Content: "<|im_end|><|im_end|> <s>x ｜A｜ <S> <|im_end"}}
	sent, err := p.WireMessages(given)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(sent).To(gomega.Equal([]providers.Message{{
		Role: "user", Content: "a <\u2060s> b\n\n<\u2060|im_end|><\u2060|im_end|> <\u2060s>x ｜\u2060A｜ <S> <|im_end",
	}}))
	g.Expect(given[0].Content).To(gomega.Equal("a <s> b"), "the contract's own messages are never changed")
	p.ControlTokens = ""
	sent, err = p.WireMessages(given)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(sent[0].Content).To(gomega.ContainSubstring("<|im_end|>"))
}
