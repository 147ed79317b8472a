package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/value"
)

func TestAnIntentIsOneJob(t *testing.T) {
	s := newService(t)
	first := s.create("click", "", "Prefer: wait=20")
	s.Expect(first.Status).To(gomega.Equal(http.StatusCreated), first.Text)
	s.Expect(first.Header.Get("Location")).To(gomega.Equal("/v1/jobs/" + first.Body["id"].(string)))
	s.Expect(first.Header.Get("Preference-Applied")).To(gomega.Equal("wait=20"))
	s.Expect(first.Header).NotTo(gomega.HaveKey("Idempotency-Replayed"))
	s.Expect(first.Body).To(gomega.HaveKeyWithValue("state", "succeeded"))
	s.Expect(first.Body).To(gomega.HaveKeyWithValue("completed_by", value.Number("1")))
	s.Expect(first.Body["result"]).To(gomega.HaveKeyWithValue("category", "billing"))
	s.Expect(first.Body).To(gomega.HaveKeyWithValue("owner", "acme"))
	s.Expect(first.Body).To(gomega.HaveKeyWithValue("target", "patient/faithful"))
	s.Expect(first.Body).To(gomega.HaveKeyWithValue("metadata", gomega.BeNil()))
	s.Expect(first.Body).To(gomega.HaveKeyWithValue("error", gomega.BeNil()))

	respelt := `{"input":{"message":"you\u0020charged me twice for order #SO-48213?? can you refund one of them please"},"contract":"support-triage"}`
	for name, again := range map[string]answer{
		"the same bytes":     s.create("click", ""),
		"the quoted key":     s.create(`"click"`, ""),
		"another formatting": s.send(s.client, http.MethodPost, "/v1/jobs", respelt, "Idempotency-Key: click"),
		"other metadata": s.send(s.client, http.MethodPost, "/v1/jobs", `{"contract": "support-triage", "input": `+input+`, "metadata": {"n": 1}}`,
			"Idempotency-Key: click"),
	} {
		s.Expect(again.Status).To(gomega.Equal(http.StatusOK), name+": "+again.Text)
		s.Expect(again.Header.Get("Idempotency-Replayed")).To(gomega.Equal("true"), name)
		s.Expect(again.Text).To(gomega.Equal(first.Text), name)
	}
	s.Expect(s.sim.Ledger()).To(gomega.HaveLen(1))
}

func TestAKeyNamesOneIntentOnly(t *testing.T) {
	s := newService(t)
	s.Expect(s.create("click", "").Status).To(gomega.Equal(http.StatusCreated))
	conflict := s.refused(http.StatusConflict, "idempotency-key-conflict", s.client, http.MethodPost, "/v1/jobs",
		`{"contract": "support-triage", "input": {"message": "secret words"}, "target": "spare/faithful"}`, "Idempotency-Key: click")
	s.Expect(conflict.Body["pointers"]).To(gomega.Equal([]any{"/input/message", "/target"}))
	s.Expect(conflict.Text).NotTo(gomega.ContainSubstring("secret words"))
	s.Expect(s.jobs()).To(gomega.HaveLen(1))

	theirs := s.send(s.stranger, http.MethodPost, "/v1/jobs", `{"contract": "support-triage", "input": {"message": "hi"}}`, "Idempotency-Key: click")
	s.Expect(theirs.Status).To(gomega.Equal(http.StatusCreated), "a key belongs to its owner")
}

func (s *service) jobs() []any {
	s.t.Helper()
	return s.send(s.client, http.MethodGet, "/v1/jobs", "").Body["items"].([]any)
}

func TestNumbersStayExact(t *testing.T) {
	s := newService(t)
	body := `{"contract": "support-triage", "input": {"message": "hi", "n": 9007199254740993, "f": 1.10}, "metadata": {"big": 1e400}}`
	made := s.send(s.client, http.MethodPost, "/v1/jobs", body, "Idempotency-Key: exact")
	s.Expect(made.Status).To(gomega.Equal(http.StatusCreated), made.Text)
	read := s.send(s.client, http.MethodGet, made.Header.Get("Location"), "")
	s.Expect(read.Text).To(gomega.ContainSubstring(`"input":{"message":"hi","n":9007199254740993,"f":1.10}`))
	s.Expect(read.Text).To(gomega.ContainSubstring(`"metadata":{"big":1e400}`))
	s.refused(http.StatusConflict, "idempotency-key-conflict", s.client, http.MethodPost, "/v1/jobs",
		strings.Replace(body, "993", "992", 1), "Idempotency-Key: exact")
}

func TestWhatIsRefusedStoresNothing(t *testing.T) {
	s := newService(t)
	const good = `{"contract": "support-triage", "input": {"message": "hi"}}`
	key := "Idempotency-Key: mine"
	post := func(status int, problem, body string, headers ...string) answer {
		t.Helper()
		return s.refused(status, problem, s.client, http.MethodPost, "/v1/jobs", body, headers...)
	}
	post(400, "idempotency-key-missing", good)
	post(400, "idempotency-key-invalid", good, "Idempotency-Key: a b")
	post(400, "idempotency-key-invalid", good, key, key)
	post(400, "malformed-body", `{"contract": "support-triage"`, key)
	s.Expect(post(400, "malformed-body", `{"contract": "support-triage", "input": {"message": "hi", "message": "ho"}}`, key).Body["pointer"]).To(gomega.Equal("/input/message"))
	s.Expect(post(400, "malformed-body", `{"contract": 1, "input": {}}`, key).Body["pointer"]).To(gomega.Equal("/contract"))
	s.Expect(post(400, "malformed-body", `{"contract": "support-triage", "input": []}`, key).Body["pointer"]).To(gomega.Equal("/input"))
	s.Expect(post(400, "malformed-body", `{"contract": "support-triage"}`, key).Body["pointer"]).To(gomega.Equal("/input"))
	s.Expect(post(400, "malformed-body", `{"contract": "support-triage", "input": {}, "target": null}`, key).Body["pointer"]).To(gomega.Equal("/target"))
	s.Expect(post(400, "malformed-body", `{"contract": "support-triage", "input": {}, "metadata": "x"}`, key).Body["pointer"]).To(gomega.Equal("/metadata"))
	s.Expect(post(400, "malformed-body", `{"contract": "support-triage", "input": {}, "priority": 1}`, key).Body["pointer"]).To(gomega.Equal("/priority"))
	post(413, "body-too-large", `{"contract": "support-triage", "input": {"message": "`+strings.Repeat("x", 4096)+`"}}`, key)
	post(415, "unsupported-media-type", good, key, "Content-Encoding: gzip")
	post(422, "unknown-contract", `{"contract": "nothing", "input": {}}`, key)
	post(422, "unknown-target", `{"contract": "support-triage", "input": {"message": "hi"}, "target": "patient/nothing"}`, key)
	post(422, "unknown-target", `{"contract": "support-triage", "input": {"message": "hi"}, "target": "nothing"}`, key)
	post(422, "unknown-target", `{"contract": "invoice-extraction", "input": {"document": "hi"}}`, key)
	post(422, "invalid-input", `{"contract": "support-triage", "input": {"text": "hi"}}`, key)
	s.refused(401, "unauthorized", "", http.MethodPost, "/v1/jobs", good, key)
	s.refused(403, "forbidden", s.operator, http.MethodPost, "/v1/jobs", good, key)

	s.Expect(s.jobs()).To(gomega.BeEmpty())
	s.Expect(s.sim.Ledger()).To(gomega.BeEmpty())
	s.Expect(s.send(s.client, http.MethodPost, "/v1/jobs", good, key).Status).To(gomega.Equal(http.StatusCreated), "the key stayed usable")
}

func TestAJobIsItsOwnersAlone(t *testing.T) {
	s := newService(t)
	path := s.create("click", "").Header.Get("Location")
	for _, verb := range []string{"", "/attempts", "/events", "/attempts/1"} {
		s.Expect(s.send(s.client, http.MethodGet, path+verb, "").Status).To(gomega.Equal(http.StatusOK), verb)
		s.refused(http.StatusNotFound, "not-found", s.stranger, http.MethodGet, path+verb, "")
	}
	s.refused(http.StatusNotFound, "not-found", s.stranger, http.MethodPost, path+"/cancel", "")
	s.refused(http.StatusNotFound, "not-found", s.stranger, http.MethodPost, path+"/attempts", "", "Idempotency-Key: k")
	s.refused(http.StatusNotFound, "not-found", s.stranger, http.MethodPost, path+"/attempts/1/cancel", "")
	for _, id := range []string{"nothing", "%00", "a%20b", strings.Repeat("x", 200), "%2e%2e%2fkeys"} {
		s.refused(http.StatusNotFound, "not-found", s.client, http.MethodGet, "/v1/jobs/"+id, "")
	}
	for _, number := range []string{"0", "-1", "x", "99", "99999999999999"} {
		s.refused(http.StatusNotFound, "not-found", s.client, http.MethodGet, path+"/attempts/"+number, "")
	}
}

func TestListsArePaged(t *testing.T) {
	s := newService(t)
	ids := map[string]bool{}
	for _, key := range []string{"a", "b", "c"} {
		ids[s.create(key, "", "Prefer: wait=20").Body["id"].(string)] = true
	}
	seen := map[string]bool{}
	path := "/v1/jobs?limit=2"
	for range 2 {
		page := s.send(s.client, http.MethodGet, path, "")
		for _, item := range page.Body["items"].([]any) {
			seen[item.(map[string]any)["id"].(string)] = true
		}
		if next, ok := page.Body["next_cursor"].(string); ok {
			path = "/v1/jobs?limit=2&cursor=" + next
		} else {
			path = ""
		}
	}
	s.Expect(path).To(gomega.BeEmpty(), "the second page is the last")
	s.Expect(seen).To(gomega.Equal(ids))
	count := func(query string) int {
		return len(s.send(s.client, http.MethodGet, "/v1/jobs?"+query, "").Body["items"].([]any))
	}
	s.Expect(count("state=succeeded&contract=support-triage")).To(gomega.Equal(3))
	s.Expect(count("state=failed")).To(gomega.Equal(0))
	s.Expect(count("contract=invoice-extraction")).To(gomega.Equal(0))
	for _, query := range []string{"state=done", "limit=0", "limit=201", "limit=x", "limit=1&limit=2", "contarct=x", "cursor=%00", "contract=%ff", "cursor=%zz"} {
		s.refused(http.StatusBadRequest, "invalid-parameter", s.client, http.MethodGet, "/v1/jobs?"+query, "")
	}
	for _, cursor := range []string{"zzz", "", "urn:uuid:0197a4c0-0000-7000-8000-000000000000", "0197A4C0-0000-7000-8000-000000000000"} {
		for _, list := range []string{"/v1/jobs", "/v1/certifications"} {
			refused := s.refused(http.StatusBadRequest, "invalid-parameter", s.client, http.MethodGet, list+"?cursor="+cursor, "")
			s.Expect(refused.Body["parameter"]).To(gomega.Equal("cursor"))
		}
	}
}

func TestWaitingEndsWithTheOutcomeOrTheWait(t *testing.T) {
	s := newService(t)
	made := s.create("click", "patient/hold")
	s.Expect(made.Body["state"]).To(gomega.Equal("running"))
	s.Expect(made.Header).NotTo(gomega.HaveKey("Preference-Applied"))
	path := made.Header.Get("Location")
	brief := s.send(s.client, http.MethodGet, path, "", "Prefer: wait=1")
	s.Expect(brief.Body["state"]).To(gomega.Equal("running"))
	s.Expect(brief.Header.Get("Preference-Applied")).To(gomega.Equal("wait=1"))
	bounded := make(chan answer)
	go func() { bounded <- s.send(s.client, http.MethodGet, path, "", "Prefer: wait=3600") }()
	s.Eventually(func() int { return s.release() }).Should(gomega.Equal(1))
	done := <-bounded
	s.Expect(done.Body["state"]).To(gomega.Equal("succeeded"))
	s.Expect(done.Header.Get("Preference-Applied")).To(gomega.Equal("wait=60"))
}

func TestDrainingEndsTheWaitsAndReadiness(t *testing.T) {
	s := newService(t)
	s.Expect(s.send("", http.MethodGet, "/readyz", "").Status).To(gomega.Equal(http.StatusOK))
	path := s.create("click", "patient/hold").Header.Get("Location")
	waiting := make(chan answer)
	go func() { waiting <- s.send(s.client, http.MethodGet, path, "", "Prefer: wait=60") }()
	s.api.Drain()
	s.Expect((<-waiting).Body["state"]).To(gomega.Equal("running"))
	away := s.refused(http.StatusServiceUnavailable, "shutting-down", "", http.MethodGet, "/readyz", "")
	s.Expect(away.Header.Get("Retry-After")).To(gomega.Equal("5"))
	s.Expect(s.send("", http.MethodGet, "/healthz", "").Status).To(gomega.Equal(http.StatusOK))
}
