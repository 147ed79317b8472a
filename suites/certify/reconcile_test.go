package certify_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/suites/certify"
)

// asResponses is the pair at a provider of which background responses are asked.
func asResponses(pair certify.Pair) certify.Pair {
	pair.Profile.Reconcile = providers.ReconcileResponses
	return pair
}

// A model gets the same verdict for the same reason whether it answers in a chat completion or in a
// background response.
func TestPersonalitiesOfResponses(t *testing.T) {
	w := newWorld(t)
	for _, row := range []expectation{
		{model: "faithful", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}},
		{model: "slow:30ms", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}},
		{
			model: "extra-key", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
			dimension: certification.DimensionStructure, reason: "unknown_key",
		},
		{
			model: "deaf", verdict: certification.Rejected, statuses: statuses{failed, passed, passed, passed},
			dimension: certification.DimensionPrompt, reason: "system_prompt_ignored",
		},
		{
			model: "plausible", verdict: certification.Rejected, statuses: statuses{passed, passed, failed, passed},
			dimension: certification.DimensionBusiness, reason: "lines minus discount plus tax is the total",
		},
		{
			model: "chatty", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
			dimension: certification.DimensionStructure, reason: "text_around",
		},
		{
			model: "truncating", verdict: certification.Rejected, statuses: statuses{notJudged, failed, notJudged, passed},
			dimension: certification.DimensionStructure, reason: "truncated",
		},
		{
			model: "truncating:parses", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
			dimension: certification.DimensionStructure, reason: "truncated",
		},
		{
			model: "refusing", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
			dimension: certification.DimensionRoundTrip, reason: "refused",
		},
		{
			model: "refusing:filter", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
			dimension: certification.DimensionRoundTrip, reason: "refused",
		},
		{
			model: "empty-choices", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
			dimension: certification.DimensionRoundTrip, reason: "malformed",
		},
		{
			model: "no such model", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
			dimension: certification.DimensionRoundTrip, reason: "profile_error",
		},
		{
			model: "silent", timeout: 50 * time.Millisecond, verdict: certification.Inconclusive,
			statuses:  statuses{notJudged, notJudged, notJudged, notJudged},
			dimension: certification.DimensionRoundTrip, reason: "timeout",
		},
		{
			model: "dropping", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
			dimension: certification.DimensionRoundTrip, reason: "connection_lost",
		},
	} {
		t.Run(row.model, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			row.check(t, w, asResponses(w.pair("invoice-extraction", row.model)))
		})
	}
}

// However a provider declares that an attempt can be found again, or sent again, a faithful model of it is
// certified, and every call, the canary too, is known to the provider by an id of its own.
func TestFindableIsCertified(t *testing.T) {
	const header = "X-Once"
	for _, row := range []struct {
		name    string
		declare func(*providers.Profile)
		path    string
		stored  bool
		limit   string
	}{
		{
			"responses", func(p *providers.Profile) { p.Reconcile = providers.ReconcileResponses },
			"/v1/responses", true, "max_output_tokens",
		},
		{
			"stored completions", func(p *providers.Profile) { p.Reconcile = providers.ReconcileStoredCompletions },
			"/v1/chat/completions", true, "max_completion_tokens",
		},
		{
			"idempotent", func(p *providers.Profile) { p.IdempotencyHeader = header },
			"/v1/chat/completions", false, "max_completion_tokens",
		},
		{
			"responses, idempotent, merged, other names", func(p *providers.Profile) {
				p.Reconcile, p.IdempotencyHeader = providers.ReconcileResponses, header
				p.SystemRole, p.MaxTokensField = providers.RoleMerge, providers.MaxTokens
				p.Temperature, p.StructuredOutput = providers.TemperatureOmit, providers.StructuredJSONObject
			},
			"/v1/responses", true, "max_output_tokens",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			w.simulator.SetIdempotency("faithful", simulator.Idempotency{Header: header})
			pair := w.pair("support-triage", "faithful")
			row.declare(&pair.Profile)
			record, evidence := w.certify(pair, w.options())
			g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
			g.Expect(dimension(record, certification.DimensionPrompt).Findings).To(BeEmpty())
			g.Expect(record.Parameters.MaxTokensField).To(Equal(row.limit))
			g.Expect(record.Parameters.MaxTokens).To(Equal(pair.Contract.Sampling.MaxOutputTokens))
			g.Expect(record.Parameters.ResponseFormat).To(Equal(pair.Profile.StructuredOutput))
			g.Expect(record.Parameters.SystemRole).To(Equal(pair.Profile.SystemRole))

			logged := map[string]simulator.Entry{}
			for _, entry := range w.simulator.Ledger() {
				g.Expect(entry.Path).To(Equal(row.path))
				g.Expect(entry.ReplayOf).To(BeZero())
				logged[entry.AttemptID] = entry
			}
			want := calls
			if pair.Profile.StructuredOutput != providers.StructuredJSONSchema {
				want -= 2 // there is no schema that an order could break
			}
			g.Expect(logged).To(HaveLen(want), "an id is used once")
			for _, sample := range append(w.samples(evidence), *evidence.Canary) {
				entry := logged[sample.Seen.AttemptID]
				g.Expect(entry.Request).To(Equal(sample.Seen.Request))
				g.Expect(sample.Seen.Responses).To(Equal(pair.Profile.Reconcile == providers.ReconcileResponses))
				if pair.Profile.IdempotencyHeader != "" {
					g.Expect(entry.IdempotencyKey).To(Equal(sample.Seen.AttemptID))
				}
				g.Expect(storedAs(g, entry)).To(Equal(map[bool]string{true: sample.Seen.AttemptID}[row.stored]))
			}
		})
	}
}

// storedAs is the attempt under which a request had itself stored, "" where it did not.
func storedAs(g *WithT, entry simulator.Entry) string {
	var body struct {
		Store    bool              `json:"store"`
		Metadata map[string]string `json:"metadata"`
	}
	g.Expect(json.Unmarshal([]byte(entry.Request), &body)).To(Succeed())
	g.Expect(body.Store).To(Equal(len(body.Metadata) > 0))
	g.Expect(entry.Produced).NotTo(BeNil())
	g.Expect(entry.Produced.Stored).To(Equal(body.Store))
	return body.Metadata["fallproof_attempt"]
}

// What kind of exchange a sample was outlives the runner that saw it; evidence that does not say is of
// chat completions.
func TestResumeOfResponses(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	options := w.options()
	options.RunName = "tonight"
	pair := asResponses(w.pair("support-triage", "faithful"))

	ctx, cancel := context.WithCancelCause(t.Context())
	cut := pair
	cut.Concurrency, cut.Client = 1, &interrupting{pair.Client, 10, cancel}
	_, err := certify.Collect(ctx, cut, options)
	g.Expect(err).To(MatchError(errInterrupted))

	record, evidence := w.certify(pair, options)
	g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls), "what was kept was not called again")
	kept := w.stored(evidence.Run.ID)
	for _, sample := range kept {
		g.Expect(sample.Evidence).To(ContainSubstring(`"responses":true`))
	}

	_, evidence = w.certify(w.pair("support-triage", "faithful"), options)
	kept = w.stored(evidence.Run.ID)
	g.Expect(kept).To(HaveLen(calls))
	for _, sample := range kept {
		g.Expect(sample.Evidence).NotTo(ContainSubstring(`"responses":`), "as it was stored before there were responses")
	}
}

// What the client left out of a request for a response is found in the bytes too.
func TestClientDropsParametersOfResponses(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct{ name, drop, check, reason string }{
		{"temperature 0", `"temperature":0,`, "temperature", "parameter_not_sent"},
		{"the limit", `"max_output_tokens":1024,`, "max_output_tokens", "parameter_not_sent"},
		{"what it is found by", `"metadata":\{"fallproof_attempt":"[^"]*"\},`, "metadata", "parameter_not_sent"},
		{"the system message", `\{"role":"system","content":"(?:[^"\\]|\\.)*"\},`, "message", "parameter_differs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, w := NewWithT(t), w.in(t)
			pair := asResponses(w.pair("support-triage", "faithful"))
			pair.Client = faulty{pair.Client, regexp.MustCompile(row.drop)}
			record, _ := w.certify(pair, w.options())
			g.Expect(record.Verdict).To(Equal(certification.Rejected))
			d := dimension(record, certification.DimensionPrompt)
			g.Expect(d.Status).To(Equal(certification.StatusFailed))
			g.Expect(d.Findings).To(HaveLen(1), "%+v", d.Findings)
			g.Expect(d.Findings[0].Reason).To(Equal(row.reason))
			g.Expect(d.Findings[0].Detail).To(ContainSubstring(row.check))
		})
	}
}
