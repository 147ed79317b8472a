package certify

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

func summarised(options Options) string {
	var out bytes.Buffer
	options.Out = &out
	passed := certification.Dimension{Name: "structure", Status: certification.StatusPassed, Successes: 40, Samples: 40, LowerBound: 0.928, Threshold: 0.9}
	failed := certification.Dimension{
		Name: "business", Status: certification.StatusFailed, Successes: 32, Samples: 40, LowerBound: 0.668, Threshold: 0.9,
		Findings: []certification.Finding{
			{Reason: "the total", Count: 8, Case: "חשבונית", Sample: 2, Detail: "סה\"כ \x1b[31m\u202e does not hold"},
		},
	}
	prompt := certification.Dimension{
		Name: "prompt", Status: certification.StatusPassed, Successes: 18, Samples: 18, LowerBound: 1, Threshold: 1, Census: true,
		Findings: []certification.Finding{
			{Reason: "roles", Count: 1, Detail: "of no interest"}, {Reason: "not_verified", Count: 8, Case: "a", Detail: "no tokenizer is declared"},
		},
	}
	warnings := []certification.Finding{
		{Reason: "model_alias", Count: 1, Detail: "good is served by m-2, and may be served by another one tomorrow"},
		{Reason: "number_as_text", Count: 3, Case: "חשבונית", Sample: 1, Detail: "\x1b[31m/total"},
	}
	result := Result{RunName: "tonight"}
	for _, one := range []struct {
		contract, model string
		dimensions      []certification.Dimension
		warnings        []certification.Finding
	}{
		{"invoices", "good", []certification.Dimension{prompt, passed}, warnings}, {"triage", "good", []certification.Dimension{passed}, nil},
		{"invoices", "org/bad", []certification.Dimension{passed, failed}, nil},
	} {
		result.add(certification.Record{
			ID: "id-" + one.model, Contract: one.contract, Target: providers.Target{Provider: "p", Model: one.model},
			Dimensions: one.dimensions, Verdict: certification.VerdictOf(one.dimensions), Warnings: one.warnings,
		}, Remark{Finished: FinishedNow})
	}
	if err := writeSummary(options, result); err != nil {
		panic(err)
	}
	return out.String()
}

func TestSummary(t *testing.T) {
	g := NewWithT(t)
	text := summarised(Options{})
	g.Expect(text).To(ContainSubstring("            invoices    triage\n"))
	g.Expect(text).To(ContainSubstring("p/good      certified   certified\n"))
	g.Expect(text).To(ContainSubstring("p/org/bad   rejected    -\n"))
	g.Expect(text).To(ContainSubstring("invoices at p/org/bad: rejected (record id-org/bad)"))
	g.Expect(text).To(ContainSubstring("business    failed     32 of 40, at least 0.668 with 95 % confidence; 0.90 is asked"))
	g.Expect(text).To(ContainSubstring(`the total × 8, first in case חשבונית, sample 2: סה"כ`))
	g.Expect(text).To(HaveSuffix("2 certified, 1 rejected, 0 inconclusive\n"))
}

// Certified, and all the same there is something to know.
func TestSummaryOfWhatIsCertified(t *testing.T) {
	g := NewWithT(t)
	text := summarised(Options{})
	g.Expect(text).To(ContainSubstring("invoices at p/good: certified (record id-good)\n" +
		"  prompt      passed     18 of 18, exactly 1.000; 1.00 is asked; 8 checks not verified: no tokenizer is declared\n" +
		"  structure   passed     40 of 40, at least 0.928 with 95 % confidence; 0.90 is asked\n" +
		"  warning: model_alias: good is served by m-2, and may be served by another one tomorrow\n" +
		"  warning: number_as_text × 3, first in case חשבונית, sample 1:  [31m/total\n" +
		"\ntriage at p/good"))
}

// A figure that would do, and is not judged all the same, says in its own line what is missing.
func TestSummaryOfWhatCouldNotBeSeen(t *testing.T) {
	NewWithT(t).Expect(figure(certification.Dimension{
		Name: "prompt", Status: certification.StatusNotJudged, Successes: 13, Samples: 13, LowerBound: 1, Threshold: 1, Census: true,
		Findings: []certification.Finding{{Reason: "not_verified", Count: 8}, {Reason: "canary_unanswered", Count: 1, Detail: "timeout"}},
	})).To(Equal("prompt      not judged 13 of 13, exactly 1.000; 1.00 is asked; could not be seen: canary unanswered"))
}

// Foreign text moves no cursor and turns no line: on a terminal it is isolated, in a file it stands bare.
func TestSummaryOfForeignText(t *testing.T) {
	g := NewWithT(t)
	for _, terminal := range []bool{false, true} {
		text := summarised(Options{Terminal: terminal})
		g.Expect(text).NotTo(ContainSubstring("\x1b"))
		g.Expect(text).NotTo(ContainSubstring("\u202e"))
		g.Expect(strings.Contains(text, "\u2068חשבונית\u2069")).To(Equal(terminal))
		g.Expect(strings.Count(text, "\u2068")).To(Equal(strings.Count(text, "\u2069")))
	}
}

func TestProgressInLines(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	pair := Pair{Contract: &contracts.Contract{Name: "c"}, Target: providers.Target{Provider: "p", Model: "m"}}
	other := pair
	other.Target.Model = "n"
	p := newProgress(Options{Out: &out, Pairs: []Pair{pair, other}})
	p.start(pair, 41, 10)
	p.sample(pair)
	g.Expect(strings.Count(out.String(), "\n")).To(Equal(1), "no share of a whole that is not known yet")
	p.start(other, 20, 0)
	for range 30 {
		p.sample(pair)
	}
	for range 10 {
		p.sample(other)
	}
	told := out.Len()
	p.waiting(pair, 2, 50*time.Second)
	said := out.String()[told:]
	g.Expect(said).To(Equal("2 samples of c at p/m are claimed by another runner; waiting for it, at most until its claims run out (about 50s)\n"))
	p.waiting(pair, 1, 50*time.Second)
	g.Expect(out.String()[told:]).To(Equal(said), "once for each pair")
	out.Truncate(told)
	p.end(pair)
	p.end(other)
	p.close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	g.Expect(lines[0]).To(Equal("collecting c at p/m: 31 calls of 41, the others are there already"))
	g.Expect(lines[1]).To(Equal("collecting c at p/n: 20 calls"))
	g.Expect(lines[2]).To(HavePrefix("collected 6 of 51 calls (11 %) in "))
	g.Expect(lines).To(HaveLen(2+8), "a line for each tenth, not for each call")
}

func TestProgressBar(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	pair := Pair{Contract: &contracts.Contract{Name: "c"}, Target: providers.Target{Provider: "p", Model: "m"}}
	p := newBar(&out)
	p.start(pair, 41, 1)
	for range 30 {
		p.sample(pair)
	}
	g.Expect(p.bar.State().CurrentNum).To(Equal(int64(30)))
	g.Expect(p.bar.State().Max).To(Equal(int64(40)))
	describing := func() string { // the bar draws only so often
		p.waiting(pair, 10, 50*time.Second)
		return out.String()
	}
	g.Eventually(describing).Should(ContainSubstring("10 samples of c at p/m are claimed by another runner; waiting for it"))
	g.Expect(p.bar.State().Description).To(ContainSubstring("10 samples"))
	p.end(pair)
	g.Expect(p.bar.State().Description).To(Equal("collecting"))
	g.Expect(p.bar.State().Max).To(Equal(int64(30)), "calls that will not be made are no longer waited for")
	p.close()
	g.Expect(out.String()).To(ContainSubstring("collecting"))
}

func TestPause(t *testing.T) {
	retry := Retry{Base: 10 * time.Millisecond, Max: time.Second}
	for _, row := range []struct {
		try         int
		asked, want time.Duration
	}{
		{0, 0, 10 * time.Millisecond},
		{2, 0, 40 * time.Millisecond},
		{0, 300 * time.Millisecond, 300 * time.Millisecond},
		{0, time.Hour, time.Second},
		{60, 0, time.Second},
	} {
		if got := retry.pause(row.try, row.asked); got != row.want {
			t.Errorf("try %d, %s asked: pause %s, want %s", row.try, row.asked, got, row.want)
		}
	}
}

// An answer that was served twice is told by its headers, or by being the same to its id long after.
func TestStale(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	sample := func(id string, after time.Duration, answer string) Sample {
		return Sample{Seen: Seen{AttemptID: id, Answer: answer, Started: noon.Add(after), Finished: noon.Add(after + time.Second)}}
	}
	const one, other = `{"id":"1","created":5}`, `{"id":"2","created":5}`
	const response = `{"id":"resp_1","created_at":5}`
	const mine, theirs, nobodys = `{"metadata":{"fallproof_attempt":"b"}}`, `{"metadata":{"fallproof_attempt":"z"}}`, `{"metadata":null}`
	before := []Sample{sample("a", 0, one), sample("c", 0, response)}
	for _, row := range []struct {
		name   string
		sample Sample
		stale  bool
	}{
		{"another answer", sample("b", time.Minute, other), false},
		{"the same answer a minute later", sample("b", time.Minute, one), true},
		{"the same response a minute later", sample("b", time.Minute, response), true},
		{"the same answer within the second that servers count in", sample("b", 2*time.Second, one), false},
		{"the very same call", sample("a", time.Minute, other), true},
		{"an answer of its own call", sample("b", 0, mine), false},
		{"an answer of another call", sample("b", 0, theirs), true},
		{"an answer of no call", sample("b", 0, nobodys), false},
		{"a replay", Sample{Seen: Seen{AttemptID: "b", Header: map[string]string{"Idempotent-Replayed": "true"}}}, true},
		{"no replay", Sample{Seen: Seen{AttemptID: "b", Header: map[string]string{"Idempotent-Replayed": "false"}}}, false},
		{"an age", Sample{Seen: Seen{AttemptID: "b", Header: map[string]string{"Age": "30"}}}, true},
		{"no age", Sample{Seen: Seen{AttemptID: "b", Header: map[string]string{"Age": "0"}}}, false},
		{"a hit", Sample{Seen: Seen{AttemptID: "b", Header: map[string]string{"Cf-Cache-Status": "HIT"}}}, true},
		{"a miss", Sample{Seen: Seen{AttemptID: "b", Header: map[string]string{"X-Cache": "MISS, MISS"}}}, false},
	} {
		fresh, cases := newFreshness(), grid{[]string{"one"}, map[string]int{"one": 0}}
		for _, earlier := range before {
			fresh.stale(cases, earlier)
		}
		if why := fresh.stale(cases, row.sample); (why != "") != row.stale {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

// What was stored is judged as what was seen.
func TestSeenRoundTrip(t *testing.T) {
	for _, ex := range []providers.Exchange{
		{Status: 200, Body: []byte("{}"), Complete: true, Wrote: true, RequestBody: []byte("{}")},
		{Status: 200, Body: []byte{0xff, 0xfe}, Complete: true, Wrote: true},
		{Wrote: true, Err: contextDeadline()},
		{Status: 200, Body: []byte(response("completed")), Complete: true, Wrote: true, Responses: true},
		{Status: 200, Body: []byte(response("in_progress")), Complete: true, Wrote: true, Responses: true, Err: contextDeadline()},
		{Unbuildable: true},
	} {
		g := NewWithT(t)
		text, err := Sample{Seen: seen("id", ex)}.encode()
		g.Expect(err).NotTo(HaveOccurred())
		back, err := decodeSample(storedSample(text))
		g.Expect(err).NotTo(HaveOccurred())
		rules := providers.Rules{}
		g.Expect(providers.Classify(back.Seen.exchange(), rules)).To(Equal(providers.Classify(ex, rules)))
	}
}

func response(status string) string {
	return `{"object":"response","id":"resp_1","status":"` + status + `","model":"m","usage":{"input_tokens":3,"output_tokens":4},` +
		`"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"{}"}]}]}`
}

func contextDeadline() error { return fmt.Errorf("reading: %w", context.DeadlineExceeded) }

func storedSample(evidence string) store.Sample { return store.Sample{Evidence: evidence} }
