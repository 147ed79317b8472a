package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/config"
)

const alpha = "providers: {alpha: {base_url: 'https://a.example/v1', models: {m: {}, n: {}}}}\n"

func TestEveryFaultNamesItsLine(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"not YAML":                 {"server: [", "f.yaml:1: not YAML: a bracket is opened here and not closed"},
		"a tab":                    {"server:\n\tlisten: x\n", "f.yaml:2: not YAML: a tab stands here: YAML is indented with spaces"},
		"two documents":            {"server:\n---\nstore:\n", "f.yaml:3: more than one YAML document"},
		"not a mapping":            {"- server", "f.yaml:1: the file: want a mapping of keys to values"},
		"key that is no text":      {"server:\n  1: x", "f.yaml:2: server: key 1 is not a text: write it in quotes"},
		"unknown section":          {"server:\nsevrer: x", `f.yaml:2: unknown key "sevrer"; possible here: server, store, contracts, providers, routes`},
		"unknown server key":       {"server:\n  listn: x", `f.yaml:2: unknown key "listn"; possible here: listen, `},
		"duplicate key":            {"server:\n  listen: :1\n  listen: :2", "f.yaml:3: "},
		"merge key":                {"a: &a {listen: ':1'}\nserver:\n  <<: *a", "f.yaml:1: unknown key"},
		"alias as a value":         {"server:\n  listen: &x ':1'\nstore:\n  url: *x", "f.yaml:2: server.listen: want a text"},
		"listen without a port":    {"server:\n  listen: localhost", "f.yaml:2: server.listen: want HOST:PORT"},
		"listen as a number":       {"server:\n  listen: 8080", "f.yaml:2: server.listen: want a text"},
		"listen without value":     {"server:\n  listen:", "f.yaml:2: server.listen has no value"},
		"listen port too large":    {"server:\n  listen: ':70000'", "f.yaml:2: server.listen: want HOST:PORT"},
		"unknown source":           {"server:\n  accept_sources: [live, laptop]", `f.yaml:2: server.accept_sources: "laptop" is not possible; want one of live, replay, simulated`},
		"source twice":             {"server:\n  accept_sources:\n    - live\n    - live", "f.yaml:4: accept_sources: live stands here twice"},
		"no source":                {"server:\n  accept_sources: []", "f.yaml:2: accept_sources is empty"},
		"sources not a list":       {"server:\n  accept_sources: live", "f.yaml:2: server.accept_sources: want a list"},
		"body of zero":             {"server:\n  max_body: 0", "f.yaml:2: server.max_body: want a size"},
		"body in unknown unit":     {"server:\n  max_body: 1 Mb", "f.yaml:2: server.max_body: want a size"},
		"shutdown as a number":     {"server:\n  shutdown_timeout: 30", "f.yaml:2: server.shutdown_timeout: want a positive duration such as 30s or 10m"},
		"no retention":             {"store:\n  retention: 0s", "f.yaml:2: store.retention: want a positive duration such as 30s or 10m"},
		"retention in days":        {"store:\n  retention: 30d", "f.yaml:2: store.retention: want a positive duration such as 30s or 10m"},
		"retention beyond all":     {"store:\n  retention: 99999999h", "f.yaml:2: store.retention: too long; the longest duration is 2562047h"},
		"give_up beyond all":       {"providers:\n  a:\n    base_url: https://a.example\n    give_up: 99999999h\n    models: {m: {}}", "f.yaml:4: providers.a.give_up: too long; the longest duration is 2562047h"},
		"unknown store":            {"store:\n  url: mysql://root:hunter2@db/x", "f.yaml:2: store.url: want sqlite:PATH or postgres://…"},
		"contracts missing":        {"contracts: ./nowhere", "f.yaml:1: contracts: nowhere is not a folder"},
		"provider name":            {"providers:\n  Alpha: {}", `f.yaml:2: provider name "Alpha": want lower-case letters, digits, - and _`},
		"no base URL":              {"providers:\n  a:\n    models: {m: {}}", "f.yaml:2: providers.a has no base_url"},
		"base URL with a key":      {"providers:\n  a:\n    base_url: https://u:hunter2@a.example\n    models: {m: {}}", "f.yaml:3: providers.a.base_url: must not hold a user"},
		"no models":                {"providers:\n  a:\n    base_url: https://a.example", "f.yaml:2: providers.a declares no models"},
		"misspelt models":          {"providers:\n  a:\n    base_url: https://a.example\n    modles: {m: {}}", `f.yaml:4: unknown key "modles"; possible here: base_url, `},
		"misspelt base_url":        {"providers:\n  a:\n    models: {m: {}}\n    baseurl: https://a.example", `f.yaml:4: unknown key "baseurl"`},
		"misspelt in the second":   {"providers:\n  a:\n    models: {m: {}}\n  b:\n    base_url: https://b.example\n    modles: {}", `f.yaml:6: unknown key "modles"`},
		"two lacks":                {"providers:\n  a:\n    models: {m: {}}\n  b:\n    base_url: https://b.example", "f.yaml:2: providers.a has no base_url"},
		"misspelt primary":         {alpha + "routes:\n  support-triage:\n    primery: alpha/m", `f.yaml:4: unknown key "primery"`},
		"empty models":             {"providers:\n  a:\n    base_url: https://a.example\n    models: {}", "f.yaml:4: providers.a declares no models"},
		"key in the file":          {"providers:\n  a:\n    base_url: https://a.example\n    api_key: sk-hunter2\n    models: {m: {}}", "f.yaml:4: providers.a.api_key: a key itself never stands in this file"},
		"key as a variable":        {"providers:\n  a:\n    base_url: https://a.example\n    api_key_env: sk-hunter2\n    models: {m: {}}", "f.yaml:4: providers.a.api_key_env: want the name of an environment variable"},
		"two places for a key":     {"providers:\n  a:\n    base_url: https://a.example\n    api_key_env: A\n    api_key_file: a\n    models: {m: {}}", "f.yaml:5: provider a: api_key_env and api_key_file exclude each other"},
		"replay as a provider":     {"providers:\n  a:\n    base_url: https://a.example\n    source: replay\n    models: {m: {}}", `f.yaml:4: providers.a.source: "replay" is not possible; want one of live, simulated`},
		"timeout over give_up":     {"providers:\n  a:\n    base_url: https://a.example\n    timeout: 2m\n    give_up: 1m\n    models: {m: {}}", "f.yaml:5: provider a: timeout (2m0s) must be shorter than give_up (1m0s)"},
		"timeout over default":     {"providers:\n  a:\n    base_url: https://a.example\n    timeout: 10m\n    models: {m: {}}", "f.yaml:4: provider a: timeout (10m0s) must be shorter than give_up (10m0s)"},
		"negative timeout":         {"providers:\n  a:\n    base_url: https://a.example\n    timeout: -1s\n    models: {m: {}}", "f.yaml:4: providers.a.timeout: want a positive duration"},
		"concurrency":              {"providers:\n  a:\n    base_url: https://a.example\n    concurrency: 0\n    models: {m: {}}", "f.yaml:4: providers.a.concurrency: want a whole number from 1"},
		"concurrency in hex":       {"providers:\n  a:\n    base_url: https://a.example\n    concurrency: 0x10\n    models: {m: {}}", "f.yaml:4: providers.a.concurrency: want a whole number from 1"},
		"server errors":            {"providers:\n  a:\n    base_url: https://a.example\n    server_errors: maybe\n    models: {m: {}}", `f.yaml:4: providers.a.server_errors: "maybe" is not possible; want one of doubt, failed`},
		"model with a space":       {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      'm m': {}", "f.yaml:5: providers.a.models.m m: a model's name has no white space"},
		"tokenizer of no file":     {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        tokenizer: file:t.json", "f.yaml:6: providers.a.models.m.tokenizer: open t.json: "},
		"tokenizer":                {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        tokenizer: gpt2", "f.yaml:6: providers.a.models.m.tokenizer: \"gpt2\" is not allowed; want one of o200k_base, cl100k_base, none"},
		"tokenizer without a path": {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        tokenizer: 'file:'", "f.yaml:6: providers.a.models.m.tokenizer: want file:PATH"},
		"tokenizer without a file": {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        tokenizer: file", "f.yaml:6: providers.a.models.m.tokenizer: \"file\" and a tokenizer file go together"},
		"no tokenizer.json":        {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        tokenizer: file:faults_test.go", "f.yaml:6: providers.a.models.m.tokenizer: tokenizer faults_test.go: not a tokenizer.json: "},
		"chat template of no file": {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        chat_template: file:t.jinja", "f.yaml:6: providers.a.models.m.chat_template: open t.jinja: "},
		"chat template as a path":  {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        chat_template: t.jinja", "f.yaml:6: providers.a.models.m.chat_template: want file:PATH"},
		"add_bos of what":          {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        add_bos: true", "f.yaml:6: providers.a.models.m.add_bos: without bos_token"},
		"add_bos as a word":        {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        add_bos: 'yes'", "f.yaml:6: providers.a.models.m.add_bos: want true or false"},
		"break what":               {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        control_tokens: break", "f.yaml:6: providers.a.models.m.control_tokens: without chat_template"},
		"control tokens":           {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        control_tokens: drop", "f.yaml:6: providers.a.models.m.control_tokens: \"drop\" is not possible; want one of keep, break"},
		"native":                   {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        native: ollama", "f.yaml:6: providers.a.models.m.native: \"ollama\" is not possible; want one of llama.cpp, vllm"},
		"price of one side":        {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        price: {input: 1}", "f.yaml:6: providers.a.models.m.price: want both"},
		"price below nothing":      {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        price: {input: 1, output: -0.5}", "f.yaml:6: providers.a.models.m.price.output: want a number"},
		"price with a currency":    {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        price: {input: $1, output: 2}", "f.yaml:6: providers.a.models.m.price.input: want a number"},
		"price without end":        {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        price: {input: .inf, output: 2}", "f.yaml:6: providers.a.models.m.price.input: want a number"},
		"price of something else":  {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        price: {input: 1, output: 2, cached: 1}", "f.yaml:6: unknown key \"cached\""},
		"tolerance of nothing":     {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        token_tolerance: 0", "f.yaml:6: providers.a.models.m.token_tolerance: want a share"},
		"tolerance in percent":     {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        token_tolerance: 10", "f.yaml:6: providers.a.models.m.token_tolerance: want a share"},
		"tolerance as a word":      {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        token_tolerance: some", "f.yaml:6: providers.a.models.m.token_tolerance: want a share"},
		"tolerance is no number":   {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        token_tolerance: .nan", "f.yaml:6: providers.a.models.m.token_tolerance: want a share"},
		"system role":              {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        system_role: user", `f.yaml:6: providers.a.models.m.system_role: "user" is not allowed; want one of system, developer, merge`},
		"context window":           {"providers:\n  a:\n    base_url: https://a.example\n    models:\n      m:\n        context_window: -1", "f.yaml:6: providers.a.models.m.context_window: want a whole number from 1"},
		"unknown contract":         {alpha + "routes:\n  nothing: {primary: alpha/m}", "f.yaml:3: routes.nothing: no such contract; the catalogue has invoice-extraction, meeting-actions, support-triage"},
		"no primary":               {alpha + "routes:\n  support-triage: {fallbacks: [alpha/m]}", "f.yaml:3: routes.support-triage has no primary"},
		"primary no target":        {alpha + "routes:\n  support-triage:\n    primary: alpha", `f.yaml:4: routes.support-triage.primary: target "alpha": want PROVIDER/MODEL`},
		"unknown provider":         {alpha + "routes:\n  support-triage:\n    primary: beta/m", `f.yaml:4: routes.support-triage.primary: beta/m: provider "beta" is not declared; declared are: alpha`},
		"unknown model":            {alpha + "routes:\n  support-triage:\n    primary: alpha/x", `f.yaml:4: routes.support-triage.primary: alpha/x: provider alpha declares no model "x"; it has: m, n`},
		"fallback is primary":      {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    fallbacks: [alpha/n, alpha/m]", "f.yaml:5: routes.support-triage.fallbacks: alpha/m is the primary itself"},
		"fallback twice":           {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    fallbacks:\n      - alpha/n\n      - alpha/n", "f.yaml:7: routes.support-triage.fallbacks: alpha/n stands here twice"},
		"max attempts":             {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    max_attempts: many", "f.yaml:5: routes.support-triage.max_attempts: want a whole number from 1 to 100"},
		"refusal policy":           {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    on_refusal: retry", `f.yaml:5: routes.support-triage.on_refusal: "retry" is not possible; want one of final, fallback`},
		"unknown policy":           {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    on_unknown: retry", `f.yaml:5: routes.support-triage.on_unknown: "retry" is not possible; want one of block, release, resend`},
		"resend to nobody":         {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    on_unknown: resend", "f.yaml:5: routes.support-triage.on_unknown: resend never acts, since no provider of the route is declared idempotent"},
		"deadline":                 {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    deadline: soon", "f.yaml:5: routes.support-triage.deadline: want a positive duration"},
		"reconcile":                {"providers:\n  a:\n    base_url: https://a.example\n    reconcile: logs\n    models: {m: {}}", `f.yaml:4: providers.a.reconcile: "logs" is not possible; want one of `},
		"horizon for nothing":      {"providers:\n  a:\n    base_url: https://a.example\n    reconcile_horizon: 1m\n    models: {m: {}}", "f.yaml:4: provider a: reconcile_horizon without reconcile"},
		"idempotent header":        {"providers:\n  a:\n    base_url: https://a.example\n    idempotent: Authorization\n    models:\n      m: {}", "f.yaml:4: provider a: idempotent: "},
		"circuit":                  {"providers:\n  a:\n    base_url: https://a.example\n    circuit: {failures: 0}\n    models: {m: {}}", "f.yaml:4: providers.a.circuit.failures: want a whole number from 1"},
		"circuit as a word":        {"providers:\n  a:\n    base_url: https://a.example\n    circuit: closed\n    models: {m: {}}", "f.yaml:4: providers.a.circuit: want a mapping"},
		"certified primary":        {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    require_certified_primary: 'yes'", "f.yaml:5: routes.support-triage.require_certified_primary: want true or false"},
		"drift on":                 {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    drift: on", "f.yaml:5: routes.support-triage.drift: \"on\" is not possible; want off, or a mapping"},
		"drift as a number":        {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    drift: 0.05", "f.yaml:5: routes.support-triage.drift: want off, or a mapping"},
		"drift by nothing":         {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    drift: ", "f.yaml:5: routes.support-triage.drift: want off, or a mapping"},
		"drift of what":            {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    drift: {rate: 0.1}", "f.yaml:5: unknown key \"rate\"; possible here: violations, window, minimum"},
		"drift of all":             {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    drift: \n      violations: 1", "f.yaml:6: routes.support-triage.drift.violations: want a number from 0 to less than 1"},
		"drift in percent":         {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    drift: \n      window: 10\n      violations: 5%", "f.yaml:7: routes.support-triage.drift.violations: want a number from 0 to less than 1"},
		"drift is no number":       {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    drift: {violations: .nan}", "f.yaml:5: routes.support-triage.drift.violations: want a number from 0 to less than 1"},
		"drift window":             {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    drift: {window: 10001}", "f.yaml:5: routes.support-triage.drift.window: want a whole number from 1 to 10000"},
		"drift minimum":            {alpha + "routes:\n  support-triage:\n    primary: alpha/m\n    drift: \n      window: 10\n      minimum: 11", "f.yaml:7: routes.support-triage.drift.minimum: 11 answers never stand in a window of 10"},
		"first of two faults":      {"server:\n  listen: x\n  max_body: 0\nstore:\n  url: y", "f.yaml:2: server.listen"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			got := parse(row.text)
			g.Expect(got).To(gomega.HavePrefix(row.want))
			g.Expect(got).NotTo(gomega.ContainSubstring("hunter2"), "an error must not repeat a secret")
			g.Expect(got).NotTo(gomega.ContainSubstring("\n"), "an error is one line")
		})
	}
}

func TestAPIKeysAreReadWhenTheyAreUsed(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"key": " from-the-file\n", "empty": " \n", "two": "sk-hunter2\nsk-hunter3\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "f.yaml")
	text := `providers:
  open: {base_url: 'https://a.example', models: {m: {}}}
  set:
    base_url: https://a.example
    api_key_env: SET
    models: {m: {}}
  unset:
    base_url: https://a.example
    api_key_env: UNSET
    models: {m: {}}
  file: {base_url: 'https://a.example', api_key_file: key, models: {m: {}}}
  empty: {base_url: 'https://a.example', api_key_file: empty, models: {m: {}}}
  gone: {base_url: 'https://a.example', api_key_file: gone, models: {m: {}}}
  two: {base_url: 'https://a.example', api_key_file: two, models: {m: {}}}
  pasted: {base_url: 'https://a.example', api_key_env: PASTED, models: {m: {}}}
`
	c, err := config.Parse(file, []byte(text), environment("SET", " a-long-secret\n", "PASTED", "“sk-hunter2”"))
	if err != nil {
		t.Fatal(err)
	}
	for provider, want := range map[string]string{"open": "", "set": "a-long-secret", "file": "from-the-file"} {
		g := gomega.NewWithT(t)
		key, err := c.APIKey(provider)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(key).To(gomega.Equal(want))
	}
	for provider, want := range map[string]string{
		"unset":  file + ":9: provider unset: environment variable UNSET is not set",
		"empty":  file + ":12: provider empty: API key file " + filepath.Join(dir, "empty") + " is empty",
		"gone":   file + ":13: provider gone: API key file: ",
		"two":    file + ":14: provider two: the key in API key file " + filepath.Join(dir, "two") + ": character 11 is a line break",
		"pasted": file + ":15: provider pasted: the key in environment variable PASTED: character 1 is a typographic quotation mark",
		"nobody": `provider "nobody" is not declared`,
	} {
		g := gomega.NewWithT(t)
		key, err := c.APIKey(provider)
		g.Expect(err).To(gomega.MatchError(gomega.HavePrefix(want)))
		g.Expect(key + err.Error()).NotTo(gomega.ContainSubstring("hunter"))
	}
	g := gomega.NewWithT(t)
	g.Expect(c.CheckAPIKeys("set", "file", "open")).To(gomega.Succeed())
	g.Expect(c.CheckAPIKeys()).To(gomega.MatchError(gomega.ContainSubstring("provider empty")))
	scrub := c.Scrubber()
	g.Expect(scrub.Names("set's is a-long-secret, and file's from-the-file")).To(gomega.Equal([]string{"file", "set"}))
	g.Expect(scrub.Text("from%2Dthe-file, “sk-hunter2”")).To(gomega.Equal("[redacted], “sk-hunter2”"), "what cannot be sent is not looked for")
	g.Expect(c.CheckAPIKeys("set", "pasted")).To(gomega.MatchError(gomega.ContainSubstring("provider pasted")))
}
