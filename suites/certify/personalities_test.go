package certify_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/suites/certify"
)

const (
	passed    = certification.StatusPassed
	failed    = certification.StatusFailed
	notJudged = certification.StatusNotJudged
)

type statuses struct{ prompt, structure, business, roundTrip string }

// expectation is what a model gets: the verdict, each dimension's status, and where and in which word the
// reason stands.
type expectation struct {
	model     string
	timeout   time.Duration
	verdict   certification.Verdict
	statuses  statuses
	dimension string
	reason    string
}

func (x expectation) check(t *testing.T, w *world, pair certify.Pair) {
	t.Helper()
	g := NewWithT(t)
	if x.timeout > 0 {
		pair.Timeout = x.timeout
	}
	record, _ := w.certify(pair, w.options())
	got := statuses{
		dimension(record, certification.DimensionPrompt).Status, dimension(record, certification.DimensionStructure).Status,
		dimension(record, certification.DimensionBusiness).Status, dimension(record, certification.DimensionRoundTrip).Status,
	}
	g.Expect(got).To(Equal(x.statuses), "%+v", record.Dimensions)
	g.Expect(record.Verdict).To(Equal(x.verdict))
	if x.reason != "" {
		g.Expect(reasonsOf(dimension(record, x.dimension))).To(ContainElement(x.reason))
	}
	for _, d := range record.Dimensions {
		if d.Status == failed {
			g.Expect(d.Name).To(Equal(x.dimension), "only its own dimension fails")
		}
	}
}

// Every kind of provider gets its verdict for its own reason: the dimension and the word are asserted,
// and that the other dimensions do not blame it for what they did not see.
func TestPersonalities(t *testing.T) {
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
			model: "fenced", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
			dimension: certification.DimensionStructure, reason: "fenced",
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
			model: "flaky", verdict: certification.Rejected, statuses: statuses{passed, passed, failed, passed},
			dimension: certification.DimensionBusiness, reason: "lines minus discount plus tax is the total",
		},
		{
			model: "error-200", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
			dimension: certification.DimensionRoundTrip, reason: "malformed",
		},
		{
			model: "empty-choices", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
			dimension: certification.DimensionRoundTrip, reason: "malformed",
		},
		{
			model: "redirecting", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
			dimension: certification.DimensionRoundTrip, reason: "redirect",
		},
		{
			model: "unauthorized", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
			dimension: certification.DimensionRoundTrip, reason: "configuration_error",
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
			model: "rate-limited", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
			dimension: certification.DimensionRoundTrip, reason: "rate_limited",
		},
		{
			model: "overloaded", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
			dimension: certification.DimensionRoundTrip, reason: "server_error",
		},
		{
			model: "dropping", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
			dimension: certification.DimensionRoundTrip, reason: "connection_lost",
		},
		{
			model: "half-body", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
			dimension: certification.DimensionRoundTrip, reason: "connection_lost",
		},
	} {
		t.Run(row.model, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			row.check(t, w, w.pair("invoice-extraction", row.model))
		})
	}
}
