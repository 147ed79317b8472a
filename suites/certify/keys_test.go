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

// A replay needs no key, and reads none.
func TestRecordedPairsReadNoKey(t *testing.T) {
	g := NewWithT(t)
	cfg := withKeys(t, "https://alpha.example/v1", func(name string) { g.Expect(name).NotTo(HaveSuffix("_KEY")) })
	pairs, release, err := certify.Pairs(cfg, certify.Selection{Recorded: true})
	g.Expect(err).NotTo(HaveOccurred())
	defer release()
	g.Expect(pairs).To(HaveLen(2))
	g.Expect(pairs[0].Scrub.Text(alphasKey)).To(Equal(alphasKey))
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
