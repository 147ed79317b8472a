package certify_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/suites/certify"
)

const configuration = `
providers:
  alpha:
    base_url: https://alpha.example/v1
    api_key_env: ALPHA_KEY
    timeout: 7s
    concurrency: 3
    server_errors: failed
    models: {large: {}, small: {}}
  beta:
    base_url: https://beta.example/v1
    models: {org/medium: {temperature: omit}}
routes:
  invoice-extraction: {primary: alpha/large, fallbacks: [beta/org/medium]}
  support-triage: {primary: beta/org/medium}
`

func TestPairs(t *testing.T) {
	for _, row := range []struct {
		name      string
		selection certify.Selection
		pairs     string
		err       string
	}{
		{
			name:  "those that the routes name",
			pairs: "invoice-extraction at alpha/large, invoice-extraction at beta/org/medium, support-triage at beta/org/medium",
		},
		{
			name: "of one provider", selection: certify.Selection{Provider: "beta"},
			pairs: "invoice-extraction at beta/org/medium, support-triage at beta/org/medium",
		},
		{
			name: "of one contract", selection: certify.Selection{Contract: "invoice-extraction"},
			pairs: "invoice-extraction at alpha/large, invoice-extraction at beta/org/medium",
		},
		{
			name: "a target in no route", selection: certify.Selection{Target: "alpha/small"},
			pairs: "invoice-extraction at alpha/small, meeting-actions at alpha/small, support-triage at alpha/small",
		},
		{
			name: "a target and a contract", selection: certify.Selection{Target: "alpha/small", Contract: "support-triage"},
			pairs: "support-triage at alpha/small",
		},
		{name: "a contract that does not exist", selection: certify.Selection{Contract: "x"}, err: `contract "x" is not known; there are invoice-extraction, meeting-actions, support-triage`},
		{name: "a provider that does not exist", selection: certify.Selection{Provider: "x"}, err: `provider "x" is not declared; declared are: alpha, beta`},
		{name: "a target that does not exist", selection: certify.Selection{Target: "alpha/x"}, err: "target alpha/x is not declared; declared are: alpha/large, alpha/small, beta/org/medium"},
		{name: "a target that is none", selection: certify.Selection{Target: "alpha"}, err: "want PROVIDER/MODEL"},
		{
			name: "nothing left", selection: certify.Selection{Provider: "alpha", Contract: "support-triage"},
			err: "nothing to certify (provider alpha, contract support-triage): no route names such a pair",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			environment := map[string]string{"ALPHA_KEY": "secret-key"}
			cfg, err := config.Parse("fallproof.yaml", []byte(configuration), func(name string) string { return environment[name] })
			g.Expect(err).NotTo(HaveOccurred())
			pairs, release, err := certify.Pairs(cfg, row.selection)
			if row.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(row.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			defer release()
			var names []string
			for _, p := range pairs {
				names = append(names, p.String())
			}
			g.Expect(strings.Join(names, ", ")).To(Equal(row.pairs))
		})
	}
}

func TestPairsCarryTheProvider(t *testing.T) {
	g := NewWithT(t)
	environment := map[string]string{"ALPHA_KEY": "secret-key"}
	cfg, err := config.Parse("fallproof.yaml", []byte(configuration), func(name string) string { return environment[name] })
	g.Expect(err).NotTo(HaveOccurred())
	pairs, release, err := certify.Pairs(cfg, certify.Selection{Target: "alpha/large", Contract: "invoice-extraction"})
	g.Expect(err).NotTo(HaveOccurred())
	defer release()
	g.Expect(pairs).To(HaveLen(1))
	g.Expect(pairs[0].Timeout).To(Equal(7 * time.Second))
	g.Expect(pairs[0].Concurrency).To(Equal(3))
	g.Expect(pairs[0].ServerErrors).To(Equal("failed"))
	g.Expect(pairs[0].Profile.BaseURL).To(Equal("https://alpha.example/v1"))
	g.Expect(pairs[0].Client).NotTo(BeNil())

	delete(environment, "ALPHA_KEY")
	_, _, err = certify.Pairs(cfg, certify.Selection{Target: "alpha/large"})
	g.Expect(err).To(MatchError(ContainSubstring("ALPHA_KEY")), "before anything is called")
	_, release, err = certify.Pairs(cfg, certify.Selection{Target: "beta/org/medium"})
	g.Expect(err).NotTo(HaveOccurred(), "another provider's key is not missed")
	release()
}

// oneAnswer is a contract whose schema allows a single answer.
func oneAnswer(t *testing.T) *contracts.Contract {
	t.Helper()
	c, err := contracts.Load(fstest.MapFS{
		"sure/contract.yaml": {Data: []byte("name: sure\nmessages: [{role: user, content: '{{ .text }}'}]\nschema: schema.json\n" +
			"checks: [{name: yes, expr: output.ok == true}]\nthresholds: {prompt: 1.0, structure: 0.5, business: 0.5, round_trip: 0.5}\nvalid_for: 24h\ncases: cases/\n")},
		"sure/schema.json":    {Data: []byte(`{"type": "object", "properties": {"ok": {"const": true}}, "required": ["ok"], "additionalProperties": false}`)},
		"sure/cases/one.yaml": {Data: []byte("name: one\ninput: {text: Are you sure?}\nexpected: {ok: true}\n")},
	}, "sure")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What cannot be run is refused before anybody is called and without using up the process's one run.
func TestRunRefuses(t *testing.T) {
	w := newWorld(t)
	pair := w.pair("support-triage", "faithful")
	deaf := pair
	deaf.Timeout = 0
	weak, blind, sure := pair, pair, pair
	weak.Contract = w.changed("support-triage", `output.category == expected.category`, "true")
	blind.Contract = w.changed("support-triage", `expected: \{[^}]*\}`, "")
	sure.Contract = oneAnswer(t)
	wrong, perfect := pair, pair
	wrong.Contract = w.changed("support-triage", `urgency: normal`, "urgency: urgent")
	perfect.Contract = w.changed("support-triage", `business: [0-9.]+`, "business: 1.0")
	for _, row := range []struct {
		name   string
		change func(*certify.Options)
		err    string
	}{
		{"no store", func(o *certify.Options) { o.Store = nil }, "no store"},
		{"no pairs", func(o *certify.Options) { o.Pairs = nil }, "nothing to certify"},
		{"a pair twice", func(o *certify.Options) { o.Pairs = append(o.Pairs, pair) }, "twice in one run"},
		{"no deadline", func(o *certify.Options) { o.Pairs = []certify.Pair{deaf} }, "lacks a contract, a client or a deadline"},
		{"checks below their floor", func(o *certify.Options) { o.Pairs = []certify.Pair{weak} },
			"contract support-triage can certify nothing: mutation score 0."},
		{"where the wrong answers are listed", func(o *certify.Options) { o.Pairs = []certify.Pair{weak} },
			"below its mutation_floor 0.8; `fallproof contracts lint support-triage` lists those that pass"},
		{"where that is, with a configuration of its own", func(o *certify.Options) {
			o.Pairs, o.Command = []certify.Pair{weak}, func(rest string) string { return "fallproof " + rest + " --config my.yaml" }
		}, "`fallproof contracts lint support-triage --config my.yaml` lists those that pass"},
		{"no expected answers", func(o *certify.Options) { o.Pairs = []certify.Pair{blind} },
			"mutation score 0: no case has an expected answer, so the checks have never been tried, below its mutation_floor 0.8; give its cases their expected answers"},
		{"an expected answer that the contract refuses", func(o *certify.Options) { o.Pairs = []certify.Pair{wrong} },
			`contract support-triage can certify nothing: cases/01-charged-twice.yaml: error: expected answer: schema_violation at "/urgency": `},
		{"a threshold that nothing proves", func(o *certify.Options) { o.Pairs = []certify.Pair{perfect} },
			"error: business 1 cannot be proven by any number of samples: only prompt can be 1.0"},
		{"nothing in an expected answer that can be wrong", func(o *certify.Options) { o.Pairs = []certify.Pair{sure} },
			"no wrong answer can be derived from the expected ones that satisfies the schema, below its mutation_floor 0.8; give its cases expected answers in which"},
		{"negative samples", func(o *certify.Options) { o.Samples = -1 }, "-1 samples"},
		{"more samples than a contract may ask for", func(o *certify.Options) { o.Samples = contracts.MostSamples + 1 }, "10001 samples; want 1 to 10000"},
		{"a file that cannot be written", func(o *certify.Options) { o.JUnit = t.TempDir() + "/no/such/folder/junit.xml" }, "output file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			options := w.options()
			options.Pairs = []certify.Pair{pair}
			row.change(&options)
			_, err := certify.Run(t.Context(), options)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.err)))
		})
	}
	NewWithT(t).Expect(w.simulator.Ledger()).To(BeEmpty())
}
