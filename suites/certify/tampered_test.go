package certify_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
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
	instead func(request map[string]any) (status int, body string)    // the same, to the letter
	without func(request map[string]any) string                       // the member that the answer lacks; "" = it lacks none
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
		if p.instead != nil {
			if status, text := p.instead(request); status != 0 {
				w.Header().Set("Location", "/login") // means something under 3xx alone
				w.WriteHeader(status)
				_, _ = io.WriteString(w, text)
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
		lacking := ""
		if p.without != nil {
			lacking = p.without(request)
		}
		_, _ = w.Write(p.spoil(t, answered.Body.Bytes(), lacking))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func (p proxy) spoil(t *testing.T, body []byte, lacking string) []byte {
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
	delete(answer, lacking)
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
func at(t *testing.T, pair certify.Pair, baseURL, key string, others ...string) certify.Pair {
	scrub := secrets.Scrubber{}.With(append(others, key)...)
	client := openai.New(openai.Config{BaseURL: baseURL, APIKey: key, Secrets: scrub})
	t.Cleanup(client.Close)
	pair.Client, pair.Profile.BaseURL, pair.Scrub = client, baseURL, scrub
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
					return http.StatusBadRequest, "this prompt is too odd"
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

// Counts differ where they are further apart than the share that the profile declares, and than eight tokens.
func TestCountsThatDiffer(t *testing.T) {
	for _, row := range []struct {
		ours, off int // as far off as is tolerated
		tolerance float64
	}{
		{1, 8, 0}, {20, 8, 0}, {80, 8, 0}, {100, 10, 0}, {1000, 100, 0}, {1000, 300, 0.3}, {1000, 8, 0.001}, {20, 20, 1},
	} {
		g, profile := NewWithT(t), providers.Profile{TokenTolerance: row.tolerance}
		for _, sign := range []int{1, -1} {
			g.Expect(certify.Differ(profile, row.ours+sign*row.off, row.ours)).To(BeFalse(), "%+v", row)
			g.Expect(certify.Differ(profile, row.ours+sign*(row.off+1), row.ours)).To(BeTrue(), "%+v", row)
		}
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

// Of a mixture one model is certified at most: the one that was seen to obey the system message, where its own
// answers are enough.
func TestAMixtureProvesOneModel(t *testing.T) {
	const half = `thresholds: {prompt: 1.0, structure: 0.5, business: 0.5, round_trip: 0.5}`
	const low = `thresholds: {prompt: 1.0, structure: 0.3, business: 0.3, round_trip: 0.5}`
	for _, row := range []struct {
		name       string
		every      int64
		other      string // what the other model calls itself
		canary     bool   // it was the other model that answered the canary and the probes
		wrong      bool   // and its answers are
		thresholds string
		proven     string // "" = none, and the run is inconclusive
	}{
		{name: "few answers", every: 5, other: "other", proven: "faithful"},
		{name: "as many", every: 2, other: "other"},
		{name: "enough answers", every: 5, other: "other", thresholds: half, proven: "faithful"},
		{name: "enough answers, and the canary", every: 5, other: "other", canary: true, thresholds: half, proven: "other"},
		{name: "the canary, and too few answers", every: 5, other: "other", canary: true},
		{name: "the canary alone", every: 1000, other: "other", canary: true},
		{name: "the canary, and all else is wrong", every: 5, other: "other", canary: true, wrong: true, thresholds: half},
		{name: "wrong answers", every: 3, other: "other", wrong: true, thresholds: low, proven: "faithful"},
		{name: "every second case", every: 2, other: "other", thresholds: low},
		{name: "without a name", every: 5, proven: "faithful"},
		{name: "without a name, as many", every: 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			var calls atomic.Int64
			relay := proxy{body: func(answer map[string]any) {
				n := calls.Add(1)
				if aside := n <= 3; aside && !row.canary || !aside && n%row.every != 0 {
					return
				}
				answer["model"] = row.other
				if row.other == "" {
					delete(answer, "model")
				}
				if row.wrong && n > 3 {
					message := answer["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)
					message["content"] = "{}"
				}
			}}
			pair := at(t, w.pair("support-triage", "faithful"), relay.start(t, w.simulator.Simulator), "")
			if row.thresholds != "" {
				pair.Contract = w.changed("support-triage", `thresholds: \{[^}]*\}`, row.thresholds)
			}
			pair.Concurrency = 1 // who comes first is the canary or a probe
			options := w.options()
			options.Complete = true
			record, _ := w.certify(pair, options)
			if row.proven == "" {
				g.Expect(record.Verdict).To(Equal(certification.Inconclusive), "%+v", record.Dimensions)
				why, _ := record.WhyInconclusive()
				g.Expect(why.Reason).To(Equal("several_models"))
				return
			}
			g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
			g.Expect(record.ServedModels).To(HaveExactElements(row.proven))
			if row.other == "" {
				g.Expect(record.Warnings).To(ContainElement(And(HaveField("Reason", "served_model_unknown"), HaveField("Count", BeNumerically(">", 4)))))
				return
			}
			g.Expect(record.Warnings).To(ContainElement(And(HaveField("Reason", "several_models"),
				HaveField("Detail", HaveSuffix(fmt.Sprintf("whatever is not %q counts as another model than certified", row.proven))))))
		})
	}
}

// A gateway that answers for the model tells nothing of it, under whatever status and in whatever words.
func TestAGatewayInTroubleRejectsNobody(t *testing.T) {
	for _, row := range []struct {
		name   string
		status int
		body   string
		reason string
	}{
		{"no route, in plain words", 404, "404 page not found\n", "rejected"},
		{"no route, as a page", 404, "<html><head><title>404 Not Found</title></head></html>", "rejected"},
		{"no route, in JSON", 404, `{"message":"no Route matched with those values"}`, "rejected"},
		{"plain words under 200", 200, "upstream connect error or disconnect/reset before headers", "malformed"},
		{"nothing under 200", 200, "", "malformed"},
		{"an error under 200", 200, `{"detail":"Service temporarily unavailable"}`, "malformed"},
		{"no content", 204, "", "malformed"},
		{"a login", 302, "", "redirect"},
		{"busy, as a bad request", 400, `{"error":{"message":"The server is currently overloaded, please retry later"}}`, "rejected"},
		{"an account, as a bad request", 400, `{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}`, "rejected"},
		{"an account that was flagged", 403, `{"error":{"message":"Your account has been flagged for unusual activity"}}`, "unauthorized"},
		{"a proxy's password", 407, "", "rejected"},
		{"a conflict", 409, `{"error":{"message":"another request of this model is under way"}}`, "rejected"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var calls atomic.Int64
			gateway := proxy{instead: func(map[string]any) (int, string) {
				if calls.Add(1) > 20 {
					return row.status, row.body
				}
				return 0, ""
			}}
			x := expectation{
				contract: "support-triage", model: "faithful", verdict: certification.Inconclusive,
				statuses: statuses{"", notJudged, notJudged, notJudged}, dimension: certification.DimensionRoundTrip, reason: row.reason,
			}
			x.check(t, w, at(t, x.pair(w), gateway.start(t, w.simulator.Simulator), ""))
		})
	}
}

// What a cache on the way gives is no evidence, neither for the target nor against it, however fast it comes.
func TestACacheProvesNothing(t *testing.T) {
	for name, cached := range map[string]func() proxy{
		"that says so":   func() proxy { return proxy{header: http.Header{"X-Cache": {"HIT from edge"}}} },
		"between others": func() proxy { return proxy{header: http.Header{"Cache-Status": {"origin; fwd=miss", "edge; hit"}}} },
		"of a gateway":   func() proxy { return proxy{header: http.Header{"Cf-Aig-Cache-Status": {"HIT"}}} },
		"that is silent": func() proxy {
			var first sync.Map
			return proxy{body: func(answer map[string]any) {
				said := fmt.Sprint(answer["choices"])
				id, _ := first.LoadOrStore(said, answer["id"])
				answer["id"] = id
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			record, _ := w.certify(w.through(t, w.pair("support-triage", "faithful"), cached()), w.options())
			g.Expect(record.Verdict).To(Equal(certification.Inconclusive), "%+v", record.Dimensions)
			why, _ := record.WhyInconclusive()
			g.Expect(why.Reason).To(Equal("not_fresh"))
		})
	}
}

// Where no verdict rests on it, a record says at least that enforcement was not seen, and why.
func TestALostProbeIsAWarning(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	down := proxy{instead: func(request map[string]any) (int, string) {
		if request["response_format"] == nil { // the probe without the schema
			return http.StatusInternalServerError, ""
		}
		return 0, ""
	}}
	record, _ := w.certify(w.through(t, w.pair("support-triage", "faithful"), down), w.options())
	g.Expect(record.Verdict).To(Equal(certification.Certified))
	g.Expect(record.Enforcement).To(Equal(certification.NotProbed))
	g.Expect(record.Warnings).To(ContainElement(And(HaveField("Reason", "not_probed"), HaveField("Detail", ContainSubstring("server_error")))))
}

// However many cases there are, the budget is none for a whole case.
func TestACaseThatIsNeverAnsweredIsNotProven(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	pair := w.pair("support-triage", "faithful")
	many := *pair.Contract
	lost := many.Cases[0]
	for i := range 3 {
		for _, each := range pair.Contract.Cases[1:] {
			each.Name = fmt.Sprint(each.Name, " ", i)
			many.Cases = append(many.Cases, each)
		}
	}
	pair.Contract = &many
	down := proxy{instead: func(request map[string]any) (int, string) {
		if strings.Contains(fmt.Sprint(request["messages"]), fmt.Sprint(lost.Input["message"])) {
			return http.StatusInternalServerError, ""
		}
		return 0, ""
	}}
	options := w.options()
	options.Samples, options.Complete = 2, true
	record, _ := w.certify(at(t, pair, down.start(t, w.simulator.Simulator), ""), options)
	g.Expect(record.Verdict).To(Equal(certification.Inconclusive))
	roundTrip := dimension(record, certification.DimensionRoundTrip)
	g.Expect(roundTrip.LowerBound).To(BeNumerically(">", roundTrip.Threshold), "the figure would do")
	g.Expect(roundTrip.Findings).To(ContainElement(And(HaveField("Reason", "case_unanswered"), HaveField("Case", lost.Name))))
	why, _ := record.WhyInconclusive()
	g.Expect(why.Reason).To(Equal("server_error"))
}
