package main

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/suites/certify"
)

const orders = `contracts: ./contracts
providers:
  alpha:
    base_url: https://alpha.example/v1
    api_key_env: NOWHERE_TO_BE_FOUND
    models:
      large: {tokenizer: o200k_base, context_window: 128000, price: {input: 0.15, output: 0.60}}
      small: {tokenizer: o200k_base, context_window: 300, structured_output: json_object}
      mute: {}
routes:
  orders: {primary: alpha/large, fallbacks: [alpha/mute]}
`

// From nothing to a contract that lints, and to the request that it sends, without anybody being called and
// without a key.
func TestAContractInFiveMinutes(t *testing.T) {
	s := newTerminal(t)
	made := s.must("contracts", "new", "orders")
	s.Expect(made).To(gomega.ContainSubstring("contracts: ./contracts"), "no configuration names the folder yet")
	s.Expect(made).To(gomega.ContainSubstring("fallproof contracts lint orders"))
	s.Expect("contracts/orders/contract.yaml").To(gomega.BeARegularFile())
	s.write("contracts/orders/note.txt", "mine")
	again := s.run("contracts", "new", "orders")
	s.Expect(again.code).To(gomega.Equal(exitUsage))
	s.Expect(again.stderr).To(gomega.ContainSubstring("orders exists already; nothing was written"))
	s.Expect("contracts/orders/note.txt").To(gomega.BeARegularFile())

	s.write("fallproof.yaml", orders)
	s.Expect(s.must("contracts", "new", "returns")).NotTo(gomega.ContainSubstring("contracts: ./contracts"), "the configuration names it")
	linted := s.must("contracts", "lint", "orders")
	s.Expect(linted).To(gomega.HavePrefix("orders/contract.yaml:"), "one target has no tokenizer: a warning")
	s.Expect(linted).To(gomega.ContainSubstring("at alpha/mute: not verified: no tokenizer is declared"))
	s.Expect(linted).To(gomega.ContainSubstring("mutation score 1.000: the checks refuse "))
	s.Expect(linted).To(gomega.MatchRegexp(`certification at alpha/large: 43 calls, \d+ tokens in, at most 17200 out, at most 0\.0\d+\n`))
	s.Expect(linted).To(gomega.MatchRegexp(`of these at least: 32 calls, `))
	s.Expect(linted).To(gomega.ContainSubstring("certification at alpha/mute: 43 calls, tokens in not counted"))
	s.Expect(linted).NotTo(gomega.ContainSubstring("\x1b["), "colours on terminals only")

	small := s.run("contracts", "lint", "orders", "--target", "alpha/small")
	s.Expect(small.code).To(gomega.Equal(exitNo))
	s.Expect(small.stdout).To(gomega.MatchRegexp(`orders/contract.yaml:\d+: error: at alpha/small: case "two articles and a day" and 1 more: \d+ tokens and 400 for the answer: the window is 300`))

	overview := s.must("contracts", "show", "orders")
	for _, words := range []string{"customer, deliver_by, items", "every article stands in the e-mail", "two articles and a day", "29 for structure 0.9"} {
		s.Expect(overview).To(gomega.ContainSubstring(words))
	}
	request := s.must("contracts", "show", "orders", "--case", "two articles and a day")
	s.Expect(request).To(gomega.HavePrefix("POST https://alpha.example/v1/chat/completions\n"))
	s.Expect(request).To(gomega.ContainSubstring("Authorization: Bearer [not shown]\n"))
	s.Expect(request).To(gomega.MatchRegexp(`\d+ tokens in by o200k_base, at most 400 out, of a window of 128000, at most 0\.000\d+;`))
}

// What a certification of the contract and the profile as they are could not do is told before anybody pays for it.
func TestFixOfWhatCannotBeCertifiedAsItIs(t *testing.T) {
	s := newTerminal(t)
	s.must("contracts", "new", "orders")
	s.write("fallproof.yaml", orders)
	ask := func(target string) string {
		answer := s.run("can-failover", "--contract", "orders", "--to", target)
		s.Expect(answer.code).To(gomega.Equal(exitNo), answer.stderr)
		return answer.stdout
	}
	s.Expect(ask("alpha/large")).To(gomega.ContainSubstring("\n    fix:  fallproof certify --contract orders --target alpha/large\n"))
	s.Expect(ask("alpha/small")).To(gomega.MatchRegexp(`\n    first: mend the profile of alpha/small, or the contract orders, which can only be rejected together: at alpha/small: .*window`))
	content, err := os.ReadFile("contracts/orders/contract.yaml")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.write("contracts/orders/contract.yaml", strings.Replace(string(content), "business: 0.90", "business: 0.95", 1))
	s.Expect(ask("alpha/large")).To(gomega.ContainSubstring("\n    fix:  fallproof certify --contract orders --target alpha/large --samples 30\n"))
}

// Scripts read bytes as they would be sent, and every wrong answer that passes.
func TestContractsForScripts(t *testing.T) {
	s := newTerminal(t)
	s.must("contracts", "new", "orders", "--dir", "contracts")
	s.write("fallproof.yaml", orders)
	var shown shownRequest
	s.Expect(json.Unmarshal([]byte(s.must("contracts", "show", "orders", "--case", "two articles and a day", "--target", "alpha/small", "--json")), &shown)).To(gomega.Succeed())
	s.Expect(shown.Body).To(gomega.HavePrefix(`{"model":"small","temperature":0,"max_completion_tokens":400,"response_format":{"type":"json_object"},`))
	s.Expect(shown.Price).To(gomega.BeNil(), "no price is declared")
	s.Expect(*shown.InputTokens).To(gomega.BeNumerically(">", 100))

	content, err := os.ReadFile("contracts/orders/contract.yaml")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	weak := strings.Replace(string(content), "sameSet(output.items, expected.items)", "true", 1)
	s.write("contracts/orders/contract.yaml", weak)
	result := s.run("contracts", "lint", "orders", "--json")
	s.Expect(result.code).To(gomega.Equal(exitNo))
	var told struct {
		Findings  []finding `json:"findings"`
		Contracts []struct {
			Contract string           `json:"contract"`
			Mutation *mutationFigures `json:"mutation"`
			Targets  []targetFigures  `json:"targets"`
		} `json:"contracts"`
	}
	s.Expect(json.Unmarshal([]byte(result.stdout), &told)).To(gomega.Succeed())
	s.Expect(told.Findings).To(gomega.ContainElement(gomega.And(
		gomega.HaveField("Message", gomega.ContainSubstring("below mutation_floor 0.8")), gomega.HaveField("Line", gomega.BeNumerically(">", 0)))))
	worth := told.Contracts[0].Mutation
	s.Expect(worth.Survivors).To(gomega.HaveLen(worth.Total - worth.Killed))
	s.Expect(told.Contracts[0].Targets).To(gomega.HaveLen(2))

	s.write("contracts/orders/contract.yaml", strings.Replace(string(content), "{{ .email }}", "{{ .emial }}", 1))
	misspelled := s.run("contracts", "lint", "orders")
	s.Expect(misspelled.code).To(gomega.Equal(exitNo))
	s.Expect(strings.Count(misspelled.stdout, `variable "emial" is missing`)).To(gomega.Equal(1), "once for all cases and targets: %s", misspelled.stdout)
	s.Expect(misspelled.stdout).NotTo(gomega.ContainSubstring("certification at"))
	stranger := s.run("contracts", "lint", "orders")
	s.Expect(stranger.stdout).NotTo(gomega.ContainSubstring("variant"))
	s.write("contracts/orders/contract.yaml", "variants: {alpha/smal: {messages: [{role: user, content: '{{ .email }}'}]}}\n"+string(content))
	stranger = s.run("contracts", "lint", "orders")
	s.Expect(stranger.stdout).To(gomega.ContainSubstring("orders/contract.yaml:1: warning: variant alpha/smal is never used: target alpha/smal is not declared; declared are: alpha/"))
	s.write("contracts/orders/contract.yaml", weak)

	people := s.run("contracts", "lint", "orders")
	s.Expect(strings.Count(people.stdout, "    passes: ")).To(gomega.And(gomega.BeNumerically(">", 0), gomega.BeNumerically("<=", mostSurvivors)))
	refused := s.run("certify", "--contract", "orders", "--target", "alpha/mute")
	s.Expect(refused.code).To(gomega.Equal(exitUsage), refused.stderr)
}

func TestShowRefuses(t *testing.T) {
	s := newTerminal(t)
	for _, row := range []struct{ line, complaint string }{
		{"contracts show nothing", `no contract is named "nothing"`},
		{"contracts show support-triage --case nothing", `has no case "nothing"; there are "charged twice", `},
		{"contracts lint --target a/b", "a/b"},
		{"contracts new Über", "want lower-case letters, digits and hyphens"},
	} {
		result := s.run(strings.Fields(row.line)...)
		s.Expect(result.code).To(gomega.Equal(exitUsage), row.line)
		s.Expect(result.stderr).To(gomega.ContainSubstring(row.complaint))
	}
	routeless := s.run("contracts", "show", "support-triage", "--case", "charged twice")
	s.Expect(routeless.code).To(gomega.Equal(exitUsage))
	s.Expect(routeless.stderr).To(gomega.ContainSubstring("name a target with --target"))
}

// Whoever certifies by a contract that is worth too little is told the command that shows why, with the
// configuration that the contract stands in.
func TestCertifySaysWhereToLookOfAContractBelowItsFloor(t *testing.T) {
	s := newTerminal(t)
	s.must("contracts", "new", "orders", "--dir", "contracts")
	s.write("my orders.yaml", strings.Replace(orders, "    api_key_env: NOWHERE_TO_BE_FOUND\n", "", 1))
	s.write("contracts/orders/contract.yaml", strings.Replace(s.read("contracts/orders/contract.yaml"), "sameSet(output.items, expected.items)", "true", 1))
	refused := s.refuses(exitUsage, "certify", "--contract", "orders", "--target", "alpha/large", "--config", "my orders.yaml")
	s.Expect(refused).To(gomega.MatchRegexp("below its mutation_floor 0.8; `(.*)` lists those that pass$"))
	advised := refused[strings.Index(refused, "`")+1 : strings.LastIndex(refused, "`")]
	s.Expect(advised).To(gomega.Equal("fallproof contracts lint orders --config 'my orders.yaml'"))
	s.canType(advised)
	no := s.run("can-failover", "--contract", "orders", "--to", "alpha/large", "--config", "my orders.yaml")
	s.Expect(no.code).To(gomega.Equal(exitNo))
	s.Expect(no.stdout).To(gomega.MatchRegexp(`(?m)^    first: mend the contract orders, by which nothing can be certified as it is: mutation score .*below its mutation_floor 0\.8; .*\n    fix:  fallproof certify `))
	listed := s.run("contracts", "lint", "orders", "--config", "my orders.yaml")
	s.Expect(listed.stdout).To(gomega.ContainSubstring("    passes: "))
}

// What strict modes refuse is of interest where a schema is sent as strict, or nobody knows how.
func TestStrictModeIsForWhoSendsTheSchema(t *testing.T) {
	s := newTerminal(t)
	s.must("contracts", "new", "orders", "--dir", "contracts")
	s.write("contracts/orders/schema.json", strings.Replace(s.read("contracts/orders/schema.json"), `"additionalProperties": false`, `"minProperties": 1`, 1))
	s.write("fallproof.yaml", strings.Replace(orders, "context_window: 300", "context_window: 30000", 1))
	const keyword = "strict mode: /: keyword minProperties is not supported"
	s.Expect(s.run("contracts", "lint", "orders", "--target", "alpha/large").stdout).To(gomega.ContainSubstring(keyword))
	s.Expect(s.run("contracts", "lint", "orders", "--target", "alpha/small").stdout).NotTo(gomega.ContainSubstring("strict"))
	s.write("fallproof.yaml", strings.Replace(orders, "orders:", "returns:", 1))
	s.must("contracts", "new", "returns", "--dir", "contracts")
	s.Expect(s.run("contracts", "lint", "orders").stdout).To(gomega.ContainSubstring(keyword), "no route names a target")
}

// Of a model with a chat template people see what it reads, each BOS included, and what is wrong with that.
func TestShowIsTheWholePrompt(t *testing.T) {
	s := newTerminal(t)
	s.must("contracts", "new", "orders", "--dir", "contracts")
	s.write("t.jinja", "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}[INST] {{ m.content }} [/INST]{% endfor %}")
	show := func(settings string, more ...string) string {
		s.write("fallproof.yaml", strings.Replace(orders, "mute: {}", "mute: {tokenizer: o200k_base, context_window: 9000, chat_template: 'file:t.jinja', bos_token: '<s>', "+settings+"}", 1))
		return s.must(append([]string{"contracts", "show", "orders", "--case", "two articles and a day", "--target", "alpha/mute"}, more...)...)
	}
	whole := show("system_role: merge")
	s.Expect(whole).To(gomega.ContainSubstring("by its chat template and with the BOS that the server adds:\n\n<s>[INST] "))
	s.Expect(whole).To(gomega.MatchRegexp(` \[/INST\]\n\n\d+ tokens in by o200k_base`))
	s.Expect(whole).NotTo(gomega.ContainSubstring("error: "))

	twice := show("system_role: merge, add_bos: true")
	s.Expect(twice).To(gomega.ContainSubstring("\n\n<s><s>[INST] "))
	s.Expect(twice).To(gomega.ContainSubstring("\nerror: double_bos: the template writes <s>, and the server is declared to add it: "))

	refused := show("system_role: system")
	s.Expect(refused).To(gomega.HavePrefix("POST "), "the request is shown all the same")
	s.Expect(refused).To(gomega.ContainSubstring("error: role_not_accepted: the template refuses the messages: no system; with system_role: merge it takes them\nnot counted: the prompt cannot be"))
	var shown shownRequest
	s.Expect(json.Unmarshal([]byte(show("system_role: system", "--json")), &shown)).To(gomega.Succeed())
	s.Expect(shown.Rendered).To(gomega.BeNil())
	s.Expect(shown.Problems).To(gomega.HaveLen(1))
	s.Expect(json.Unmarshal([]byte(show("system_role: merge", "--json")), &shown)).To(gomega.Succeed())
	s.Expect(*shown.Rendered).To(gomega.HavePrefix("<s>[INST] "))
	s.Expect(shown.Problems).To(gomega.BeEmpty())
}

// The other contracts of a run are certified although one is worth too little, and the exit code says that it is.
func TestCertifyGoesOnWithoutAContractBelowItsFloor(t *testing.T) {
	s := newTerminal(t)
	base, _ := s.background("simulate", "--listen", "127.0.0.1:0")
	s.must("contracts", "new", "orders", "--dir", "contracts")
	s.write("contracts/orders/contract.yaml", strings.Replace(s.read("contracts/orders/contract.yaml"), "sameSet(output.items, expected.items)", "true", 1))
	s.must("contracts", "new", "returns", "--dir", "contracts")
	s.write("fallproof.yaml", "contracts: ./contracts\nproviders:\n  sim: {base_url: "+base+", source: simulated, models: {faithful: {}}}\n")
	code, output := s.certify("--target", "sim/faithful", "--config", "fallproof.yaml", "--json", "r.json")
	s.Expect(code).To(gomega.Equal(exitNo), "the simulator does not know the contract that is new: %s", output)
	s.Expect(output).To(gomega.ContainSubstring("not run at sim/faithful: contract orders can certify nothing: mutation score 0."))
	var read struct {
		Records []recordRead    `json:"records"`
		Unfit   []certify.Unfit `json:"unfit"`
	}
	s.Expect(json.Unmarshal([]byte(s.read("r.json")), &read)).To(gomega.Succeed())
	s.Expect(read.Records).NotTo(gomega.BeEmpty())
	s.Expect(read.Unfit).To(gomega.HaveExactElements(gomega.HaveField("Contract", "orders")))
}
