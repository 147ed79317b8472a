package certify_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
	"github.com/fallproof/fallproof/providers/secrets"
	"github.com/fallproof/fallproof/suites/certify"
)

// proxy stands before the simulator's faithful model and spoils one thing.
type proxy struct {
	refuse  func(request map[string]any) (status int, message string) // 0 = let it through
	forward func(body string) string                                  // what reaches the model
	content func(string) string                                       // what the model says
	body    func(map[string]any)                                      // everything else of its answer
	header  http.Header
}

func (p proxy) start(t *testing.T, behind http.Handler) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		request := map[string]any{}
		if err := json.Unmarshal(body, &request); err != nil {
			t.Errorf("the request is no JSON object: %v", err)
		}
		w.Header().Set("Content-Type", "application/json")
		if p.refuse != nil {
			if status, message := p.refuse(request); status != 0 {
				w.WriteHeader(status)
				_ = json.MarshalWrite(w, map[string]any{"error": map[string]any{"message": message}})
				return
			}
		}
		if p.forward != nil {
			body = []byte(p.forward(string(body)))
		}
		inner := r.Clone(r.Context())
		inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		answered := httptest.NewRecorder()
		behind.ServeHTTP(answered, inner)
		for name, values := range p.header {
			w.Header()[name] = values
		}
		w.WriteHeader(answered.Code)
		_, _ = w.Write(p.spoil(t, answered.Body.Bytes()))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func (p proxy) spoil(t *testing.T, body []byte) []byte {
	answer := map[string]any{}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Errorf("the simulator's answer is no JSON object: %v", err)
	}
	if p.content != nil {
		choice := answer["choices"].([]any)[0].(map[string]any)
		message := choice["message"].(map[string]any)
		message["content"] = p.content(message["content"].(string))
	}
	if p.body != nil {
		p.body(answer)
	}
	spoiled, err := json.Marshal(answer)
	if err != nil {
		t.Error(err)
	}
	return spoiled
}

// through is the pair with the proxy in between.
func (w *world) through(t *testing.T, pair certify.Pair, p proxy) certify.Pair {
	return at(t, pair, p.start(t, w.simulator.Simulator), "")
}

// at moves a pair to another address.
func at(t *testing.T, pair certify.Pair, baseURL, key string) certify.Pair {
	client := openai.New(openai.Config{BaseURL: baseURL, APIKey: key})
	t.Cleanup(client.Close)
	pair.Client, pair.Profile.BaseURL, pair.Scrub = client, baseURL, secrets.NewScrubber(key)
	return pair
}

func swap(pattern, by string) func(string) string {
	compiled := regexp.MustCompile(pattern)
	return func(content string) string { return compiled.ReplaceAllString(content, by) }
}

// What providers have done to answers, one kind a row: each is seen, named, and counted in its own
// dimension, and what is merely another spelling is not held against anybody.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	const structure, business, roundTrip, prompt = certification.DimensionStructure, certification.DimensionBusiness,
		certification.DimensionRoundTrip, certification.DimensionPrompt
	for _, row := range []struct {
		name      string
		contract  string
		proxy     proxy
		dimension string // that fails; "" = certified
		reason    string
		detail    string
	}{
		{
			name:      "a note after the JSON",
			proxy:     proxy{content: func(c string) string { return c + "\nNote: amounts are in the invoice's currency." }},
			dimension: structure, reason: "trailing_bytes",
		},
		{
			name:      "reasoning before the JSON, for one input only",
			proxy:     proxy{content: func(c string) string { return swap(`^(.*NG-20418)`, "<think>a {tricky} one</think>$1")(c) }},
			dimension: structure, reason: "text_around",
		},
		{
			name:      "a raw newline inside a string",
			proxy:     proxy{content: swap(`"description":"`, "\"description\":\"\n")},
			dimension: structure, reason: "raw_control",
		},
		{
			name: "NaN", contract: "support-triage",
			proxy:     proxy{content: swap(`"reference":("[^"]*"|null)`, `"reference":NaN`)},
			dimension: structure, reason: "not_finite",
		},
		{
			name:      "a key twice",
			proxy:     proxy{content: swap(`^\{`, `{"currency":"XXX",`)},
			dimension: structure, reason: "duplicate_key",
		},
		{
			name: "an enum value in another case", contract: "support-triage",
			proxy:     proxy{content: swap(`"urgency":"low"`, `"urgency":"Low"`)},
			dimension: structure, reason: "schema_violation", detail: `"Low" differs from "low" only in case`,
		},
		{
			name:  "12.0 for 12",
			proxy: proxy{content: swap(`"quantity":([0-9]+)([,}])`, `"quantity":$1.0$2`)},
		},
		{
			name:      "a number in words",
			proxy:     proxy{content: swap(`"quantity":[0-9.]+`, `"quantity":"one"`)},
			dimension: structure, reason: "schema_violation", detail: "/lines/0/quantity",
		},
		{
			name:      "the system role dropped on the way",
			proxy:     proxy{forward: swap(`"role":"system"`, `"role":"assistant"`)},
			dimension: prompt, reason: "system_prompt_ignored",
		},
		{
			name: "the system role refused",
			proxy: proxy{refuse: func(request map[string]any) (int, string) {
				return http.StatusBadRequest, "role system is not supported"
			}},
			dimension: roundTrip, reason: "profile_error", detail: "role system is not supported",
		},
		{
			name: "another max-tokens field wanted",
			proxy: proxy{refuse: func(request map[string]any) (int, string) {
				if _, ok := request["max_completion_tokens"]; ok {
					return http.StatusUnprocessableEntity, "unknown field max_completion_tokens, use max_tokens"
				}
				return 0, ""
			}},
			dimension: roundTrip, reason: "profile_error", detail: "status 422: unknown field max_completion_tokens",
		},
		{
			name: "refused now and then, which is no profile error",
			proxy: proxy{refuse: func(request map[string]any) (int, string) {
				if text, _ := json.Marshal(request); strings.Contains(string(text), "NG-20418") {
					return http.StatusBadRequest, "no"
				}
				return 0, ""
			}},
			dimension: roundTrip, reason: "rejected",
		},
		{
			name:      "three times the tokens of the local count",
			proxy:     proxy{body: func(answer map[string]any) { tripleUsage(answer) }},
			dimension: prompt, reason: "token_count_differs", detail: "o200k_base counts",
		},
		{
			name:      "served out of a cache",
			proxy:     proxy{header: http.Header{"X-Cache": {"HIT from edge"}}},
			dimension: roundTrip, reason: "not_fresh", detail: "HIT from edge",
		},
		{
			name:  "a cache that was asked and had nothing",
			proxy: proxy{header: http.Header{"X-Cache": {"MISS"}, "Age": {"0"}}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g, w := NewWithT(t), w.in(t)
			if row.contract == "" {
				row.contract = "invoice-extraction"
			}
			record, _ := w.certify(w.through(t, w.pair(row.contract, "faithful"), row.proxy), w.options())
			if row.dimension == "" {
				g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
				return
			}
			g.Expect(record.Verdict).To(Equal(certification.Rejected), "%+v", record.Dimensions)
			d := dimension(record, row.dimension)
			g.Expect(d.Status).To(Equal(certification.StatusFailed))
			g.Expect(d.Findings).NotTo(BeEmpty())
			g.Expect(d.Findings[0].Reason).To(Equal(row.reason), "%+v", d.Findings)
			g.Expect(d.Findings[0].Detail).To(ContainSubstring(row.detail))
		})
	}
}

func tripleUsage(answer map[string]any) {
	usage := answer["usage"].(map[string]any)
	usage["prompt_tokens"] = usage["prompt_tokens"].(float64) * 3
}

// A target that refuses temperature is certified with a profile that omits it, and the record says so;
// with one that sends it, zero is no less refused than any other value.
func TestTemperatureRefused(t *testing.T) {
	refuses := proxy{refuse: func(request map[string]any) (int, string) {
		if _, ok := request["temperature"]; ok {
			return http.StatusBadRequest, "temperature is not supported with this model"
		}
		return 0, ""
	}}
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.through(t, w.pair("invoice-extraction", "faithful"), refuses)

	record, _ := w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Rejected))
	g.Expect(reasonsOf(dimension(record, certification.DimensionRoundTrip))).To(ContainElement("profile_error"))
	g.Expect(record.Parameters.Temperature).To(HaveValue(BeZero()), "zero was really sent")

	pair.Profile.Temperature = providers.TemperatureOmit
	record, _ = w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
	g.Expect(record.Parameters.Temperature).To(BeNil())
	g.Expect(record.Parameters.Unavailable).To(Equal([]string{"temperature"}))
}

// Siblings at one provider are certified apart: one takes the developer role, the other does not.
func TestRolesPerModel(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.simulator.SetPersonality("faithful-b", faithful)
	choosy := proxy{refuse: func(request map[string]any) (int, string) {
		first := request["messages"].([]any)[0].(map[string]any)
		if request["model"] == "faithful-b" && first["role"] == "developer" {
			return http.StatusBadRequest, "unknown role developer"
		}
		return 0, ""
	}}
	for model, verdict := range map[string]certification.Verdict{
		"faithful": certification.Certified, "faithful-b": certification.Rejected,
	} {
		pair := w.through(t, w.pair("support-triage", model), choosy)
		pair.Profile.SystemRole = providers.RoleDeveloper
		record, _ := w.certify(pair, w.options())
		g.Expect(record.Verdict).To(Equal(verdict), model)
		g.Expect(record.Parameters.SystemRole).To(Equal("developer"))
	}
}

// A model of which a mixture showed too little is another one than was certified.
func TestAMixtureProvesWhatAnswersMostAlone(t *testing.T) {
	for _, row := range []struct {
		every  int
		proven []string
	}{{5, []string{"faithful"}}, {2, []string{"faithful"}}} {
		g, w := NewWithT(t), newWorld(t)
		var calls atomic.Int64
		relay := proxy{body: func(answer map[string]any) {
			if n := calls.Add(1); n > 3 && n%int64(row.every) == 0 {
				answer["model"] = "other"
			}
		}}
		pair := at(t, w.pair("support-triage", "faithful"), relay.start(t, w.simulator.Simulator), "")
		options := w.options()
		options.Complete = true
		record, _ := w.certify(pair, options)
		g.Expect(record.Verdict).To(Equal(certification.Certified))
		g.Expect(record.ServedModels).To(Equal(row.proven))
		g.Expect(record.Warnings).To(ContainElement(And(HaveField("Reason", "several_models"),
			HaveField("Detail", ContainSubstring(`counts as another model than certified: "other"`)))))
	}
}
