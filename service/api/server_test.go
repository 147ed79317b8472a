package api_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/api"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/sqlite"
)

// patient answers by itself when told to; hasty is in doubt after a moment.
const configuration = `
server: {accept_sources: [live], max_body: 4KiB}
providers:
  patient: {base_url: %[1]s, timeout: 20s, models: {faithful: {}, hold: {}}}
  hasty: {base_url: %[1]s, timeout: 20ms, models: {hold: {}}}
  spare: {base_url: %[1]s, timeout: 20s, models: {faithful: {}}}
routes:
  support-triage: {primary: patient/faithful, fallbacks: [spare/faithful], max_attempts: 3}
`

const input = `{"message": "you charged me twice for order #SO-48213?? can you refund one of them please"}`

// service is the API over a real store, dispatcher and simulated provider.
type service struct {
	*gomega.WithT
	t      *testing.T
	ctx    context.Context
	store  store.Store
	config *config.Config
	sim    *simulator.Server
	api    *api.Server
	url    string
	http   *http.Client

	client, operator, stranger string // API keys: two of acme, one of somebody else
}

func newService(t *testing.T) *service {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	s := &service{WithT: gomega.NewWithT(t), t: t, ctx: ctx}
	var err error
	s.sim, err = simulator.Listen("127.0.0.1:0", simulator.Config{})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { _ = s.sim.Close() })
	s.store, err = sqlite.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "api.db"))
	s.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { _ = s.store.Close() })
	s.config, err = config.Parse("fallproof.yaml", []byte(fmt.Sprintf(configuration, s.sim.BaseURL())), func(string) string { return "" })
	s.Expect(err).NotTo(gomega.HaveOccurred())
	silent := slog.New(slog.DiscardHandler)
	dispatcher, err := dispatch.New(dispatch.Options{Store: s.store, Config: s.config, Logger: silent})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(dispatcher.Start(ctx)).To(gomega.Succeed())
	t.Cleanup(func() {
		_ = dispatcher.Shutdown(ctx) // the test's context has ended: whatever still runs is left in doubt
	})
	s.api = api.New(api.Options{Dispatcher: dispatcher, Store: s.store, Config: s.config, Version: "test"})
	server := httptest.NewServer(s.api)
	t.Cleanup(server.Close)
	s.url, s.http = server.URL, server.Client()
	s.client = s.newKey("acme", store.ScopeClient)
	s.operator = s.newKey("acme", store.ScopeOperator)
	s.stranger = s.newKey("other", store.ScopeClient, store.ScopeOperator)
	return s
}

func (s *service) newKey(owner string, scopes ...string) string {
	s.t.Helper()
	key := api.NewKey()
	s.Expect(s.store.CreateKey(s.ctx, store.APIKey{ID: uuid.NewString(), Owner: owner, Hash: api.HashKey(key), Scopes: scopes})).To(gomega.Succeed())
	return key
}

// answer is a response that was read to its end.
type answer struct {
	Status int
	Header http.Header
	Text   string
	Body   map[string]any // numbers as value.Number
}

// problem is the name of the answer's problem type.
func (a answer) problem() string {
	kind, _ := a.Body["type"].(string)
	return strings.TrimPrefix(kind, "/problems/")
}

// send makes one request; headers are "Name: value".
func (s *service) send(key, method, path, body string, headers ...string) answer {
	s.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(s.ctx, method, s.url+path, content)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, text, _ := strings.Cut(header, ": ")
		request.Header.Add(name, text)
	}
	response, err := s.http.Do(request)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	a := answer{Status: response.StatusCode, Header: response.Header, Text: string(text)}
	if strings.Contains(response.Header.Get("Content-Type"), "json") {
		decoded, err := value.Decode(text)
		s.Expect(err).NotTo(gomega.HaveOccurred(), a.Text)
		a.Body = decoded.(map[string]any)
	}
	return a
}

// refused sends and expects a problem document.
func (s *service) refused(status int, problem string, key, method, path, body string, headers ...string) answer {
	s.t.Helper()
	a := s.send(key, method, path, body, headers...)
	s.Expect(a.Status).To(gomega.Equal(status), a.Text)
	s.Expect(a.problem()).To(gomega.Equal(problem))
	s.Expect(a.Header.Get("Content-Type")).To(gomega.Equal("application/problem+json"))
	s.Expect(a.Body).To(gomega.HaveKeyWithValue("status", value.FromInt(status)))
	s.Expect(a.Body).To(gomega.HaveKey("title"))
	s.Expect(a.Body["instance"]).To(gomega.HavePrefix("urn:uuid:"))
	return a
}

// create posts a job for a target ("" = the route's primary).
func (s *service) create(idempotencyKey, target string, headers ...string) answer {
	s.t.Helper()
	body := `{"contract": "support-triage", "input": ` + input
	if target != "" {
		body += `, "target": "` + target + `"`
	}
	return s.send(s.client, http.MethodPost, "/v1/jobs", body+"}", append(headers, "Idempotency-Key: "+idempotencyKey)...)
}

// doubtful creates a job whose only attempt is in doubt.
func (s *service) doubtful(idempotencyKey string) (path string) {
	s.t.Helper()
	a := s.create(idempotencyKey, "hasty/hold", "Prefer: wait=20")
	s.Expect(a.Status).To(gomega.Equal(http.StatusCreated), a.Text)
	s.Expect(a.Body["state"]).To(gomega.Equal("unknown"))
	return a.Header.Get("Location")
}

// certify gives a target a standing proof of the contract, and returns the record's id.
func (s *service) certify(target providers.Target, servedModels ...string) string {
	s.t.Helper()
	contract, _ := s.config.Catalog.Get("support-triage")
	profile, _ := s.config.Profile(target)
	record := certification.Record{
		ID: uuid.Must(uuid.NewV7()).String(), Contract: contract.Name, ContractDigest: contract.Digest(),
		EffectiveDigest: contract.EffectiveDigest(target), ProfileDigest: profile.Digest(),
		ProofDigest: contract.ProofDigest(target, profile), Target: target,
		Verdict: certification.Certified, Source: providers.SourceLive, ServedModels: servedModels,
	}
	run, err := s.store.OpenRun(s.ctx, store.Run{
		ID: uuid.NewString(), Name: "night", Contract: contract.Name, ProofDigest: record.ProofDigest, Target: target,
	})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	stored, won, err := s.store.FinishRun(s.ctx, run.ID, record, time.Hour)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(won).To(gomega.BeTrue())
	return stored.ID
}

// decode reads an answer into what it is expected to be.
func decode[T any](s *service, a answer) T {
	s.t.Helper()
	var into T
	s.Expect(json.Unmarshal([]byte(a.Text), &into)).To(gomega.Succeed(), a.Text)
	return into
}
