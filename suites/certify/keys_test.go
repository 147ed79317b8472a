package certify_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
	"github.com/fallproof/fallproof/providers/secrets"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/suites/certify"
)

const configurationWithKeys = `
providers:
  alpha: {base_url: "%s", api_key_env: ALPHA_KEY, models: {large: {}}}
  beta: {base_url: "https://beta.example/v1", api_key_env: BETA_KEY, models: {medium: {}}}
  gamma: {base_url: "https://gamma.example/v1", api_key_env: GAMMA_KEY, models: {small: {}}}
routes:
  support-triage: {primary: alpha/large, fallbacks: [beta/medium]}
`

const alphasKey, betasKey = "sk-alphas-own/key", "0b5e-the+key-of-beta"

// withKeys is a configuration whose alpha is at an address. The key of gamma is not set.
func withKeys(t *testing.T, address string, read func(name string)) *config.Config {
	t.Helper()
	cfg, err := config.Parse("fallproof.yaml", fmt.Appendf(nil, configurationWithKeys, address), func(name string) string {
		read(name)
		return map[string]string{"ALPHA_KEY": alphasKey, "BETA_KEY": betasKey}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// Whoever is called, the keys of all providers are kept out of what is kept.
func TestPairsKnowEveryKey(t *testing.T) {
	g := NewWithT(t)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Server", betasKey)
		_, _ = w.Write(append(body, r.Header.Get("Authorization")...))
	}))
	t.Cleanup(echo.Close)
	pairs, release, err := certify.Pairs(withKeys(t, echo.URL, func(string) {}), certify.Selection{Target: "alpha/large", Contract: "support-triage"})
	g.Expect(err).NotTo(HaveOccurred(), "that gamma has no key is nobody's trouble here")
	defer release()
	g.Expect(pairs[0].Scrub.Names(alphasKey + " " + betasKey)).To(Equal([]string{"alpha", "beta"}))
	ex := pairs[0].Client.Send(t.Context(), providers.Request{
		Target: pairs[0].Target, Profile: pairs[0].Profile, Schema: []byte(`{"type": "object"}`), SchemaName: "a",
		Messages: []providers.Message{{Role: "user", Content: "the key of beta is " + betasKey}},
	})
	g.Expect(ex.Err).NotTo(HaveOccurred())
	g.Expect(string(ex.Body)).To(ContainSubstring("the key of beta is [redacted]"))
	g.Expect(string(ex.Body)).To(HaveSuffix("Bearer [redacted]"))
	g.Expect(string(ex.RequestBody)).To(ContainSubstring("the key of beta is [redacted]"))
	g.Expect(ex.Header.Get("Server")).To(Equal("[redacted]"))
}

// A replay needs no key; such as are there are known, since its cassettes were written without them.
func TestRecordedPairsNeedNoKey(t *testing.T) {
	g := NewWithT(t)
	cfg := withKeys(t, "https://alpha.example/v1", func(string) {})
	pairs, release, err := certify.Pairs(cfg, certify.Selection{Recorded: true})
	g.Expect(err).NotTo(HaveOccurred())
	defer release()
	g.Expect(pairs).To(HaveLen(2))
	g.Expect(pairs[0].Scrub.Text(alphasKey)).To(Equal("[redacted]"))
}

// A request that cannot be built says nothing about the target: nobody was called.
func TestWhatCannotBeSentRejectsNobody(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	pair := w.pair("support-triage", "faithful")
	client := openai.New(openai.Config{BaseURL: w.baseURL, APIKey: "sk-hunter2\nhunter3"})
	t.Cleanup(client.Close)
	pair.Client = client
	record, _ := w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Inconclusive), "%+v", record.Dimensions)
	g.Expect(reasonsOf(dimension(record, certification.DimensionRoundTrip))).To(ContainElement(string(providers.ReasonUnmappable)))
	g.Expect(string(jsonOf(t, record))).NotTo(ContainSubstring("hunter"))
	g.Expect(w.simulator.Ledger()).To(BeEmpty())
}

// Keys stand in a system message, in an input and its expected answer, in the schema, and in the model's name. The
// target answers as it should, and is certified; nothing that is kept holds a key, and a warning says whose are
// sent to the provider.
func TestKeysInAPrompt(t *testing.T) {
	const inSystem, inInput, inAnswer, inSchema, inModel = "sk-betas-own/key", "sk-gammas<own>key", "SO-48213", "sk-deltas-own-key", "faithful"
	g, w := NewWithT(t), newWorld(t)
	keys := map[string]string{"beta": inSystem, "gamma": inInput, "delta": inSchema, "answers": inAnswer, "sim": inModel}
	pair := w.pair("support-triage", "faithful")
	pair.Scrub = secrets.Named(keys)
	client := openai.New(openai.Config{BaseURL: w.baseURL, APIKey: inModel, Secrets: pair.Scrub})
	t.Cleanup(client.Close)
	pair.Client = client
	pair.Contract = w.changed("support-triage", `You sort one message`, "The key is "+inSystem+". You sort one message")
	pair.Contract = changed(t, pair.Contract, `Sent from my iPhone`, inInput)
	pair.Contract = changed(t, pair.Contract, `order, invoice or ticket number`, inSchema)

	record, kept, text := w.withEvidence(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
	g.Expect(record.Warnings).To(ContainElements(
		certification.Finding{Reason: "key_in_prompt", Count: len(pair.Contract.Cases), Case: "charged twice", Detail: "the key of provider beta stands in the prompt, and is sent to sim in the open"},
		certification.Finding{Reason: "key_in_prompt", Count: 1, Case: "charged twice", Detail: "the key of provider gamma stands in the prompt, and is sent to sim in the open"},
		certification.Finding{Reason: "key_in_prompt", Count: 1, Case: "charged twice", Detail: "the key of provider answers stands in the prompt, and is sent to sim in the open"},
	))
	g.Expect(kept.Cases[0].Messages[0].Content).To(HavePrefix("The key is [redacted]. You sort one message"))
	g.Expect(kept.Cases[0].Messages[1].Content).To(ContainSubstring("order #[redacted]??"))
	g.Expect(string(kept.Cases[0].Expected)).To(ContainSubstring(`"reference":"[redacted]"`))
	for provider, key := range keys {
		if provider != "sim" { // the model's name is also the target's, and no secret as that
			g.Expect(text).NotTo(ContainSubstring(key), provider)
			g.Expect(string(jsonOf(t, record))).NotTo(ContainSubstring(key), provider)
		}
		for _, each := range w.stored(record.RunID) {
			g.Expect(each.Evidence).NotTo(ContainSubstring(key), provider)
		}
	}
}

// What a server tells of a prompt that holds a key is compared with our own rendering of the same.
func TestAKeyInAPromptThatTheServerTells(t *testing.T) {
	const key = "sk-betas-own/key"
	g, w := NewWithT(t), newWorld(t)
	pair := w.pair("support-triage", "faithful")
	w.simulator.Host("", chatml.over(t, &pair))
	pair.Scrub = secrets.Named(map[string]string{"beta": key})
	client := openai.New(openai.Config{BaseURL: w.baseURL, Secrets: pair.Scrub})
	t.Cleanup(client.Close)
	pair.Client = client
	pair.Contract = changed(t, pair.Contract, `You sort one message`, "The key is "+key+". You sort one message")
	record, _, text := w.withEvidence(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
	g.Expect(text).To(ContainSubstring("<|im_start|>system"), "the server was asked")
	g.Expect(text + string(jsonOf(t, record))).NotTo(ContainSubstring(key))
}

// What a record says of contract and profile holds no key, wherever one was written.
func TestPartsHoldNoKey(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	const key = "a-key-in-the-path"
	pair := w.pair("support-triage", "faithful")
	pair.Profile.BaseURL = "https://alpha.example/" + key + "/v1"
	pair.Contract = w.changed("support-triage", `name: charged twice`, "name: charged "+key)
	g.Expect(fmt.Sprint(pair.Parts())).To(ContainSubstring(key))
	pair.Scrub = secrets.Named(map[string]string{"alpha": key})
	parts := pair.Parts()
	g.Expect(fmt.Sprint(parts)).NotTo(ContainSubstring(key))
	g.Expect(parts).To(HaveKeyWithValue("profile: base_url", `"https://alpha.example/[redacted]/v1"`))
}
