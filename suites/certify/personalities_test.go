package certify_test

import (
	"cmp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
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
	contract  string // invoice-extraction where empty
	model     string
	profile   func(*providers.Profile)
	require   string // the contract requires it
	timeout   time.Duration
	verdict   certification.Verdict
	statuses  statuses
	dimension string
	reason    string
	enforces  certification.Enforcement // "" = whatever
	warning   string
}

// pair is the row's contract at its model.
func (x expectation) pair(w *world) certify.Pair {
	pair := w.pair(cmp.Or(x.contract, "invoice-extraction"), x.model)
	if x.profile != nil {
		x.profile(&pair.Profile)
	}
	if x.require != "" {
		demanding := *pair.Contract
		demanding.Require = []string{x.require}
		pair.Contract = &demanding
	}
	pair.Timeout = cmp.Or(x.timeout, pair.Timeout)
	return pair
}

func (x expectation) check(t *testing.T, w *world, pair certify.Pair) certification.Record {
	t.Helper()
	g := NewWithT(t)
	options := w.options()
	options.Complete = true
	pair.Timeout = cmp.Or(x.timeout, pair.Timeout)
	record, _ := w.certify(pair, options)
	got := statuses{
		dimension(record, certification.DimensionPrompt).Status, dimension(record, certification.DimensionStructure).Status,
		dimension(record, certification.DimensionBusiness).Status, dimension(record, certification.DimensionRoundTrip).Status,
	}
	if x.statuses.prompt == "" { // whether the canary is among those that go wrong is chance
		got.prompt = ""
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
	if x.enforces != "" {
		g.Expect(record.Enforcement).To(Equal(x.enforces))
	}
	if x.warning != "" {
		g.Expect(record.Warnings).To(ContainElement(HaveField("Reason", x.warning)))
	}
	return record
}

// checkEarly: a run that may stop early has the same verdict, for the same reason, with no more calls.
func (x expectation) checkEarly(t *testing.T, w *world, pair certify.Pair) {
	t.Helper()
	g := NewWithT(t)
	record, _ := w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(x.verdict))
	if x.reason != "" {
		g.Expect(reasonsOf(dimension(record, x.dimension))).To(ContainElement(x.reason))
	}
	g.Expect(record.Taken).To(BeNumerically("<=", record.Planned))
}

// personalities are every kind of provider, with its verdict for its own reason: the dimension and the word
// are asserted, and that the other dimensions do not blame it for what they did not see.
var personalities = []expectation{
	{model: "faithful", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}},
	{contract: "support-triage", model: "faithful", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}},
	{contract: "meeting-actions", model: "faithful", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}},
	{
		contract: "meeting-actions", model: "plausible", verdict: certification.Rejected, statuses: statuses{passed, passed, failed, passed},
		dimension: certification.DimensionBusiness, reason: "owners and due dates are the expected ones",
	},
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
		dimension: certification.DimensionStructure, reason: "fenced", enforces: certification.Ignored,
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
		model: "error-200", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "malformed",
	},
	{
		model: "empty-choices", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
		dimension: certification.DimensionRoundTrip, reason: "malformed",
	},
	{
		model: "redirecting", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "redirect",
	},
	{
		model: "unauthorized", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "unauthorized",
	},
	{
		model: "unauthorized:400", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "unauthorized",
	},
	{
		model: "unauthorized:402", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "unauthorized",
	},
	{
		model: "unauthorized:403", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "unauthorized",
	},
	{
		model: "refusing:prompt", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
		dimension: certification.DimensionRoundTrip, reason: "refused",
	},
	{
		model: "overloaded:501", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "server_error",
	},
	{
		model: "overloaded:505", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "server_error",
	},
	{
		model: "hesitating", timeout: 50 * time.Millisecond, verdict: certification.Inconclusive,
		statuses:  statuses{"", notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "provider_trouble", warning: "retried_calls",
	},
	{
		model: "hesitating:30", timeout: 2 * time.Second, verdict: certification.Certified,
		statuses: statuses{passed, passed, passed, passed}, warning: "retried_calls",
	},
	{model: "anonymous", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}, warning: "served_model_unknown"},
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
	{
		model: "footnote", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "trailing_bytes",
	},
	{
		model: "thinking", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "text_around",
	},
	{
		model: "raw-newline", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "raw_control",
	},
	{
		model: "not-a-number", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "not_finite",
	},
	{
		model: "duplicate-key", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "duplicate_key",
	},
	{
		model: "byte-order-mark", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "byte_order_mark",
	},
	{
		model: "lone-surrogate", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "lone_surrogate",
	},
	{
		model: "looping", verdict: certification.Rejected, statuses: statuses{"", failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "white_space_loop",
	},
	{
		model: "babbling", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "runaway",
	},
	{
		contract: "support-triage",
		model:    "shouting", verdict: certification.Rejected, statuses: statuses{passed, failed, notJudged, passed},
		dimension: certification.DimensionStructure, reason: "schema_violation",
	},
	{
		contract: "support-triage",
		model:    "filling", verdict: certification.Rejected, statuses: statuses{passed, passed, failed, passed},
		dimension: certification.DimensionBusiness, reason: "threat, hazard and reference are the expected ones",
	},
	{model: "escaping", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}},
	{model: "decimal", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}},
	{
		model: "faithful", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed},
		require: "enforcement", enforces: certification.Enforced,
	},
	{
		model: "unenforcing", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed},
		enforces: certification.Ignored, warning: "schema_not_enforced",
	},
	{
		model: "unenforcing", verdict: certification.Rejected, statuses: statuses{passed, failed, passed, passed},
		require: "enforcement", enforces: certification.Ignored, dimension: certification.DimensionStructure, reason: "not_enforced",
	},
	{
		model: "complying", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed},
		enforces: certification.Complied, warning: "schema_not_enforced",
	},
	{
		model: "complying", verdict: certification.Rejected, statuses: statuses{passed, failed, passed, passed},
		require: "enforcement", enforces: certification.Complied, dimension: certification.DimensionStructure, reason: "not_enforced",
	},
	{
		model: "faithful", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed},
		profile: func(p *providers.Profile) { p.StructuredOutput = providers.StructuredNone }, enforces: certification.NotSent,
	},
	{
		model: "faithful", verdict: certification.Rejected, statuses: statuses{passed, failed, passed, passed},
		profile: func(p *providers.Profile) { p.StructuredOutput = providers.StructuredJSONObject },
		require: "enforcement", enforces: certification.NotSent, dimension: certification.DimensionStructure, reason: "not_enforced",
	},
	{
		model: "picky:temperature", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
		dimension: certification.DimensionRoundTrip, reason: "profile_error",
	},
	{
		model: "picky:temperature", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed},
		profile: func(p *providers.Profile) { p.Temperature = providers.TemperatureOmit },
	},
	{
		model: "picky:max_completion_tokens", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
		dimension: certification.DimensionRoundTrip, reason: "profile_error",
	},
	{
		model: "picky:max_completion_tokens", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed},
		profile: func(p *providers.Profile) { p.MaxTokensField = providers.MaxTokens },
	},
	{
		model: "picky:developer", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
		profile:   func(p *providers.Profile) { p.SystemRole = providers.RoleDeveloper },
		dimension: certification.DimensionRoundTrip, reason: "profile_error",
	},
	{model: "picky:developer", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}},
	{
		model: "picky:system", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
		dimension: certification.DimensionRoundTrip, reason: "profile_error",
	},
	{
		model: "picky:system", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed},
		profile: func(p *providers.Profile) { p.SystemRole = providers.RoleMerge },
	},
	{
		model: "picky:response_format", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
		dimension: certification.DimensionRoundTrip, reason: "profile_error",
	},
	{
		model: "picky:response_format", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed},
		profile: func(p *providers.Profile) { p.StructuredOutput = providers.StructuredNone },
	},
	{
		model: "cached", verdict: certification.Inconclusive, statuses: statuses{"", notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "not_fresh",
	},
	{
		model: "counting", verdict: certification.Rejected, statuses: statuses{failed, passed, passed, passed},
		dimension: certification.DimensionPrompt, reason: "token_count_differs",
	},
	{
		model: "counting", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed},
		profile: func(p *providers.Profile) { p.Tokenizer = providers.TokenizerNone },
	},
	{
		model: "choking", timeout: 50 * time.Millisecond, verdict: certification.Inconclusive,
		statuses:  statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "timeout",
	},
	{
		model: "late:30s", timeout: 50 * time.Millisecond, verdict: certification.Inconclusive,
		statuses:  statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "timeout",
	},
	{
		model: "turning:10", verdict: certification.Rejected, statuses: statuses{passed, passed, failed, passed},
		dimension: certification.DimensionBusiness, reason: "lines minus discount plus tax is the total",
	},
	{
		model: "portal", verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		dimension: certification.DimensionRoundTrip, reason: "malformed",
	},
	{
		model: "mute", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
		dimension: certification.DimensionRoundTrip, reason: "malformed",
	},
	{
		model: "renamed", verdict: certification.Certified, statuses: statuses{passed, passed, passed, passed}, warning: "model_alias",
	},
}

func TestPersonalities(t *testing.T) {
	w := newWorld(t)
	for _, row := range personalities {
		t.Run(row.model, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			row.check(t, w, row.pair(w))
		})
	}
}

func TestPersonalitiesStoppedEarly(t *testing.T) {
	w := newWorld(t)
	for _, row := range personalities {
		t.Run(row.model, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			row.checkEarly(t, w, row.pair(w))
		})
	}
}

// Who is wrong every time is not asked again and again.
func TestARejectionIsCheap(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("invoice-extraction", "deaf")
	pair.Concurrency = 1
	record, _ := w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Rejected))
	g.Expect(record.Taken).To(Equal(len(pair.Contract.Cases)), "each case once, of %d", record.Planned)
	g.Expect(reasonsOf(dimension(record, certification.DimensionBusiness))).To(ContainElement("stopped_early"))
	g.Expect(w.simulator.Ledger()).To(HaveLen(record.Taken + 3))
}
