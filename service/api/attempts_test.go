package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
)

const triage = `{"category":"billing","urgency":"normal","language":"en","legal_threat":false,"safety_hazard":false,"reference":"SO-48213"}`

// release lets every held answer go and says how many there were.
func (s *service) release() int { return s.sim.Release(simulator.Filter{}) }

func (s *service) attempt(path, body, key string, headers ...string) answer {
	s.t.Helper()
	return s.send(s.client, http.MethodPost, path+"/attempts", body, append(headers, "Idempotency-Key: "+key)...)
}

func TestAnAttemptUnderWayBlocksAnother(t *testing.T) {
	s := newService(t)
	path := s.create("click", "patient/hold").Header.Get("Location")
	blocked := s.refused(http.StatusConflict, "attempt-in-flight", s.client, http.MethodPost, path+"/attempts", "", "Idempotency-Key: again")
	s.Expect(blocked.Body["blocking"]).To(gomega.HaveKeyWithValue("number", value.Number("1")))
	s.Expect(blocked.Body["blocking"]).To(gomega.HaveKeyWithValue("state", "running"))
	attempts := s.send(s.client, http.MethodGet, path+"/attempts", "").Body
	s.Expect(attempts["items"]).To(gomega.HaveLen(1))
	s.Expect(attempts).To(gomega.HaveKeyWithValue("next_cursor", gomega.BeNil()))
}

func TestAnAttemptInDoubtBlocksUntilItIsResolved(t *testing.T) {
	s := newService(t)
	path := s.doubtful("click")
	blocked := s.refused(http.StatusConflict, "attempt-in-doubt", s.client, http.MethodPost, path+"/attempts", "{}", "Idempotency-Key: again")
	s.Expect(blocked.Body["blocking"]).To(gomega.HaveKeyWithValue("state", "unknown"))
	s.Expect(blocked.Body["blocking"]).To(gomega.HaveKeyWithValue("reason", "timeout"))

	resolve := path + "/attempts/1/resolve"
	s.refused(http.StatusForbidden, "forbidden", s.client, http.MethodPost, resolve, `{"outcome": "failed", "note": "n"}`)
	for body, pointer := range map[string]string{
		`{"note": "n"}`: "/outcome", `{"outcome": "lost", "note": "n"}`: "/outcome", `{"outcome": "failed"}`: "/note",
		`{"outcome": "failed", "note": ""}`: "/note", `{"outcome": "succeeded", "note": "n"}`: "/result",
		`{"outcome": "failed", "note": "n", "result": {}}`: "/result",
	} {
		refused := s.refused(http.StatusBadRequest, "malformed-body", s.operator, http.MethodPost, resolve, body)
		s.Expect(refused.Body["pointer"]).To(gomega.Equal(pointer), body)
	}
	s.refused(http.StatusUnprocessableEntity, "invalid-input", s.operator, http.MethodPost, resolve, `{"outcome": "succeeded", "note": "n", "result": {"category": "none"}}`)
	s.Expect(s.send(s.client, http.MethodGet, path, "").Body["state"]).To(gomega.Equal("unknown"), "nothing changed")

	resolved := s.send(s.operator, http.MethodPost, resolve, `{"outcome": "succeeded", "note": "found in their log", "result": `+triage+`}`)
	s.Expect(resolved.Status).To(gomega.Equal(http.StatusOK), resolved.Text)
	s.Expect(resolved.Body["state"]).To(gomega.Equal("succeeded"))
	job := s.send(s.client, http.MethodGet, path, "")
	s.Expect(job.Text).To(gomega.ContainSubstring(`"result":` + triage))

	s.refused(http.StatusConflict, "job-final", s.client, http.MethodPost, path+"/attempts", "", "Idempotency-Key: again")
	s.refused(http.StatusConflict, "job-final", s.client, http.MethodPost, path+"/cancel", "")
	illegal := s.refused(http.StatusConflict, "illegal-transition", s.operator, http.MethodPost, path+"/attempts/1/release", "")
	s.Expect(illegal.Body["state"]).To(gomega.Equal("succeeded"))
	events := s.send(s.client, http.MethodGet, path+"/events", "").Text
	s.Expect(events).To(gomega.ContainSubstring("found in their log"))
	s.Expect(events).To(gomega.ContainSubstring("job_succeeded"))
}

func TestAReleasedAttemptMakesRoomAndMayStillWin(t *testing.T) {
	s := newService(t)
	path := s.doubtful("click")
	for _, number := range []string{"01", "+1", "1.0"} {
		s.refused(http.StatusNotFound, "not-found", s.operator, http.MethodPost, path+"/attempts/"+number+"/release", "")
	}
	released := s.send(s.operator, http.MethodPost, path+"/attempts/1/release", `{"note": "a second answer does no harm"}`)
	s.Expect(released.Status).To(gomega.Equal(http.StatusOK), released.Text)
	s.Expect(released.Body["state"]).To(gomega.Equal("released"))
	second := s.attempt(path, "", "again", "Prefer: wait=20")
	s.Expect(second.Status).To(gomega.Equal(http.StatusCreated), second.Text)
	s.Expect(second.Body["number"]).To(gomega.Equal(value.Number("2")))
	s.Expect(s.release()).To(gomega.Equal(2), "both are still listened to")
	states := func() (states []any) {
		for _, item := range s.send(s.client, http.MethodGet, path+"/attempts", "").Body["items"].([]any) {
			states = append(states, item.(map[string]any)["state"])
		}
		return states
	}
	s.Eventually(states).WithTimeout(20 * time.Second).Should(gomega.ConsistOf("succeeded", "superseded"))
	s.Expect(s.send(s.client, http.MethodGet, path, "").Body["state"]).To(gomega.Equal("succeeded"))
}

func TestACancelledAttemptIsFenced(t *testing.T) {
	s := newService(t)
	path := s.create("click", "patient/hold").Header.Get("Location")
	s.refused(http.StatusBadRequest, "malformed-body", s.operator, http.MethodPost, path+"/attempts/1/cancel", `{"reason": "x"}`)
	cancelled := s.send(s.operator, http.MethodPost, path+"/attempts/1/cancel", "")
	s.Expect(cancelled.Body["state"]).To(gomega.Equal("cancelled"), cancelled.Text)
	s.refused(http.StatusNotFound, "not-found", s.operator, http.MethodPost, path+"/attempts/9/cancel", "")
}

func TestACancelledJobIsFinal(t *testing.T) {
	s := newService(t)
	path := s.create("click", "patient/hold").Header.Get("Location")
	s.refused(http.StatusBadRequest, "malformed-body", s.client, http.MethodPost, path+"/cancel", `{"note": "x"}`)
	cancelled := s.send(s.client, http.MethodPost, path+"/cancel", "{}")
	s.Expect(cancelled.Status).To(gomega.Equal(http.StatusOK), cancelled.Text)
	s.Expect(cancelled.Body["state"]).To(gomega.Equal("cancelled"))
	s.refused(http.StatusConflict, "job-final", s.client, http.MethodPost, path+"/attempts", "", "Idempotency-Key: k")
}

func TestAFallbackNeedsProof(t *testing.T) {
	s := newService(t)
	path := s.doubtful("click")
	// Resolved as failed, the job goes to the route's primary by itself; hold that attempt's place open.
	s.sim.SetPersonality("faithful", simulator.Personality{Kind: simulator.Unauthorized})
	s.Expect(s.send(s.operator, http.MethodPost, path+"/attempts/1/resolve", `{"outcome": "failed", "note": "n"}`).Status).To(gomega.Equal(http.StatusOK))
	failed := s.send(s.client, http.MethodGet, path, "", "Prefer: wait=20")
	s.Expect(failed.Body["state"]).To(gomega.Equal("failed"), failed.Text)
	s.Expect(failed.Body["error"]).NotTo(gomega.BeNil())

	refused := s.refused(http.StatusConflict, "fallback-not-certified", s.client, http.MethodPost, path+"/attempts", `{"target": "spare/faithful"}`, "Idempotency-Key: k1")
	s.Expect(refused.Body["reasons"]).To(gomega.Equal([]any{"no_certification"}))
	s.Expect(refused.Body["target"]).To(gomega.Equal("spare/faithful"))
	s.refused(http.StatusUnprocessableEntity, "unknown-target", s.client, http.MethodPost, path+"/attempts", `{"target": "spare/nothing"}`, "Idempotency-Key: k1")

	id := s.certify(providers.Target{Provider: "spare", Model: "faithful"})
	s.sim.SetPersonality("faithful", simulator.Personality{Kind: simulator.Faithful})
	made := s.attempt(path, `{"target": "spare/faithful"}`, "k1", "Prefer: wait=20")
	s.Expect(made.Status).To(gomega.Equal(http.StatusCreated), made.Text)
	s.Expect(made.Body["state"]).To(gomega.Equal("succeeded"))
	s.Expect(made.Body["certification_id"]).To(gomega.Equal(id))
	s.Expect(s.send(s.client, http.MethodGet, made.Header.Get("Location"), "").Text).To(gomega.Equal(made.Text))

	again := s.attempt(path, `{"target": "spare/faithful"}`, "k1")
	s.Expect(again.Status).To(gomega.Equal(http.StatusOK), again.Text)
	s.Expect(again.Header.Get("Idempotency-Replayed")).To(gomega.Equal("true"))
	s.Expect(again.Body["id"]).To(gomega.Equal(made.Body["id"]))
	s.refused(http.StatusConflict, "idempotency-key-conflict", s.client, http.MethodPost, path+"/attempts", `{"target": "hasty/hold"}`, "Idempotency-Key: k1")
}
