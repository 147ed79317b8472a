package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

func TestTheCatalogueIsReadable(t *testing.T) {
	s := newService(t)
	type summary struct {
		Name   string `json:"name"`
		Digest string `json:"contract_digest"`
		Cases  int    `json:"cases"`
	}
	list := decode[struct {
		Items []summary `json:"items"`
	}](s, s.send(s.operator, http.MethodGet, "/v1/contracts", ""))
	triage, _ := s.config.Catalog.Get("support-triage")
	s.Expect(list.Items).To(gomega.ConsistOf(
		gomega.HaveField("Name", "invoice-extraction"), gomega.HaveField("Name", "meeting-actions"),
		summary{"support-triage", triage.Digest(), len(triage.Cases)}))

	one := s.send(s.client, http.MethodGet, "/v1/contracts/support-triage", "")
	s.Expect(one.Body["route"]).To(gomega.Equal(map[string]any{
		"primary": "patient/faithful", "fallbacks": []any{"spare/faithful"}, "max_attempts": value.Number("3"),
		"on_refusal": "final", "require_certified_primary": false,
	}))
	s.Expect(one.Body["schema"]).To(gomega.HaveKey("properties"))
	unrouted := s.send(s.client, http.MethodGet, "/v1/contracts/invoice-extraction", "")
	s.Expect(unrouted.Body["route"]).To(gomega.BeNil())

	s.refused(http.StatusNotFound, "not-found", s.client, http.MethodGet, "/v1/contracts/nothing", "")
	s.refused(http.StatusNotFound, "not-found", s.client, http.MethodGet, "/v1/contracts/nothing/targets", "")
	s.refused(http.StatusUnauthorized, "unauthorized", "", http.MethodGet, "/v1/contracts", "")
}

// target is one entry of a contract's targets.
type target struct {
	Target   string   `json:"target"`
	Role     string   `json:"role"`
	Eligible bool     `json:"eligible"`
	Reasons  []string `json:"reasons"`
	Record   *string  `json:"certification_id"`
}

func (s *service) targets() []target {
	s.t.Helper()
	return decode[struct {
		Items []target `json:"items"`
	}](s, s.send(s.client, http.MethodGet, "/v1/contracts/support-triage/targets", "")).Items
}

func TestEveryTargetSaysWhyNotAndARevocationCounts(t *testing.T) {
	s := newService(t)
	spare := providers.Target{Provider: "spare", Model: "faithful"}
	id := s.certify(spare)
	s.Expect(s.targets()).To(gomega.ConsistOf(
		target{"patient/faithful", "primary", false, []string{"no_certification"}, nil},
		target{"spare/faithful", "fallback", true, []string{}, &id},
		target{"patient/hold", "other", false, []string{"no_certification", "not_in_route"}, nil},
		target{"hasty/hold", "other", false, []string{"no_certification", "not_in_route"}, nil},
	))

	revoke := "/v1/certifications/" + id + "/revoke"
	forbidden := s.refused(http.StatusForbidden, "forbidden", s.client, http.MethodPost, revoke, `{"reason": "r"}`)
	s.Expect(forbidden.Header.Get("WWW-Authenticate")).To(gomega.Equal(`Bearer realm="fallproof", error="insufficient_scope", scope="operator"`))
	s.refused(http.StatusBadRequest, "malformed-body", s.operator, http.MethodPost, revoke, "")
	s.refused(http.StatusBadRequest, "malformed-body", s.operator, http.MethodPost, revoke, "{}")
	s.refused(http.StatusNotFound, "not-found", s.operator, http.MethodPost, "/v1/certifications/nothing/revoke", `{"reason": "r"}`)
	revoked := s.send(s.operator, http.MethodPost, revoke, `{"reason": "wrong model"}`)
	s.Expect(revoked.Status).To(gomega.Equal(http.StatusOK), revoked.Text)
	s.Expect(revoked.Body["revoked_reason"]).To(gomega.Equal("wrong model"))
	s.Expect(revoked.Body["revoked_by"]).To(gomega.HavePrefix("key:"))
	s.Expect(revoked.Body["revoked_at"]).NotTo(gomega.BeNil())
	s.Expect(s.targets()).To(gomega.ContainElement(target{"spare/faithful", "fallback", false, []string{"revoked"}, &id}))
	s.Expect(s.send(s.client, http.MethodGet, "/v1/certifications/"+id, "").Text).To(gomega.Equal(revoked.Text))
}

// A suspension says why to everybody; which attempts it rests on only their owner sees.
func TestASuspensionSaysWhyAndNamesNobodyElsesJobs(t *testing.T) {
	s := newService(t)
	id := s.certify(providers.Target{Provider: "patient", Model: "faithful"}, "another-model")
	made := s.create("click", "", "Prefer: wait=20")
	s.Expect(made.Body["state"]).To(gomega.Equal("succeeded"), made.Text)
	jobID := made.Body["id"].(string)
	type event struct {
		Type    string `json:"type"`
		Cause   string `json:"cause"`
		Detail  string `json:"detail"`
		Grounds *struct {
			Attempts []struct {
				JobID string `json:"job_id"`
			} `json:"attempts"`
		} `json:"grounds"`
	}
	type item struct {
		Events []event `json:"events"`
	}
	suspension := func(key, path string) event {
		s.t.Helper()
		got := s.send(key, http.MethodGet, path, "")
		s.Expect(got.Status).To(gomega.Equal(http.StatusOK), got.Text)
		page := decode[struct {
			Items  []item  `json:"items"`
			Events []event `json:"events"`
		}](s, got)
		if key == s.stranger {
			s.Expect(got.Text).NotTo(gomega.ContainSubstring(jobID), path)
		}
		events := page.Events
		for _, each := range page.Items {
			events = append(events, each.Events...)
		}
		i := slices.IndexFunc(events, func(e event) bool { return e.Type == "suspended" })
		s.Expect(i).NotTo(gomega.Equal(-1), got.Text)
		return events[i]
	}
	for _, path := range []string{"/v1/certifications", "/v1/certifications/" + id, "/v1/contracts/support-triage/targets"} {
		own := suspension(s.client, path)
		s.Expect(own.Cause).To(gomega.Equal("served_model_changed"))
		s.Expect(own.Detail).To(gomega.Equal(`"faithful" served an answer; certified was "another-model"`))
		s.Expect(own.Grounds.Attempts).To(gomega.HaveExactElements(gomega.HaveField("JobID", jobID)))
		others := suspension(s.stranger, path)
		s.Expect(others.Detail).To(gomega.Equal(own.Detail))
		s.Expect(others.Grounds.Attempts).To(gomega.BeEmpty())
	}
	s.Expect(s.targets()).To(gomega.ContainElement(target{"patient/faithful", "primary", false, []string{"suspended"}, &id}))
}

func TestRecordsAreListed(t *testing.T) {
	s := newService(t)
	id := s.certify(providers.Target{Provider: "spare", Model: "faithful"})
	for query, want := range map[string]int{
		"": 1, "?contract=support-triage&target=spare/faithful": 1, "?target=spare%2Ffaithful": 1,
		"?contract=invoice-extraction": 0, "?target=patient/faithful": 0,
	} {
		items := s.send(s.client, http.MethodGet, "/v1/certifications"+query, "").Body["items"].([]any)
		s.Expect(items).To(gomega.HaveLen(want), query)
		if want == 1 {
			s.Expect(items[0]).To(gomega.HaveKeyWithValue("id", id))
			s.Expect(items[0]).To(gomega.HaveKeyWithValue("verdict", "certified"))
		}
	}
	s.refused(http.StatusBadRequest, "invalid-parameter", s.client, http.MethodGet, "/v1/certifications?target=spare", "")
	s.refused(http.StatusNotFound, "not-found", s.client, http.MethodGet, "/v1/certifications/nothing", "")
}

// Evidence is read by whoever may read the record, byte for byte as its digest says.
func TestEvidenceIsServed(t *testing.T) {
	s := newService(t)
	run, err := s.store.OpenRun(s.ctx, store.Run{ID: "run-1", Name: "night", Contract: "support-triage", ProofDigest: "d", Target: providers.Target{Provider: "spare", Model: "m"}})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	kept, err := evidence.Pack(evidence.Document{CertificationID: "cert-1", Samples: []evidence.Sample{{Case: "one", Content: "שלום <b>"}}})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	_, _, err = s.store.FinishRunWithEvidence(s.ctx, run.ID, certification.Record{
		ID: "cert-1", Contract: run.Contract, ProofDigest: run.ProofDigest, Target: run.Target, Verdict: certification.Rejected, Source: providers.SourceLive,
	}, kept, time.Hour)
	s.Expect(err).NotTo(gomega.HaveOccurred())

	got := s.send(s.client, http.MethodGet, "/v1/certifications/cert-1/evidence", "")
	s.Expect(got.Status).To(gomega.Equal(http.StatusOK), got.Text)
	sum := sha256.Sum256([]byte(got.Text))
	record := s.send(s.client, http.MethodGet, "/v1/certifications/cert-1", "").Body
	s.Expect(record["evidence"]).To(gomega.Equal(map[string]any{
		"digest": hex.EncodeToString(sum[:]), "bytes": value.Number(strconv.Itoa(len(got.Text))), "samples": value.Number("1"),
	}))

	s.refused(http.StatusUnauthorized, "unauthorized", "", http.MethodGet, "/v1/certifications/cert-1/evidence", "")
	s.refused(http.StatusNotFound, "not-found", s.client, http.MethodGet, "/v1/certifications/cert-2/evidence", "")
	without := s.certify(providers.Target{Provider: "spare", Model: "faithful"})
	s.Expect(s.send(s.client, http.MethodGet, "/v1/certifications/"+without, "").Body["evidence"]).To(gomega.BeNil())
	s.refused(http.StatusNotFound, "not-found", s.client, http.MethodGet, "/v1/certifications/"+without+"/evidence", "")
}

// A record that nobody renews is seen to age, without a key: nothing but the routes' names is in it.
func TestMetricsShowTheAgeOfProofs(t *testing.T) {
	s := newService(t)
	page := func() string {
		request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url+"/metrics", nil)
		s.Expect(err).NotTo(gomega.HaveOccurred())
		response, err := s.http.Do(request)
		s.Expect(err).NotTo(gomega.HaveOccurred())
		text, err := io.ReadAll(response.Body)
		s.Expect(errors.Join(err, response.Body.Close())).To(gomega.Succeed())
		s.Expect(response.StatusCode).To(gomega.Equal(http.StatusOK))
		return string(text)
	}
	const of = `{contract="support-triage",target="spare/faithful"} `
	s.Expect(page()).To(gomega.ContainSubstring("fallproof_certification_certified" + of + "0"))
	s.Expect(page()).NotTo(gomega.ContainSubstring("fallproof_certification_age_seconds{"))

	id := s.certify(providers.Target{Provider: "spare", Model: "faithful"})
	s.Expect(page()).To(gomega.And(
		gomega.ContainSubstring("fallproof_certification_certified"+of+"1"),
		gomega.ContainSubstring("fallproof_certification_age_seconds"+of),
		gomega.ContainSubstring("fallproof_certification_expires_in_seconds"+of),
	))
	s.send(s.operator, http.MethodPost, "/v1/certifications/"+id+"/revoke", `{"reason": "a mistake"}`)
	s.Expect(page()).To(gomega.ContainSubstring("fallproof_certification_certified" + of + "0"))
}
