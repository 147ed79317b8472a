package certify_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
)

// gateway stands before the simulator. change may rewrite a request before it arrives there, answered an
// answer before it leaves; nil hands through.
func (w *world) gateway(t *testing.T, change func(*http.Request, []byte) []byte, answered func(*http.Request, []byte) []byte) string {
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		inner := r.Clone(r.Context())
		if change != nil {
			body = change(inner, body)
		}
		inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		recorder := httptest.NewRecorder()
		w.simulator.ServeHTTP(recorder, inner)
		text := recorder.Body.Bytes()
		if answered != nil {
			text = answered(r, text)
		}
		for name, values := range recorder.Header() {
			if name != "Content-Length" {
				out.Header()[name] = values
			}
		}
		out.WriteHeader(recorder.Code)
		_, _ = out.Write(text)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// A gateway that takes equal requests for one gives them one key, and so one answer: the provider says
// that it replays it, and it is no live evidence.
func TestReplayIsNotFresh(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	w.simulator.SetIdempotency("faithful", simulator.Idempotency{Header: "Idempotency-Key"})
	url := w.gateway(t, func(r *http.Request, body []byte) []byte {
		sum := sha256.Sum256(body)
		r.Header.Set("Idempotency-Key", hex.EncodeToString(sum[:]))
		return body
	}, nil)
	pair := at(t, w.pair("support-triage", "faithful"), url, "")
	pair.Profile.IdempotencyHeader = "Idempotency-Key"
	options := w.options()
	options.Complete = true
	record, _ := w.certify(pair, options)
	g.Expect(record.Verdict).To(Equal(certification.Inconclusive))
	d := dimension(record, certification.DimensionRoundTrip)
	g.Expect(d.Status).To(Equal(certification.StatusNotJudged))
	g.Expect(d.Successes).To(BeNumerically("<=", 8), "the first of each case at most")
	why, _ := record.WhyInconclusive()
	g.Expect(why.Reason).To(Equal("not_fresh"))
	g.Expect(why.Count).To(BeNumerically(">", 4))
	g.Expect(why.Detail).To(Or(Equal("header Idempotent-Replayed: true"), HavePrefix("an answer with the same id came before")))
}

// An answer that names another call as its own is that call's, whatever the headers say.
func TestAnswerOfAnotherCallIsNotFresh(t *testing.T) {
	for _, reconcile := range []string{providers.ReconcileResponses, providers.ReconcileStoredCompletions} {
		t.Run(reconcile, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			var first sync.Map // by what is asked, the body of the first who asked it
			url := w.gateway(t, func(r *http.Request, body []byte) []byte {
				asked := strings.Replace(string(body), r.Header.Get("X-Fallproof-Attempt"), "", 1)
				asked = strings.Replace(asked, `"background":true`, `"background":false`, 1)
				before, _ := first.LoadOrStore(asked, strings.Replace(string(body), `"background":true`, `"background":false`, 1))
				return []byte(before.(string))
			}, func(r *http.Request, answer []byte) []byte { return withMetadata(t, w, r, answer) })
			pair := at(t, w.pair("support-triage", "faithful"), url, "")
			pair.Profile.Reconcile = reconcile
			record, _ := w.certify(pair, w.options())
			g.Expect(record.Verdict).To(Equal(certification.Inconclusive), "%+v", record.Dimensions)
			d := dimension(record, certification.DimensionRoundTrip)
			g.Expect(d.Status).To(Equal(certification.StatusNotJudged))
			g.Expect(d.Successes).To(BeNumerically("<=", 8), "%+v", d.Findings)
			why, _ := record.WhyInconclusive()
			g.Expect(why.Reason).To(Equal("not_fresh"))
			g.Expect(why.Detail).To(ContainSubstring("belongs to another call"))
		})
	}
}

// withMetadata adds to an answer the metadata of the request that it answers, as providers do.
func withMetadata(t *testing.T, w *world, r *http.Request, answer []byte) []byte {
	entries := w.simulator.Select(simulator.Filter{AttemptID: r.Header.Get("X-Fallproof-Attempt")})
	return edited(t, answer, func(object map[string]any) {
		var request map[string]any
		if err := json.Unmarshal([]byte(entries[len(entries)-1].Request), &request); err != nil {
			t.Error(err)
		}
		object["metadata"] = request["metadata"]
	})
}

// edited is a JSON object after a change.
func edited(t *testing.T, text []byte, change func(map[string]any)) []byte {
	object := map[string]any{}
	if err := json.Unmarshal(text, &object); err != nil {
		t.Errorf("no JSON object: %v", err)
	}
	change(object)
	text, err := json.Marshal(object)
	if err != nil {
		t.Error(err)
	}
	return text
}

// A response's own count of its input is compared with the local one.
func TestUsageOfResponses(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	url := w.gateway(t, nil, func(_ *http.Request, answer []byte) []byte {
		return edited(t, answer, func(response map[string]any) {
			if usage, ok := response["usage"].(map[string]any); ok {
				usage["input_tokens"] = usage["input_tokens"].(float64) * 3
			}
		})
	})
	record, _ := w.certify(asResponses(at(t, w.pair("support-triage", "faithful"), url, "")), w.options())
	g.Expect(record.Verdict).To(Equal(certification.Rejected))
	d := dimension(record, certification.DimensionPrompt)
	g.Expect(d.Status).To(Equal(certification.StatusFailed))
	g.Expect(reasonsOf(d)).To(Equal([]string{"token_count_differs"}))
	g.Expect(d.Findings[0].Count).To(Equal(8), "every case")
}

// A count that makes no sense rejects nobody, and is not passed over in silence.
func TestUsageThatMakesNoSenseIsRemarked(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	url := w.gateway(t, nil, func(_ *http.Request, answer []byte) []byte {
		return edited(t, answer, func(completion map[string]any) {
			if usage, ok := completion["usage"].(map[string]any); ok {
				usage["prompt_tokens"] = -5
			}
		})
	})
	record, _ := w.certify(at(t, w.pair("support-triage", "faithful"), url, ""), w.options())
	g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
	g.Expect(record.Warnings).To(ContainElement(And(
		HaveField("Reason", "implausible_usage"), HaveField("Count", 40),
		HaveField("Detail", "the usage that came with an answer makes no sense: prompt_tokens is -5"),
	)))
	plain, _ := w.certify(w.pair("support-triage", "faithful"), w.options())
	g.Expect(plain.Warnings).NotTo(ContainElement(HaveField("Reason", "implausible_usage")))
}
