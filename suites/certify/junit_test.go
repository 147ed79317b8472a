package certify

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
)

// What Jenkins' junit-10.xsd knows of each element that we write: what it may stand in, which attributes it
// must and may have. It has no other elements, and refuses what it does not know.
var junitElements = map[string]struct {
	in        []string
	must, may []string
}{
	"testsuites": {in: []string{""}, may: []string{"name", "time", "tests", "failures", "errors"}},
	"testsuite": {
		in: []string{"testsuites"}, must: []string{"name", "tests", "failures", "errors"},
		may: []string{"time", "skipped", "timestamp", "hostname", "id", "package", "group", "file", "log", "url"},
	},
	"properties": {in: []string{"testsuite"}},
	"property":   {in: []string{"properties"}, must: []string{"name", "value"}},
	"testcase":   {in: []string{"testsuite"}, must: []string{"name"}, may: []string{"classname", "time", "group"}},
	"skipped":    {in: []string{"testcase"}, may: []string{"type", "message"}},
	"failure":    {in: []string{"testcase"}, may: []string{"type", "message"}},
	"error":      {in: []string{"testcase"}, may: []string{"type", "message"}},
	"system-out": {in: []string{"testsuite", "testcase"}},
}

func meetsJUnit(g *WithT, text []byte) {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	within := []string{""}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		g.Expect(err).NotTo(HaveOccurred())
		switch element := token.(type) {
		case xml.StartElement:
			rule, known := junitElements[element.Name.Local]
			g.Expect(known).To(BeTrue(), element.Name.Local)
			g.Expect(rule.in).To(ContainElement(within[len(within)-1]), element.Name.Local)
			var names []string
			for _, a := range element.Attr {
				names = append(names, a.Name.Local)
				g.Expect(slices.Concat(rule.must, rule.may)).To(ContainElement(a.Name.Local), element.Name.Local)
			}
			for _, name := range rule.must {
				g.Expect(names).To(ContainElement(name), element.Name.Local)
			}
			within = append(within, element.Name.Local)
		case xml.EndElement:
			within = within[:len(within)-1]
		}
	}
}

// junit is a run's file as a build server reads it.
func junit(t *testing.T, options Options, result Result) junitSuite {
	t.Helper()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "junit.xml")
	g.Expect(writeJUnit(path, options, result)).To(Succeed())
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	meetsJUnit(g, text)
	var file junitFile
	g.Expect(xml.Unmarshal(text, &file)).To(Succeed())
	g.Expect(file.Suites).To(HaveLen(1))
	suite := file.Suites[0]
	g.Expect([]int{file.Tests, file.Failures, file.Errors}).To(Equal([]int{suite.Tests, suite.Failures, suite.Errors}))
	return suite
}

// aRun has a pair of every verdict; the inconclusive one was certified for its schema.
func aRun() Result {
	dimension := func(name, status string, findings ...certification.Finding) certification.Dimension {
		return certification.Dimension{Name: name, Status: status, Successes: 32, Samples: 40, LowerBound: 0.668, Threshold: 0.9, Findings: findings}
	}
	unseen := func(name string, findings ...certification.Finding) certification.Dimension {
		return certification.Dimension{Name: name, Status: certification.StatusNotJudged, Threshold: 0.9, Findings: findings}
	}
	result := Result{RunName: "tonight"}
	for model, dimensions := range map[string][]certification.Dimension{
		"good": {
			{
				Name: "prompt", Status: certification.StatusPassed, Successes: 18, Samples: 18, LowerBound: 1, Threshold: 1, Census: true,
				Findings: []certification.Finding{{Reason: "not_verified", Count: 8, Case: "c", Detail: "no tokenizer is declared"}},
			},
			dimension("structure", certification.StatusPassed),
		},
		"down": {
			dimension("structure", certification.StatusPassed),
			unseen("round_trip", certification.Finding{Reason: "provider_trouble", Count: 5, Detail: "too much of it"},
				certification.Finding{Reason: "server_error", Count: 5, Case: "c", Sample: 1, Detail: "status 503"}),
		},
		"org/bad": {
			dimension("structure", certification.StatusNotJudged, certification.Finding{Reason: "stopped_early", Count: 16}),
			dimension("business", certification.StatusFailed,
				certification.Finding{Reason: "the total <is> \"wrong\"", Count: 8, Case: "חשבונית", Sample: 2, Detail: "\x00\x1b]]>\u202e & so on"},
				certification.Finding{Reason: "a date", Count: 1}),
		},
	} {
		result.add(certification.Record{
			ID: "id-" + model, Contract: "invoices", Target: providers.Target{Provider: "p", Model: model},
			Dimensions: dimensions, Verdict: certification.VerdictOf(dimensions), IssuedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)),
			Warnings: []certification.Finding{{Reason: "model_alias", Count: 1, Detail: model + " is served by m-2"}},
		}, Remark{Finished: FinishedNow})
	}
	return result
}

// A build turns red for what was seen to be wrong, and not for a provider that was down.
func TestJUnitFailsOnlyWhatFailed(t *testing.T) {
	g := NewWithT(t)
	suite := junit(t, Options{Version: "v1", RunOn: "runner"}, aRun())
	cases := map[string]junitCase{}
	for _, c := range suite.Cases {
		cases[c.Class+": "+c.Name] = c
	}
	g.Expect(cases).To(HaveLen(6))
	for _, passed := range []string{"invoices at p/good: prompt", "invoices at p/good: structure", "invoices at p/down: structure"} {
		g.Expect(cases[passed]).To(Equal(junitCase{Class: cases[passed].Class, Name: cases[passed].Name}), passed)
		g.Expect(cases[passed].Name).NotTo(BeEmpty(), passed)
	}
	g.Expect(cases["invoices at p/org/bad: business"].Failure).To(Equal(&junitReason{
		Type: `the total <is> "wrong"`, Message: "business failed 32 of 40, at least 0.668 with 95 % confidence; 0.90 is asked",
		Text: "the total <is> \"wrong\" × 8, first in case חשבונית, sample 2:   ]]>U+202E & so on\na date × 1",
	}))
	g.Expect(cases["invoices at p/org/bad: structure"].Skipped.Type).To(Equal("stopped_early"))
	down := cases["invoices at p/down: round_trip"]
	g.Expect(down.Failure).To(BeNil())
	g.Expect(down.Error).To(BeNil())
	g.Expect(down.Skipped.Type).To(Equal("provider_trouble"))
	g.Expect(down.Skipped.Message).To(Equal("round_trip not judged nothing that could be judged was seen; " +
		"provider_trouble × 5: too much of it; server_error × 5, first in case c, sample 1: status 503"))

	g.Expect([]int{suite.Tests, suite.Failures, suite.Errors, suite.Skipped}).To(Equal([]int{6, 1, 0, 2}))
	g.Expect([]string{suite.Name, suite.Hostname, suite.Timestamp}).To(Equal([]string{"certification run tonight", "runner", "2026-01-02T02:04:05"}))
	g.Expect(suite.Properties).To(ConsistOf(
		junitProperty{"run", "tonight"}, junitProperty{"harness_version", "v1"}, junitProperty{"record of invoices at p/good", "id-good"},
		junitProperty{"record of invoices at p/down", "id-down"}, junitProperty{"record of invoices at p/org/bad", "id-org/bad"},
	))
	g.Expect(suite.Out).To(ContainSubstring("invoices at p/good: prompt passed; 8 checks not verified: no tokenizer is declared\n"))
	g.Expect(suite.Out).To(ContainSubstring("invoices at p/good: warning: model_alias: good is served by m-2\n"))
}

func TestJUnitOfWhatFailsAlone(t *testing.T) {
	g := NewWithT(t)
	suite := junit(t, Options{FilterFailing: true}, aRun())
	g.Expect([]int{suite.Tests, suite.Failures, suite.Skipped}).To(Equal([]int{4, 1, 2}))
	for _, c := range suite.Cases {
		g.Expect(c.Class).NotTo(ContainSubstring("good"))
	}
}

// A record that counts no longer is no green test, and no red one: its target was not seen to be wrong.
func TestJUnitOfALapsedRecord(t *testing.T) {
	g := NewWithT(t)
	result := aRun()
	result.Remarks = []Remark{{CertificationID: "id-good", Reasons: []string{"revoked"}}, {CertificationID: "id-down", Reasons: []string{}}}
	suite := junit(t, Options{FilterFailing: true}, result)
	g.Expect([]int{suite.Tests, suite.Failures, suite.Skipped}).To(Equal([]int{6, 1, 4}))
	for _, c := range suite.Cases {
		if c.Class == "invoices at p/good" {
			g.Expect(c.Skipped.Type).To(Equal("no longer certified"))
			g.Expect(c.Skipped.Message).To(ContainSubstring("certified: revoked"))
		}
	}
}

// A run that wrote nothing says so; a file without tests would pass for a success.
func TestJUnitOfAnIncompleteRun(t *testing.T) {
	g := NewWithT(t)
	suite := junit(t, Options{FilterFailing: true}, Result{RunName: "tonight", Incomplete: "it was a dry run"})
	g.Expect([]int{suite.Tests, suite.Failures, suite.Errors, suite.Skipped}).To(Equal([]int{1, 0, 1, 0}))
	g.Expect(suite.Cases[0].Error.Type).To(Equal("incomplete"))
	g.Expect(suite.Cases[0].Error.Message).To(Equal("not complete, nothing was written: it was a dry run"))
}
