package api_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/api"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/sqlite"
)

func TestWhoeverHasNoKeyGetsOneAnswer(t *testing.T) {
	s := newService(t)
	revoked := api.NewKey()
	s.Expect(s.store.CreateKey(s.ctx, store.APIKey{ID: "gone", Owner: "acme", Hash: api.HashKey(revoked), Scopes: []string{store.ScopeClient}})).To(gomega.Succeed())
	s.Expect(s.send(revoked, http.MethodGet, "/v1/jobs", "").Status).To(gomega.Equal(http.StatusOK))
	s.Expect(s.store.RevokeKey(s.ctx, "gone")).To(gomega.Succeed())
	for name, key := range map[string]string{"unknown": "fp_unknown", "revoked": revoked, "not one of ours": "\"x\""} {
		a := s.refused(http.StatusUnauthorized, "unauthorized", key, http.MethodGet, "/v1/jobs", "")
		s.Expect(a.Header.Get("WWW-Authenticate")).To(gomega.Equal(`Bearer realm="fallproof", error="invalid_token"`), name)
	}
	for name, header := range map[string]string{"none": "X-Other: 1", "another scheme": "Authorization: Basic eDp5", "no token": "Authorization: Bearer"} {
		a := s.refused(http.StatusUnauthorized, "unauthorized", "", http.MethodGet, "/v1/jobs", "", header)
		s.Expect(a.Header.Get("WWW-Authenticate")).To(gomega.Equal(`Bearer realm="fallproof"`), name)
	}
	s.refused(http.StatusUnauthorized, "unauthorized", s.client, http.MethodGet, "/v1/jobs", "", "Authorization: Bearer "+s.client)
	s.Expect(s.send("", http.MethodGet, "/v1/jobs", "", "Authorization: bearer "+s.client).Status).To(gomega.Equal(http.StatusOK))
}

func TestUnknownAddressesAndMethods(t *testing.T) {
	s := newService(t)
	for _, path := range []string{"/", "/v1", "/v2/jobs", "/v1/jobs/", "/v1/jobs/x/nothing", "/metrics/x"} {
		s.refused(http.StatusNotFound, "not-found", s.client, http.MethodGet, path, "")
	}
	a := s.refused(http.StatusMethodNotAllowed, "method-not-allowed", s.client, http.MethodDelete, "/v1/jobs", "")
	s.Expect(strings.Split(a.Header.Get("Allow"), ", ")).To(gomega.ConsistOf("GET", "POST"))
	s.refused(http.StatusMethodNotAllowed, "method-not-allowed", s.client, http.MethodGet, "/v1/jobs/x/cancel", "")
}

func TestAStoreThatIsAwayAsksToTryAgain(t *testing.T) {
	g := gomega.NewWithT(t)
	gone, err := sqlite.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "gone.db"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(gone.Close()).To(gomega.Succeed())
	server := api.New(api.Options{Store: gone, Config: &config.Config{}})
	get := func(path string) *httptest.ResponseRecorder {
		recorder, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		request.Header.Set("Authorization", "Bearer fp_x")
		server.ServeHTTP(recorder, request)
		return recorder
	}
	for _, path := range []string{"/v1/jobs", "/readyz"} {
		a := get(path)
		g.Expect(a.Code).To(gomega.Equal(http.StatusServiceUnavailable), a.Body.String())
		g.Expect(a.Body.String()).To(gomega.ContainSubstring("/problems/store-unavailable"))
		g.Expect(a.Header().Get("Retry-After")).To(gomega.Equal("1"))
		g.Expect(a.Body.String()).NotTo(gomega.ContainSubstring("sql"), "a driver's words are for the log")
	}
	g.Expect(get("/healthz").Code).To(gomega.Equal(http.StatusOK))
}

func TestProblemsAreExplained(t *testing.T) {
	s := newService(t)
	text := s.send("", http.MethodGet, "/problems/attempt-in-doubt", "")
	s.Expect(text.Status).To(gomega.Equal(http.StatusOK))
	s.Expect(text.Header.Get("Content-Type")).To(gomega.HavePrefix("text/plain"))
	s.Expect(text.Text).To(gomega.ContainSubstring("resolve it; or release or cancel it"))
	page := s.send("", http.MethodGet, "/problems/attempt-in-doubt", "", "Accept: text/html,*/*")
	s.Expect(page.Header.Get("Content-Type")).To(gomega.HavePrefix("text/html"))
	s.Expect(page.Text).To(gomega.ContainSubstring("<h1>An attempt of this job is in doubt</h1>"))
	all := s.send("", http.MethodGet, "/problems/", "", "Accept: text/html")
	s.Expect(strings.Count(all.Text, "<article")).To(gomega.BeNumerically(">", 20))
	s.refused(http.StatusNotFound, "not-found", "", http.MethodGet, "/problems/nothing", "")

	missing := s.refused(http.StatusNotFound, "not-found", s.client, http.MethodGet, "/v1/jobs/nothing", "")
	s.Expect(s.send("", http.MethodGet, missing.Body["type"].(string), "").Status).To(gomega.Equal(http.StatusOK), "a type leads to its explanation")
}
