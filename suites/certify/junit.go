package certify

import (
	"encoding/xml"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/report"
)

// The JUnit file is made of the records, not of Ginkgo's report. Ginkgo knows passed and failed alone, and a
// build must not turn red where a provider was down: what could not be judged is skipped, and only what was
// seen to be wrong is a failure. Elements and attributes are those of Jenkins' junit-10.xsd and no others.
type junitFile struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Hostname   string          `xml:"hostname,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Out        string          `xml:"system-out,omitempty"` // what is worth knowing and fails nothing
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// junitCase is one dimension of one pair. Nothing in it is what passed.
type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Skipped *junitReason `xml:"skipped"`
	Failure *junitReason `xml:"failure"`
	Error   *junitReason `xml:"error"`
}

type junitReason struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit leaves the run for build servers. Of a run that is not complete it holds one error.
func writeJUnit(path string, options Options, result Result) error {
	if path == "" {
		return nil
	}
	text, err := xml.MarshalIndent(junitOf(options, result), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, slices.Concat([]byte(xml.Header), text, []byte("\n")), 0o644)
}

func junitOf(options Options, result Result) junitFile {
	suite := junitSuite{
		Name: "certification run " + report.Plain(result.RunName), Hostname: options.RunOn,
		Properties: []junitProperty{{"run", report.Plain(result.RunName)}, {"harness_version", options.Version}},
	}
	if result.Incomplete != "" {
		why := report.Plain(result.Incomplete)
		suite.Cases = []junitCase{{
			Class: suite.Name, Name: "complete",
			Error: &junitReason{"incomplete", "not complete, nothing was written: " + why, why},
		}}
	}
	for _, unfit := range result.Unfit {
		for _, target := range unfit.Targets {
			suite.Cases = append(suite.Cases, junitCase{
				Class: unfit.Contract + " at " + target, Name: "contract", Error: &junitReason{"unfit", report.Plain(unfit.String()), report.Plain(unfit.Why)},
			})
		}
	}
	listed := result
	if options.FilterFailing {
		listed = result.failing()
	}
	issued := time.Time{}
	for _, record := range listed.Records {
		pair := record.Contract + " at " + record.Target.String()
		suite.Properties = append(suite.Properties, junitProperty{"record of " + pair, record.ID})
		if remark := listed.remark(record.ID).line(); remark != "" {
			suite.Out += pair + ": " + remark + "\n"
		}
		for _, line := range notes(record, report.Plain) {
			suite.Out += pair + ": " + line + "\n"
		}
		for _, d := range record.Dimensions {
			suite.Cases = append(suite.Cases, junitDimension(pair, d, listed.lapse(record)))
		}
		if record.IssuedAt.After(issued) {
			issued = record.IssuedAt
		}
	}
	if !issued.IsZero() {
		suite.Timestamp = issued.UTC().Format("2006-01-02T15:04:05")
	}
	suite.count()
	return junitFile{Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Suites: []junitSuite{suite}}
}

// junitDimension says of one dimension what became of it; lapse is why its record counts no longer.
func junitDimension(pair string, d certification.Dimension, lapse string) junitCase {
	one := junitCase{Class: pair, Name: d.Name}
	said, why := strings.Join(strings.Fields(figure(d)), " "), reasons(d, report.Plain)
	reason := d.Status
	if f, ok := d.Why(); ok {
		reason = report.Plain(f.Reason)
	}
	switch {
	case d.Status == certification.StatusFailed:
		one.Failure = &junitReason{reason, said, strings.Join(why, "\n")}
	case d.Status != certification.StatusPassed:
		why = append([]string{said}, why...)
		one.Skipped = &junitReason{reason, strings.Join(why, "; "), strings.Join(why, "\n")}
	case lapse != "": // it passed, and is not to be taken for a proof
		one.Skipped = &junitReason{string(lapsed), lapse, said}
	}
	return one
}

func (s *junitSuite) count() {
	s.Tests = len(s.Cases)
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}

// lapse is why a certified record does not count, "" where it does or is none.
func (r Result) lapse(record certification.Record) string {
	remark := r.remark(record.ID)
	if len(remark.Reasons) == 0 {
		return ""
	}
	return remark.line()
}
