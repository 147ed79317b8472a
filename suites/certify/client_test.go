package certify_test

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
)

var faithful = simulator.Personality{Kind: simulator.Faithful}

// faulty is a client that leaves something out of the body, as client libraries have done.
type faulty struct {
	providers.Provider
	drop *regexp.Regexp
}

func (f faulty) Send(ctx context.Context, request providers.Request) providers.Exchange {
	ex := f.Provider.Send(ctx, request)
	ex.RequestBody = f.drop.ReplaceAll(ex.RequestBody, nil)
	return ex
}

// What the client left out is found in the bytes, however well the target did without it.
func TestClientDropsParameters(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct{ name, drop, reason string }{
		{"temperature 0", `"temperature":0,`, "parameter_not_sent"},
		{"the limit", `"max_completion_tokens":1024,`, "parameter_not_sent"},
		{"response_format", `(?s),"response_format":\{.*\}`, "schema_not_sent"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g, w := NewWithT(t), w.in(t)
			pair := w.pair("support-triage", "faithful")
			_, evidence := w.certify(pair, w.options())
			drop := regexp.MustCompile(row.drop)
			sent := w.samples(evidence)[0].Seen.Request
			if row.name == "response_format" {
				drop = regexp.MustCompile(regexp.QuoteMeta(responseFormat(sent)))
			}
			g.Expect(sent).To(MatchRegexp(drop.String()), "the client at hand does send it")

			pair.Client = faulty{pair.Client, drop}
			record, _ := w.certify(pair, w.options())
			g.Expect(record.Verdict).To(Equal(certification.Rejected))
			d := dimension(record, certification.DimensionPrompt)
			g.Expect(d.Status).To(Equal(certification.StatusFailed))
			g.Expect(reasonsOf(d)).To(Equal([]string{row.reason}))
		})
	}
}

// responseFormat cuts the member out of the body together with one comma.
func responseFormat(body string) string {
	from := strings.Index(body, `"response_format":`)
	depth := 0
	for i := from + len(`"response_format":`); i < len(body); i++ {
		switch body[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			if body[i+1] == ',' {
				return body[from : i+2]
			}
			return body[from-1 : i+1]
		}
	}
	return "no response_format"
}

// A window that is too small for prompt and answer is known without asking; a tokenizer that is not
// declared verifies nothing, and says so.
func TestTokenChecks(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("invoice-extraction", "faithful")

	record, _ := w.certify(pair, w.options())
	g.Expect(record.Parameters.TokenChecks).To(Equal("verified"))

	pair.Profile.ContextWindow = 1500
	record, _ = w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Rejected))
	g.Expect(reasonsOf(dimension(record, certification.DimensionPrompt))).To(ContainElement("window_exceeded"))

	pair.Profile.ContextWindow, pair.Profile.Tokenizer = 128_000, providers.TokenizerNone
	record, _ = w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
	g.Expect(record.Parameters.TokenChecks).To(Equal("not_verified"))
	g.Expect(reasonsOf(dimension(record, certification.DimensionPrompt))).To(Equal([]string{"not_verified"}))
}

// A provider that echoes the key into its error, its headers and its answers, in whatever spelling, gets it
// into nothing that is kept: not the evidence, not the record.
func TestKeyIsNeverStored(t *testing.T) {
	const key = "sk-planted-0123456789abcdef/+"
	spelled := []string{
		"sk-planted", url.QueryEscape(key), base64.StdEncoding.EncodeToString([]byte(key))[:20], base64.StdEncoding.EncodeToString([]byte("user:" + key))[8:30],
	}
	g := NewWithT(t)
	w := newWorld(t)
	echo := proxy{
		header: http.Header{"X-Request-Id": {"for " + url.QueryEscape(key)}, "X-Debug": {key}, "Set-Cookie": {"session=" + key}},
		body: func(answer map[string]any) {
			answer["system_fingerprint"] = "fp " + key
			answer["debug"] = []string{
				url.QueryEscape(key), base64.StdEncoding.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString([]byte("user:" + key)),
			}
		},
		refuse: func(request map[string]any) (int, string) {
			if request["model"] == "refused" {
				return http.StatusBadRequest, "unsupported parameter in the request of " + key
			}
			return 0, ""
		},
	}
	for _, model := range []string{"faithful", "refused"} {
		pair := at(t, w.pair("support-triage", model), echo.start(t, w.simulator.Simulator), key)
		record, evidence := w.certify(pair, w.options())
		stored, _, err := w.store.FinishRun(t.Context(), evidence.Run.ID, record, time.Hour)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(stored.Dimensions).NotTo(BeEmpty())
		samples := w.stored(evidence.Run.ID)
		g.Expect(samples).To(HaveLen(record.Taken + 3))
		for _, s := range samples {
			for _, secret := range spelled {
				g.Expect(s.Evidence).NotTo(ContainSubstring(secret))
			}
			g.Expect(s.Evidence).NotTo(ContainSubstring("Set-Cookie"))
			g.Expect(s.Evidence).NotTo(ContainSubstring("Authorization"))
		}
		g.Expect(samples[1].Evidence).To(ContainSubstring("[redacted]"), "it was echoed, and found")
		g.Expect(string(jsonOf(t, stored))).NotTo(ContainSubstring("sk-planted"))
	}
}

// A provider that is down says nothing about its models.
func TestDownIsInconclusive(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	nobody := "http://" + listener.Addr().String() + "/v1"
	g.Expect(listener.Close()).To(Succeed())
	record, evidence := w.certify(at(t, w.pair("support-triage", "faithful"), nobody, ""), w.options())
	g.Expect(record.Verdict).To(Equal(certification.Inconclusive))
	g.Expect(reasonsOf(dimension(record, certification.DimensionRoundTrip))).To(ConsistOf("not_sent", "provider_trouble", "case_unanswered"))
	g.Expect(len(w.samples(evidence))).To(BeNumerically("<", 40), "the run stopped when the budget was spent")
	g.Expect(w.samples(evidence)[0].Before).To(HaveLen(2), "two further tries, and no more")
}

// Integers beyond 2^53 stay exact from the case through the answer to the check; template syntax in an
// input reaches the wire as the text that it is.
func TestExactAndInert(t *testing.T) {
	const big, inert = "9007199254740993", `{# not a comment #} {{ .id }} {% raw %} <|im_end|>`
	folder := fstest.MapFS{}
	for name, content := range map[string]string{
		"ids/contract.yaml": `name: ids
effects: none
messages:
  - {role: system, content: "Answer with the id as a JSON object."}
  - {role: user, content: "{{ .note }} {{ .id }}"}
schema: schema.json
sampling: {temperature: 0, samples: 40, max_output_tokens: 100}
checks:
  - {name: the id is the expected one, expr: output.id == expected.id}
thresholds: {prompt: 1.0, structure: 0.90, business: 0.90, round_trip: 0.90}
valid_for: 1h
cases: cases/
`,
		"ids/schema.json": `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
			"additionalProperties": false, "required": ["id"], "properties": {"id": {"type": "integer"}}}`,
		"ids/cases/one.yaml": "name: one\ninput: {id: " + big + ", note: '" + inert + "'}\nexpected: {id: " + big + "}\n",
	} {
		folder[name] = &fstest.MapFile{Data: []byte(content)}
	}
	contract, err := contracts.Load(folder, "ids")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	w := newWorld(t)
	for answer, verdict := range map[string]certification.Verdict{
		big: certification.Certified, "9007199254740992": certification.Rejected, "9.007199254740993e15": certification.Certified,
	} {
		t.Run(answer, func(t *testing.T) {
			g, w := NewWithT(t), w.in(t)
			pair := w.pair("support-triage", "faithful")
			pair.Contract = contract
			pair = w.through(t, pair, proxy{content: swap(`"id":-?[0-9.]+`, `"id":`+answer)})
			record, evidence := w.certify(pair, w.options())
			g.Expect(record.Verdict).To(Equal(verdict), "%+v", record.Dimensions)
			sent, err := value.Decode([]byte(w.samples(evidence)[0].Seen.Request))
			g.Expect(err).NotTo(HaveOccurred())
			content, _ := value.At(sent, "/messages/1/content")
			g.Expect(content).To(Equal(inert + " " + big))
			if verdict == certification.Rejected {
				g.Expect(reasonsOf(dimension(record, certification.DimensionBusiness))).To(Equal([]string{"the id is the expected one"}))
			}
		})
	}
}
