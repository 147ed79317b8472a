package lint_test

import (
	"cmp"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/lint"
	"github.com/fallproof/fallproof/providers"
)

// What a target makes of a contract is told before it is asked.
func TestAt(t *testing.T) {
	const loose = `{"type": "object", "properties": {"total": {"type": "number"}, "note": {"type": "string", "minLength": 1}}, "required": ["total"]}`
	load := func(yaml, schema, expected string) *contracts.Contract {
		c, err := contracts.Load(fstest.MapFS{
			"total/contract.yaml": {Data: []byte(yaml)}, "total/schema.json": {Data: []byte(schema)},
			"total/cases/one.yaml": {Data: []byte("name: one\ninput: {a: 1, b: 2}\nexpected: " + expected + "\n")},
			"total/cases/two.yaml": {Data: []byte("name: two\ninput: {a: 1, b: 3}\n")},
		}, "total")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	counted := func(_ providers.Profile, messages []providers.Message) (int, bool, error) {
		return 100 * len(messages), true, nil
	}
	none := func(providers.Profile, []providers.Message) (int, bool, error) { return 0, false, nil }
	for _, row := range []struct {
		name, target, yaml, schema string
		profile                    providers.Profile
		uncounted                  bool
		expected                   string
		want                       []string
	}{
		{name: "all well", target: "alpha/a", yaml: contractYAML, schema: schemaJSON, profile: providers.Profile{ContextWindow: 250}},
		{name: "strict", target: "alpha/a", yaml: contractYAML, schema: loose, profile: providers.Profile{ContextWindow: 250}, want: []string{
			"schema.json: warning: at alpha/a the schema is sent as strict, and 3 of its features may be refused; first: strict mode: /: additionalProperties must be false"}},
		{name: "not strict", target: "alpha/a", yaml: contractYAML, schema: loose,
			profile: providers.Profile{ContextWindow: 250, StructuredOutput: providers.StructuredJSONObject}},
		{name: "too small", target: "alpha/a", yaml: contractYAML, schema: schemaJSON, profile: providers.Profile{ContextWindow: 249}, want: []string{
			`contract.yaml:3: error: at alpha/a: case "one" and 1 more: 200 tokens and 50 for the answer: the window is 249; a shorter prompt or a lower max_output_tokens would fit, or correct context_window`}},
		{name: "a variant that fits", target: "beta/b", yaml: contractYAML, schema: schemaJSON, profile: providers.Profile{ContextWindow: 150}},
		{name: "a variant that does not", target: "beta/b", yaml: contractYAML, schema: schemaJSON, profile: providers.Profile{ContextWindow: 149}, want: []string{
			`contract.yaml:7: error: at beta/b: case "one" and 1 more: 100 tokens and 50 for the answer: the window is 149; a shorter prompt or a lower max_output_tokens would fit, or correct context_window`}},
		{name: "a fault of every target's", target: "alpha/a", yaml: strings.Replace(contractYAML, "{{ .b }}\"", "{{ .c }}\"", 1), schema: schemaJSON, uncounted: true},
		{name: "an answer that would be cut", target: "alpha/a", yaml: contractYAML, schema: schemaJSON, expected: "{total: 3, note: " + strings.Repeat(" on", 43) + "}",
			profile: providers.Profile{ContextWindow: 250, Tokenizer: providers.TokenizerO200K}, want: []string{
				"cases/one.yaml: error: at alpha/a: the expected answer takes 51 tokens, and max_output_tokens is 50: it would be cut"}},
		{name: "an answer that just fits", target: "alpha/a", yaml: contractYAML, schema: schemaJSON, expected: "{total: 3, note: " + strings.Repeat(" on", 42) + "}",
			profile: providers.Profile{ContextWindow: 250, Tokenizer: providers.TokenizerO200K}},
		{name: "no tokenizer", target: "alpha/a", yaml: contractYAML, schema: schemaJSON, uncounted: true, want: []string{
			"contract.yaml:3: warning: at alpha/a: not verified: no tokenizer is declared: the prompt was not counted"}},
		{name: "no tokenizer where tokens are required", target: "alpha/a", yaml: contractYAML + "require: [tokens]\n", schema: schemaJSON, uncounted: true, want: []string{
			"contract.yaml:3: error: at alpha/a: no tokenizer is declared: the prompt was not counted, and the contract requires it: declare it in the target's profile, or take tokens out of require"}},
		{name: "enforcement that nothing is sent for", target: "alpha/a", yaml: contractYAML + "require: [enforcement]\n", schema: schemaJSON,
			profile: providers.Profile{ContextWindow: 250, StructuredOutput: providers.StructuredNone}, want: []string{
				"contract.yaml:17: error: at alpha/a: no schema is sent (structured_output: none), and the contract requires it to be enforced: say structured_output: json_schema, or take enforcement out of require"}},
		{name: "enforcement", target: "alpha/a", yaml: contractYAML + "require: [enforcement]\n", schema: schemaJSON, profile: providers.Profile{ContextWindow: 250}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			target, err := providers.ParseTarget(row.target)
			g.Expect(err).NotTo(HaveOccurred())
			count := counted
			if row.uncounted {
				count = none
			}
			got := []string{}
			for _, p := range lint.At(load(row.yaml, row.schema, cmp.Or(row.expected, "{total: 3}")), target, row.profile.WithDefaults(), count) {
				got = append(got, p.String())
			}
			g.Expect(got).To(ConsistOf(row.want))
		})
	}
}
