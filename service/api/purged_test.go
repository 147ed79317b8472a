package api_test

import (
	"net/http"
	"testing"

	"github.com/onsi/gomega"
)

func TestAPurgedJobIsGone(t *testing.T) {
	s := newService(t)
	made := s.send(s.client, http.MethodPost, "/v1/jobs", `{"contract": "support-triage", "input": `+input+`}`, "Idempotency-Key: click", "Prefer: wait=20")
	s.Expect(made.Body["state"]).To(gomega.Equal("succeeded"), made.Text)
	path := made.Header.Get("Location")
	s.Expect(s.store.Purge(s.ctx, 0, 10)).To(gomega.Equal(1))

	const body = `{"contract": "support-triage", "input": ` + input + `}`
	for _, request := range []struct{ key, method, path, body string }{
		{s.client, http.MethodPost, "/v1/jobs", body},
		{s.client, http.MethodGet, path, ""},
		{s.client, http.MethodGet, path + "/attempts", ""},
		{s.client, http.MethodGet, path + "/attempts/1", ""},
		{s.client, http.MethodGet, path + "/events", ""},
		{s.client, http.MethodPost, path + "/cancel", ""},
		{s.client, http.MethodPost, path + "/attempts", ""},
		{s.operator, http.MethodPost, path + "/attempts/1/resolve", `{"outcome": "failed", "note": "n"}`},
		{s.operator, http.MethodPost, path + "/attempts/1/resolve", `{"outcome": "succeeded", "result": {}, "note": "n"}`},
		{s.operator, http.MethodPost, path + "/attempts/1/release", ""},
		{s.operator, http.MethodPost, path + "/attempts/1/cancel", ""},
	} {
		var headers []string
		if request.method == http.MethodPost {
			headers = append(headers, "Idempotency-Key: click")
		}
		s.refused(http.StatusGone, "job-purged", request.key, request.method, request.path, request.body, headers...)
		if request.path != "/v1/jobs" {
			s.refused(http.StatusNotFound, "not-found", s.stranger, request.method, request.path, request.body, headers...)
		}
	}
	conflict := s.refused(http.StatusConflict, "idempotency-key-conflict", s.client, http.MethodPost, "/v1/jobs",
		`{"contract": "support-triage", "input": {"message": "hi"}}`, "Idempotency-Key: click")
	s.Expect(conflict.Body).NotTo(gomega.HaveKey("pointers"))
	s.Expect(conflict.Body["detail"]).To(gomega.ContainSubstring("purged"))
	s.Expect(s.jobs()).To(gomega.BeEmpty(), "lists leave tombstones out")
	s.Expect(s.sim.Ledger()).To(gomega.HaveLen(1))
}
