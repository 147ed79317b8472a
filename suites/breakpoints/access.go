package breakpoints

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func (s *scene) access() {
	DescribeTable("lets nobody in without a key in use", func(ctx context.Context, headers ...header) {
		for _, path := range []string{"/v1/jobs", "/v1/contracts", "/v1/certifications", "/v1/jobs/none"} {
			got, err := client{base: s.URL}.call(ctx, http.MethodGet, path, nil, headers...)
			Expect(err).NotTo(HaveOccurred())
			s.turnedAway(got)
		}
		key := newKey()
		got, err := client{base: s.URL}.call(ctx, http.MethodPost, "/v1/jobs", []byte(s.body("")), append(headers, header{"Idempotency-Key", key})...)
		Expect(err).NotTo(HaveOccurred())
		s.turnedAway(got)
		s.becomes(ctx, s.created(s.click(ctx, key, s.body(""))).ID, "succeeded")
	},
		Entry("no key"),
		Entry("an unknown key", header{"Authorization", "Bearer fp_0000000000000000000000000000000000000000000000000000000000000000"}),
		Entry("another scheme", header{"Authorization", "Basic Zm9vOmJhcg=="}),
		Entry("an empty one", header{"Authorization", "Bearer "}),
	)

	It("needs no key to be asked for health, readiness and the meaning of a problem", func(ctx context.Context) {
		for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/problems/attempt-in-doubt"} {
			got, err := client{base: s.URL}.call(ctx, http.MethodGet, path, nil)
			Expect(err).NotTo(HaveOccurred())
			Expect(got.Status).To(Equal(http.StatusOK), "%s", path)
		}
	})

	It("finds no job that is not there", func(ctx context.Context) {
		s.nothingAt(ctx, s.api(), "00000000-0000-7000-8000-000000000000")
	})
}

// turnedAway checks the answer to whoever has no key.
func (s *scene) turnedAway(got answer) {
	GinkgoHelper()
	refused(got, http.StatusUnauthorized, "unauthorized")
	Expect(got.Header.Get("WWW-Authenticate")).To(HavePrefix("Bearer"))
}

// nothingAt tries everything that can be done with a job as somebody for whom it does not exist.
func (s *scene) nothingAt(ctx context.Context, as client, id string) {
	GinkgoHelper()
	at := "/v1/jobs/" + id
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, at, ""},
		{http.MethodGet, at + "/attempts", ""},
		{http.MethodGet, at + "/attempts/1", ""},
		{http.MethodGet, at + "/events", ""},
		{http.MethodPost, at + "/attempts", ""},
		{http.MethodPost, at + "/attempts", `{"target": ` + quote(s.Fallback) + `}`},
		{http.MethodPost, at + "/cancel", ""},
		{http.MethodPost, at + "/attempts/1/resolve", `{"outcome": "failed", "note": "n"}`},
		{http.MethodPost, at + "/attempts/1/resolve", `{"outcome": "succeeded", "note": "n", "result": {}}`},
		{http.MethodPost, at + "/attempts/1/release", ""},
		{http.MethodPost, at + "/attempts/1/cancel", ""},
	} {
		got, err := as.call(ctx, request.method, request.path, []byte(request.body), header{"Idempotency-Key", newKey()})
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Status).To(Equal(http.StatusNotFound), "%s %s: %s", request.method, request.path, got)
		refused(got, http.StatusNotFound, "not-found")
	}
}
