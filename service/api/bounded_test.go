package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/service/api"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// hung is a store and a dispatcher of which one call does not come back before its context has ended;
// then it fails in a driver's words.
type hung struct {
	api.Dispatcher
	call string
}

func (h hung) hang(ctx context.Context, call string) error {
	if call != h.call {
		return nil
	}
	<-ctx.Done()
	return errors.New("interrupted (9)")
}

func (h hung) KeyByHash(ctx context.Context, _ string) (store.APIKey, error) {
	return store.APIKey{ID: "key", Owner: "acme", Scopes: []string{store.ScopeClient, store.ScopeOperator}}, h.hang(ctx, "KeyByHash")
}

func (h hung) Job(ctx context.Context, _, _ string) (job.Job, error) {
	return job.Job{}, h.hang(ctx, "Job")
}

func (h hung) ListJobs(ctx context.Context, _ store.JobFilter) ([]job.Job, string, error) {
	return nil, "", h.hang(ctx, "ListJobs")
}

func (h hung) Doubts(ctx context.Context, _ string) (store.Doubts, error) {
	return store.Doubts{}, h.hang(ctx, "Doubts")
}

func (h hung) Attempt(ctx context.Context, _ job.Ref) (job.Attempt, error) {
	return job.Attempt{}, h.hang(ctx, "Attempt")
}

func (h hung) Attempts(ctx context.Context, _, _ string) ([]job.Attempt, error) {
	return nil, h.hang(ctx, "Attempts")
}

func (h hung) Events(ctx context.Context, _, _ string, _ int64) (store.History, error) {
	return store.History{}, h.hang(ctx, "Events")
}

func (h hung) Record(ctx context.Context, _ string) (store.StoredRecord, error) {
	return store.StoredRecord{}, h.hang(ctx, "Record")
}

func (h hung) Evidence(ctx context.Context, _ string) (evidence.Packed, error) {
	return evidence.Packed{}, h.hang(ctx, "Evidence")
}

func (h hung) Records(ctx context.Context, _ store.RecordFilter) ([]store.StoredRecord, string, error) {
	return nil, "", h.hang(ctx, "Records")
}

func (h hung) Revoke(ctx context.Context, _, _, _ string) (store.StoredRecord, error) {
	return store.StoredRecord{}, h.hang(ctx, "Revoke")
}

func (h hung) Ping(context.Context) error {
	if h.call == "Ping" {
		return errors.New("connection refused")
	}
	return nil
}

func (h hung) Watching() error { return nil }

func (h hung) Proofs(ctx context.Context) ([]certification.Standing, error) {
	return nil, h.hang(ctx, "Proofs")
}

func (h hung) Targets(ctx context.Context, _ string) ([]failover.TargetStatus, error) {
	return nil, h.hang(ctx, "Targets")
}

func (h hung) Submit(context.Context, dispatch.Submission) (store.Made, error) {
	return store.Made{}, dispatch.ErrShuttingDown
}

func (h hung) serve(t *testing.T, log *bytes.Buffer) *api.Server {
	t.Helper()
	g := gomega.NewWithT(t)
	cfg, err := config.Parse("fallproof.yaml", fmt.Appendf(nil, configuration, "http://127.0.0.1:1"), func(string) string { return "" })
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return api.New(api.Options{
		Dispatcher: h, Store: h, Config: cfg, StoreTimeout: 10 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
}

// ask has no patience without end: a request that hangs is answered otherwise than it should.
func ask(t *testing.T, server http.Handler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	recorder, request := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer fp_x")
	request.Header.Set("Idempotency-Key", "click")
	server.ServeHTTP(recorder, request)
	return recorder
}

func TestAStoreThatHangsAsksToTryAgain(t *testing.T) {
	for call, request := range map[string]struct{ method, path, body string }{
		"KeyByHash": {http.MethodPost, "/v1/jobs", "{}"},
		"Job":       {http.MethodGet, "/v1/jobs/x", ""},
		"ListJobs":  {http.MethodGet, "/v1/jobs", ""},
		"Doubts":    {http.MethodGet, "/v1/jobs?state=unknown", ""},
		"Attempt":   {http.MethodGet, "/v1/jobs/x/attempts/1", ""},
		"Attempts":  {http.MethodGet, "/v1/jobs/x/attempts", ""},
		"Events":    {http.MethodGet, "/v1/jobs/x/events", ""},
		"Evidence":  {http.MethodGet, "/v1/certifications/x/evidence", ""},
		"Record":    {http.MethodGet, "/v1/certifications/x", ""},
		"Records":   {http.MethodGet, "/v1/certifications", ""},
		"Revoke":    {http.MethodPost, "/v1/certifications/x/revoke", `{"reason": "r"}`},
		"Targets":   {http.MethodGet, "/v1/contracts/support-triage/targets", ""},
	} {
		t.Run(call, func(t *testing.T) {
			g := gomega.NewWithT(t)
			var log bytes.Buffer
			a := ask(t, hung{call: call}.serve(t, &log), request.method, request.path, request.body)
			g.Expect(a.Code).To(gomega.Equal(http.StatusServiceUnavailable), a.Body.String())
			g.Expect(a.Body.String()).To(gomega.ContainSubstring(`"type":"/problems/store-unavailable"`))
			g.Expect(a.Body.String()).NotTo(gomega.ContainSubstring("interrupted"), "a driver's words are for the log")
			g.Expect(a.Header().Get("Retry-After")).To(gomega.Equal("1"))
			g.Expect(log.String()).To(gomega.And(gomega.ContainSubstring("level=ERROR"), gomega.ContainSubstring("interrupted (9)")))
		})
	}
}

func TestADrainIsNoErrorInTheLog(t *testing.T) {
	g := gomega.NewWithT(t)
	var log bytes.Buffer
	server := hung{}.serve(t, &log)
	server.Drain()
	for _, a := range []*httptest.ResponseRecorder{
		ask(t, server, http.MethodGet, "/readyz", ""),
		ask(t, server, http.MethodPost, "/v1/jobs", `{"contract": "support-triage", "input": {}}`),
	} {
		g.Expect(a.Code).To(gomega.Equal(http.StatusServiceUnavailable), a.Body.String())
		g.Expect(a.Body.String()).To(gomega.ContainSubstring(`"detail":"this replica takes nothing in any more"`))
		g.Expect(a.Header().Get("Retry-After")).To(gomega.Equal("5"))
	}
	g.Expect(strings.Count(log.String(), `level=INFO msg="request failed" error="`)).To(gomega.Equal(2), log.String())
	g.Expect(log.String()).NotTo(gomega.ContainSubstring("level=ERROR"))

	log.Reset()
	a := ask(t, hung{call: "Ping"}.serve(t, &log), http.MethodGet, "/readyz", "")
	g.Expect(a.Body.String()).To(gomega.ContainSubstring(`"detail":"the database did not answer"`))
	g.Expect(log.String()).To(gomega.ContainSubstring("level=ERROR"), "a database that is away is no drain")
}
