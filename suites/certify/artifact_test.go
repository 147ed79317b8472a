package certify_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers/openai"
	"github.com/fallproof/fallproof/suites/certify"
)

// withEvidence is the one record of a run, with the evidence that is kept beside it.
func (w *world) withEvidence(pair certify.Pair, options certify.Options) (certification.Record, evidence.Document, string) {
	w.t.Helper()
	options.Pairs = []certify.Pair{pair}
	result, err := certify.Conclude(w.t.Context(), options)
	if err != nil {
		w.t.Fatal(err)
	}
	record := result.Records[0]
	packed, err := w.store.Evidence(w.t.Context(), record.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	document, err := evidence.Open(packed.Content, *record.Evidence)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := evidence.Text(packed.Content, *record.Evidence)
	if err != nil {
		w.t.Fatal(err)
	}
	return record, document, string(text)
}

func TestEvidenceIsKeptBesideTheRecord(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	record, kept, _ := w.withEvidence(w.pair("invoice-extraction", "plausible"), w.options())
	g.Expect(record.Verdict).To(Equal(certification.Rejected))
	g.Expect(kept.CertificationID).To(Equal(record.ID))
	g.Expect(kept.Samples).To(HaveLen(record.Taken))
	g.Expect(record.Evidence.Samples).To(Equal(record.Taken))
	var calls []string
	for _, c := range kept.Calls {
		calls = append(calls, c.Call)
	}
	g.Expect(calls).To(Equal([]string{"canary", "schema probe", "schema probe without schema"}))
	contract := w.contract("invoice-extraction")
	g.Expect(kept.Cases).To(HaveLen(len(contract.Cases)))
	for i, c := range kept.Cases {
		document, _ := contract.Cases[i].Input["document"].(string)
		g.Expect(c.Messages).To(HaveLen(2))
		g.Expect(c.Messages[1].Content).To(ContainSubstring(strings.TrimSpace(document)), "the prompt as rendered")
		g.Expect(string(c.Expected)).To(Equal(string(value.Encode(contract.Cases[i].Expected))))
	}
	wrong := 0
	for _, s := range kept.Samples {
		g.Expect(s.Exchange.Request).To(ContainSubstring(`"response_format"`))
		g.Expect(s.Exchange.Answer).To(ContainSubstring(`"choices"`))
		g.Expect(s.Exchange.AttemptID).NotTo(BeEmpty())
		g.Expect(s.Content).To(HavePrefix("{"))
		for _, f := range s.Business {
			if f.Reason == "lines minus discount plus tax is the total" {
				g.Expect(f.Pointers).To(Equal([]string{"/total", "/lines", "/discount", "/tax"}), "what the check reads")
				wrong++
			}
		}
	}
	figure := dimension(record, certification.DimensionBusiness)
	g.Expect(wrong).To(Equal(findingOf(figure, "lines minus discount plus tax is the total").Count))
	sum := certification.CaseFigures{}
	for _, c := range record.Cases {
		sum.Structure, sum.Business = sum.Structure+c.Structure, sum.Business+c.Business
	}
	g.Expect(sum.Structure).To(Equal(figure.Samples))
	g.Expect(sum.Business).To(Equal(figure.Successes))
}

func findingOf(d certification.Dimension, reason string) certification.Finding {
	for _, f := range d.Findings {
		if f.Reason == reason {
			return f
		}
	}
	return certification.Finding{}
}

// What is wrong with a structure is told with its place in the answer.
func TestEvidencePointsAtWhatIsWrong(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	_, kept, _ := w.withEvidence(w.pair("support-triage", "shouting"), w.options())
	g.Expect(kept.Samples[0].Structure).To(ContainElement(HaveField("Pointers", Not(BeEmpty()))))
	for _, f := range kept.Samples[0].Structure {
		answer, err := value.Decode([]byte(kept.Samples[0].Content))
		g.Expect(err).NotTo(HaveOccurred())
		for _, pointer := range f.Pointers {
			_, there := value.At(answer, pointer)
			g.Expect(there).To(BeTrue(), pointer)
		}
	}
}

// Keys are planted in the configuration, in an input, in answers and their headers. A provider that echoes
// all of them, and a case that holds one, leave none in evidence or record.
func TestNoSecretIsKept(t *testing.T) {
	const ours, theirs, typed = "0b5e-our-own-key-without-a-form", "sk-proj-0123456789abcdefghij", "hunter2-typed-by-a-customer"
	g, w := NewWithT(t), newWorld(t)
	echo := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		body, _ := io.ReadAll(in.Body)
		answer := fmt.Sprintf(`{"note": "you sent %s with %s to https://me:%s@models.example/v1?key=%s"}`, in.Header.Get("Authorization"), theirs, typed, typed)
		out.Header().Set("Server", in.Header.Get("Authorization")+" "+theirs)
		out.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(out, `{"id": "1", "model": "m", "choices": [{"message": {"role": "assistant", "content": %s}, "finish_reason": "stop"}], "echo": %s}`,
			value.Encode(answer), value.Encode(string(body)))
	}))
	defer echo.Close()
	client := openai.New(openai.Config{BaseURL: echo.URL, APIKey: ours})
	defer client.Close()
	contract := *w.contract("support-triage")
	contract.Cases = slices.Clone(contract.Cases[:1]) // the shipped one is everybody's
	contract.Cases[0].Expected = maps.Clone(contract.Cases[0].Expected)
	contract.Cases[0].Expected["reference"] = nil
	contract.Cases[0].Input = map[string]any{"message": `My header is Authorization: Bearer ` + typed + ` and my key {"api_key": "` + typed + `"}`}
	pair := w.pair("support-triage", "faithful")
	pair.Contract, pair.Client, pair.Profile.BaseURL = &contract, client, echo.URL
	options := w.options()
	options.Complete = true
	record, kept, text := w.withEvidence(pair, options)
	g.Expect(kept.Samples[0].Content).To(ContainSubstring("you sent"))
	g.Expect(kept.Samples[0].Exchange.Header["Server"]).To(ContainSubstring("[redacted]"))
	g.Expect(kept.Cases[0].Messages[1].Content).To(ContainSubstring("My header is Authorization: Bearer [redacted]"))
	for _, where := range []string{text, string(jsonOf(t, record))} {
		for _, secret := range []string{ours, theirs, typed} {
			g.Expect(strings.Count(where, secret)).To(BeZero(), secret)
		}
	}
}
