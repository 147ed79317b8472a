package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/job"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

const whole = `
server:
  listen: 0.0.0.0:9000
  accept_sources: [live, simulated]
  max_body: 256KiB
  shutdown_timeout: 5s
store:
  url: sqlite:other.db
providers:
  alpha:
    base_url: https://alpha.example/v1/
    api_key_env: ALPHA_API_KEY
    source: live
    timeout: 20s
    give_up: 5m
    queue_timeout: 10s
    concurrency: 4
    server_errors: failed
    reconcile: stored_completions
    reconcile_horizon: 2m
    idempotent: Idempotency-Key
    circuit: {failures: 3, cool_down: 10s}
    models:
      alpha-large:
        context_window: 128000
        tokenizer: o200k_base
        system_role: developer
        temperature: omit
        max_tokens_field: max_tokens
        structured_output: json_object
  gamma:
    base_url: http://127.0.0.1:1234/v1
    source: simulated
    circuit: off
    models:
      org/model-7b: {}
routes:
  invoice-extraction:
    primary: alpha/alpha-large
    fallbacks: [gamma/org/model-7b]
    max_attempts: 4
    on_refusal: fallback
    on_unknown: release
    deadline: 10m
    require_certified_primary: true
`

func TestParseReadsEveryValue(t *testing.T) {
	g := gomega.NewWithT(t)
	c, err := config.Parse("fallproof.yaml", []byte(whole), environment())
	g.Expect(err).NotTo(gomega.HaveOccurred())

	g.Expect(c.Server).To(gomega.Equal(config.Server{
		Listen: "0.0.0.0:9000", MaxBodyBytes: 256 << 10, ShutdownTimeout: 5 * time.Second,
		AcceptSources: []providers.Source{providers.SourceLive, providers.SourceSimulated},
	}))
	g.Expect(c.Store.URL).To(gomega.Equal("sqlite:other.db"))

	large := providers.Target{Provider: "alpha", Model: "alpha-large"}
	small := providers.Target{Provider: "gamma", Model: "org/model-7b"}
	g.Expect(c.Targets()).To(gomega.Equal([]providers.Target{large, small}))
	profile, ok := c.Profile(large)
	g.Expect(ok).To(gomega.BeTrue())
	g.Expect(profile).To(gomega.Equal(providers.Profile{
		BaseURL: "https://alpha.example/v1", Model: "alpha-large", Source: providers.SourceLive, ContextWindow: 128000,
		Tokenizer: "o200k_base", SystemRole: "developer", Temperature: "omit", MaxTokensField: "max_tokens", StructuredOutput: "json_object",
		Reconcile: "stored_completions", IdempotencyHeader: "Idempotency-Key",
	}))
	defaults, ok := c.Profile(small)
	g.Expect(ok).To(gomega.BeTrue())
	g.Expect(defaults).To(gomega.Equal(providers.Profile{
		BaseURL: "http://127.0.0.1:1234/v1", Model: "org/model-7b", Source: providers.SourceSimulated,
		Tokenizer: "none", SystemRole: "system", Temperature: "free", MaxTokensField: "max_completion_tokens", StructuredOutput: "json_schema",
	}))
	_, ok = c.Profile(providers.Target{Provider: "alpha", Model: "other"})
	g.Expect(ok).To(gomega.BeFalse())

	alpha, _ := c.Provider("alpha")
	g.Expect(alpha.Concurrency).To(gomega.Equal(4))
	g.Expect(alpha.ServerErrors).To(gomega.Equal("failed"))
	g.Expect(alpha.ReconcileHorizon).To(gomega.Equal(2 * time.Minute))
	g.Expect(alpha.Circuit).To(gomega.Equal(config.Circuit{Failures: 3, CoolDown: 10 * time.Second}))
	gamma, _ := c.Provider("gamma")
	g.Expect(gamma.Concurrency).To(gomega.Equal(16))
	g.Expect(gamma.ServerErrors).To(gomega.Equal("doubt"))
	g.Expect(gamma.Circuit.Failures).To(gomega.BeZero(), "switched off")
}

func TestPlanIsTheRouteWithEveryDeadline(t *testing.T) {
	g := gomega.NewWithT(t)
	c, err := config.Parse("fallproof.yaml", []byte(whole), environment())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	invoices, _ := c.Catalog.Get("invoice-extraction")
	deadlines := map[string]job.Deadlines{
		"alpha": {Timeout: 20 * time.Second, GiveUp: 5 * time.Minute, QueueTimeout: 10 * time.Second},
		"gamma": {Timeout: 30 * time.Second, GiveUp: 10 * time.Minute, QueueTimeout: time.Minute},
	}
	g.Expect(c.Plan(invoices)).To(gomega.Equal(job.Plan{
		Primary:     providers.Target{Provider: "alpha", Model: "alpha-large"},
		Fallbacks:   []providers.Target{{Provider: "gamma", Model: "org/model-7b"}},
		MaxAttempts: 4, OnRefusal: "fallback", RequireCertifiedPrimary: true,
		OnUnknown: "release", ReleaseAfter: 20 * time.Second, Deadline: 10 * time.Minute,
		Deadlines: deadlines,
	}))

	unrouted := &contracts.Contract{Name: "unrouted", Effects: contracts.EffectsExternal}
	g.Expect(c.Plan(unrouted)).To(gomega.Equal(job.Plan{
		MaxAttempts: 3, OnRefusal: "final", Deadlines: deadlines,
	}))
}

func TestWithoutAFileThereAreDefaults(t *testing.T) {
	g := gomega.NewWithT(t)
	t.Chdir(t.TempDir())
	c, err := config.Load("", environment())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.Path).To(gomega.BeEmpty())
	g.Expect(c.Providers).To(gomega.BeEmpty())
	g.Expect(c.Store.URL).To(gomega.Equal("sqlite:fallproof.db"))
	g.Expect(c.Server).To(gomega.Equal(config.Server{
		Listen: "127.0.0.1:8080", MaxBodyBytes: 1 << 20, ShutdownTimeout: 30 * time.Second,
		AcceptSources: []providers.Source{providers.SourceLive},
	}))
	g.Expect(c.Catalog.Names()).To(gomega.ConsistOf("invoice-extraction", "meeting-actions", "support-triage"))
}

func TestLoadReadsTheDefaultFileAndInsistsOnANamedOne(t *testing.T) {
	g := gomega.NewWithT(t)
	t.Chdir(t.TempDir())
	_, err := config.Load("absent.yaml", environment())
	g.Expect(err).To(gomega.MatchError("absent.yaml: no such file"))
	_, err = config.Load(config.DefaultPath, environment())
	g.Expect(err).To(gomega.MatchError("fallproof.yaml: no such file"))

	g.Expect(os.WriteFile("fallproof.yaml", []byte("# nothing yet\nserver:\n  listen: :7000\n"), 0o600)).To(gomega.Succeed())
	c, err := config.Load("", environment())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.Server.Listen).To(gomega.Equal(":7000"))
}

func TestTheEnvironmentsDatabaseWins(t *testing.T) {
	g := gomega.NewWithT(t)
	c, err := config.Parse("f.yaml", []byte("store: {url: 'sqlite:a.db'}"), environment("DATABASE_URL", "postgres://db.example/x"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.Store.URL).To(gomega.Equal("postgres://db.example/x"))

	_, err = config.Parse("f.yaml", nil, environment("DATABASE_URL", "mysql://root:hunter2@db/x"))
	g.Expect(err).To(gomega.MatchError("DATABASE_URL: want sqlite:PATH or postgres://…"))
}

func TestEmptyFilesAndSectionsAreAllowed(t *testing.T) {
	for _, text := range []string{"", "# a comment alone\n", "---\n", "server:\nstore:\nproviders:\nroutes:\n"} {
		g := gomega.NewWithT(t)
		c, err := config.Parse("f.yaml", []byte(text), environment())
		g.Expect(err).NotTo(gomega.HaveOccurred(), text)
		g.Expect(c.Providers).To(gomega.BeEmpty())
	}
}

func TestARelativeContractsFolderStartsAtTheFile(t *testing.T) {
	g := gomega.NewWithT(t)
	dir := t.TempDir()
	copyShipped(t, filepath.Join(dir, "mine"))
	file := filepath.Join(dir, "fallproof.yaml")
	g.Expect(os.WriteFile(file, []byte("contracts: ./mine\n"), 0o600)).To(gomega.Succeed())
	c, err := config.Load(file, environment())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.Catalog.Names()).To(gomega.ConsistOf("invoice-extraction", "meeting-actions", "support-triage"))

	broken := filepath.Join(dir, "mine", "support-triage", "contract.yaml")
	g.Expect(os.WriteFile(broken, []byte("name: support-triage\nsurprise: 1\n"), 0o600)).To(gomega.Succeed())
	_, err = config.Load(file, environment())
	g.Expect(err).To(gomega.MatchError(gomega.HavePrefix(broken + ":2: ")))
}

func copyShipped(t *testing.T, into string) {
	t.Helper()
	if err := os.CopyFS(into, os.DirFS("../../contracts/catalog")); err != nil {
		t.Fatal(err)
	}
}

// parse reads lines and returns the error's text.
func parse(text string) string {
	_, err := config.Parse("f.yaml", []byte(strings.TrimPrefix(text, "\n")), environment())
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// TestAPolicyAgainstSilenceFitsTheContractsEffects: nothing automatic follows a timeout but what the
// contract allows.
func TestAPolicyAgainstSilenceFitsTheContractsEffects(t *testing.T) {
	for name, row := range map[string]struct{ effects, policy, want string }{
		"release of external effects":   {"effects: external", "release", "release is only for contracts with effects: none; support-triage has effects: external"},
		"release of idempotent effects": {"effects: idempotent", "release", "release is only for contracts with effects: none"},
		"release without a time":        {"effects: none", "release", "release never acts, since contract support-triage has no release_after"},
		"release after a time":          {"effects: none\nrelease_after: 5s", "release", ""},
		"resend of external effects":    {"effects: external", "resend", "resend is not for contracts with effects: external"},
		"resend of idempotent effects":  {"effects: idempotent", "resend", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			dir := t.TempDir()
			copyShipped(t, filepath.Join(dir, "contracts"))
			contract := filepath.Join(dir, "contracts", "support-triage", "contract.yaml")
			text, err := os.ReadFile(contract)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			changed := regexp.MustCompile(`(?m)^effects: none\nrelease_after: .*$`).ReplaceAll(text, []byte(row.effects))
			g.Expect(os.WriteFile(contract, changed, 0o600)).To(gomega.Succeed())
			_, err = config.Parse(filepath.Join(dir, "f.yaml"), []byte("contracts: ./contracts\n"+
				"providers: {a: {base_url: 'https://a.example', idempotent: Idempotency-Key, models: {m: {}}}}\n"+
				"routes:\n  support-triage:\n    primary: a/m\n    on_unknown: "+row.policy+"\n"), environment())
			if row.want == "" {
				g.Expect(err).NotTo(gomega.HaveOccurred())
				return
			}
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("f.yaml:6: routes.support-triage.on_unknown: " + row.want)))
		})
	}
}
