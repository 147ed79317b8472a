package binding_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	. "github.com/onsi/gomega"
)

var (
	alpha   = providers.Target{Provider: "alpha", Model: "large"}
	profile = providers.Profile{Model: "large", SystemRole: "system", Source: providers.SourceSimulated}
)

func contract() *contracts.Contract {
	return &contracts.Contract{
		Name: "total", SchemaName: "total",
		Messages: []providers.Message{{Role: "system", Content: "Add up."}, {Role: "user", Content: "{{ .a }} and {{ .b }}"}},
		Variants: map[string][]providers.Message{"beta/b": {{Role: "user", Content: "Add up: {{ .a }}, {{ .b }}"}}},
		Schema:   []byte(`{"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"], "additionalProperties": false}`),
		Sampling: contracts.Sampling{Temperature: 0.2, Samples: 3, MaxOutputTokens: 50},
		Checks: []contracts.Check{
			{Name: "adds up", Expr: "output.total == input.a + input.b"},
			{Name: "as expected", Expr: "expected == null || output == expected"},
		},
		Cases: []contracts.Case{{Name: "one", Input: map[string]any{"a": value.Number("0.1"), "b": value.Number("0.2")}}},
	}
}

func bind(t *testing.T, c *contracts.Contract, target providers.Target) *binding.Binding {
	t.Helper()
	b, err := binding.Bind(c, target, profile)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRequest(t *testing.T) {
	g := NewWithT(t)
	c := contract()
	b := bind(t, c, alpha)
	request, err := b.Request(c.Cases[0].Input)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request).To(Equal(providers.Request{
		Target: alpha, Profile: profile,
		Messages:   []providers.Message{{Role: "system", Content: "Add up."}, {Role: "user", Content: "0.1 and 0.2"}},
		SchemaName: "total", Schema: c.Schema, Temperature: 0.2, MaxOutputTokens: 50,
	}))

	_, err = b.Request(map[string]any{"a": value.Number("1")})
	var missing *prompt.MissingError
	g.Expect(errors.As(err, &missing)).To(BeTrue())
	g.Expect(missing.Variable).To(Equal("b"))

	request, err = bind(t, c, providers.Target{Provider: "beta", Model: "b"}).Request(c.Cases[0].Input)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request.Messages).To(Equal([]providers.Message{{Role: "user", Content: "Add up: 0.1, 0.2"}}))
}

func TestBindingTellsWhatWasBound(t *testing.T) {
	g := NewWithT(t)
	c := contract()
	b := bind(t, c, alpha)
	g.Expect(b.Contract()).To(BeIdenticalTo(c))
	g.Expect(b.Target()).To(Equal(alpha))
	g.Expect(b.Profile()).To(Equal(profile))
	g.Expect(b.EffectiveDigest()).To(Equal(c.EffectiveDigest(alpha)))
	g.Expect(b.ProofDigest()).To(Equal(c.ProofDigest(alpha, profile)))
	g.Expect(b.Structure()).NotTo(BeNil())
	g.Expect(b.Business()).NotTo(BeNil())
}

func TestBindSaysWhatIsAtFault(t *testing.T) {
	for want, change := range map[string]func(*contracts.Contract){
		"contract total at alpha/large: message 2 (user)": func(c *contracts.Contract) { c.Messages[1].Content = "{{" },
		"contract total: schema: ":                        func(c *contracts.Contract) { c.Schema = []byte("{") },
		`contract total: check "adds up": `:               func(c *contracts.Contract) { c.Checks[0].Expr = "output.total" },
	} {
		c := contract()
		change(c)
		b, err := binding.Bind(c, alpha, profile)
		NewWithT(t).Expect(b).To(BeNil())
		NewWithT(t).Expect(err).To(MatchError(HavePrefix(want)))
	}
}

func TestJudge(t *testing.T) {
	b := bind(t, contract(), alpha)
	input := map[string]any{"a": value.Number("0.1"), "b": value.Number("0.2")}
	expected := map[string]any{"total": value.Number("0.30")}
	for _, row := range []struct {
		name, content string
		expected      any
		want          []providers.Violation
	}{
		{"right", `{"total": 0.3}`, expected, nil},
		{"right, nothing expected", `{"total": 3e-1}`, nil, nil},
		{"right, expected absent as in a case", `{"total": 0.3}`, map[string]any(nil), nil},
		{"fits the schema and is wrong", `{"total": 0.4}`, expected, []providers.Violation{
			{Detail: `check "adds up" does not hold`}, {Detail: `check "as expected" does not hold`},
		}},
		{"structure alone is said where it fails", `{"total": "0.4"}`, expected, []providers.Violation{
			{InstancePath: "/total", Detail: "schema_violation: expected number, but got string"},
		}},
		{"extra key", `{"total": 0.3, "note": ""}`, expected, []providers.Violation{
			{InstancePath: "/note", Detail: `unknown_key: key "note" is not known to the contract`},
		}},
		{"fence", "```json\n{\"total\": 0.3}\n```", expected, []providers.Violation{
			{Detail: "fenced: the JSON value stands in a code fence"},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(b.Judge(input, row.expected)(row.content)).To(Equal(row.want))
		})
	}
}

func TestCanaryRequest(t *testing.T) {
	g := NewWithT(t)
	c := contract()
	b := bind(t, c, alpha)
	canary, err := b.CanaryRequest("00ff00ff00ff00ff")
	g.Expect(err).NotTo(HaveOccurred())
	plain, err := b.Request(c.Cases[0].Input)
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(canary.Messages).To(HaveLen(2))
	system := canary.Messages[0].Content
	g.Expect(system).To(HavePrefix(plain.Messages[0].Content + "\n\nNONCE=00ff00ff00ff00ff\n"))
	g.Expect(system).To(ContainSubstring(`"nonce"`))
	g.Expect(canary.Messages[1]).To(Equal(plain.Messages[1]), "the user message does not know of it")
	g.Expect(plain.Messages[0].Content).To(Equal("Add up."), "the contract's own messages stay")

	schema, err := value.Decode(canary.Schema)
	g.Expect(err).NotTo(HaveOccurred())
	want, err := value.Decode([]byte(`{"type": "object", "properties": {"total": {"type": "number"}, "nonce": {"type": "string"}},
		"required": ["total", "nonce"], "additionalProperties": false}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(value.Diff(schema, want)).To(BeEmpty())
	g.Expect(string(c.Schema)).NotTo(ContainSubstring("nonce"))

	canary.Messages, canary.Schema = plain.Messages, plain.Schema
	g.Expect(canary).To(Equal(plain), "and nothing else differs")
}

func TestCanaryWithoutASystemMessageGetsOne(t *testing.T) {
	g := NewWithT(t)
	canary, err := bind(t, contract(), providers.Target{Provider: "beta", Model: "b"}).CanaryRequest("00ff00ff")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(canary.Messages).To(HaveLen(2))
	g.Expect(canary.Messages[0].Role).To(Equal("system"))
	g.Expect(canary.Messages[0].Content).To(HavePrefix("NONCE=00ff00ff\n"))
}

func TestCanaryOfAContractThatHasANonceOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	c := contract()
	c.Schema = []byte(`{"properties": {"nonce": {"type": "integer"}}, "required": ["nonce"]}`)
	canary, err := bind(t, c, alpha).CanaryRequest("00ff00ff")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(canary.Schema)).To(Equal(`{"properties":{"nonce":{"type":"string"}},"required":["nonce"]}`))
}

func TestCanaryRefuses(t *testing.T) {
	g := NewWithT(t)
	b := bind(t, contract(), alpha)
	for _, nonce := range []string{"", "00", "xyz12345", "00FF00FF", "00ff00ff\nIgnore", strings.Repeat("0", 65)} {
		_, err := b.CanaryRequest(nonce)
		g.Expect(err).To(MatchError(ContainSubstring("lower-case hex")), nonce)
	}
	c := contract()
	c.Cases[0].Input = map[string]any{}
	_, err := bind(t, c, alpha).CanaryRequest("00ff00ff")
	g.Expect(err).To(MatchError(ContainSubstring("missing")))
	c = contract()
	c.Schema = []byte("true")
	_, err = bind(t, c, alpha).CanaryRequest("00ff00ff")
	g.Expect(err).To(MatchError(ContainSubstring("a canary needs a schema that is an object")))
}

func TestCanaryObeyed(t *testing.T) {
	g := NewWithT(t)
	g.Expect(binding.CanaryObeyed(`{"total": 1, "nonce": "00ff"}`, "00ff")).To(BeTrue())
	g.Expect(binding.CanaryObeyed(`{"nonce": "\u0030\u0030ff", "wrong": {}}`, "00ff")).To(BeTrue(), "judged by that field alone")
	for _, content := range []string{``, `{}`, `{"nonce": "00fe"}`, `{"nonce": 0}`, `"00ff"`, `["00ff"]`, `{"NONCE": "00ff"}`, "```\n{\"nonce\": \"00ff\"}\n```", `{"nonce": "00ff", "nonce": "00ff"}`} {
		g.Expect(binding.CanaryObeyed(content, "00ff")).To(BeFalse(), content)
	}
}

// Both the service and certification judge through one binding, many answers at once.
func TestBindingServesManyAtOnce(t *testing.T) {
	b := bind(t, contract(), alpha)
	input := map[string]any{"a": value.Number("1"), "b": value.Number("2")}
	done := make(chan bool)
	for i := range 16 {
		go func() {
			right := i%2 == 0
			content := map[bool]string{true: `{"total": 3}`, false: `{"total": 4}`}[right]
			request, err := b.Request(input)
			done <- err == nil && request.Messages[1].Content == "1 and 2" && (len(b.Judge(input, nil)(content)) == 0) == right
		}()
	}
	for range 16 {
		NewWithT(t).Expect(<-done).To(BeTrue())
	}
}
