package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
)

// What became of a finished run's record decides the exit code, not what it once said.
func TestCertifyAgainUnderTheNameOfAFinishedRun(t *testing.T) {
	s := newTerminal(t)
	base, _ := s.background("simulate", "--listen", "127.0.0.1:0")
	s.write("fallproof.yaml", fmt.Sprintf(storyConfig, base))
	certify := func(more ...string) (int, string) {
		command := s.process(t.Context(), append([]string{"certify", "--run", "tonight", "--target", "sim/faithful", "--contract", "support-triage"}, more...)...)
		output, _ := command.CombinedOutput()
		return command.ProcessState.ExitCode(), string(output)
	}
	code, output := certify()
	s.Expect(code).To(gomega.Equal(exitOK), output)
	code, output = certify()
	s.Expect(code).To(gomega.Equal(exitOK), output)
	s.Expect(output).To(gomega.ContainSubstring("nothing was called now, use another --run name"))

	code, output = certify("--samples", "3")
	s.Expect(code).To(gomega.Equal(exitUsage), output)
	s.Expect(output).To(gomega.ContainSubstring(`run "tonight" has 5 samples a case and is finished, and 3 are asked for`))
	s.Expect(output).NotTo(gomega.ContainSubstring("go on with --run"))
	s.Expect(strings.Count(output, "\n")).To(gomega.Equal(2), "with the warning that 3 are too few: %s", output)

	var page struct {
		Items []recordView `json:"items"`
	}
	s.Expect(json.Unmarshal([]byte(s.must("certifications", "list", "--json")), &page)).To(gomega.Succeed())
	s.Expect(page.Items).To(gomega.HaveLen(1))
	s.must("certifications", "revoke", page.Items[0].ID, "--reason", "a test")
	code, output = certify()
	s.Expect(code).To(gomega.Equal(exitInconclusive), output)
	s.Expect(output).To(gomega.ContainSubstring("it does not count as certified: revoked\n"))
}

// Only where a run was begun is there something to go on with.
func TestWhatWasNotBegunIsNotGoneOnWith(t *testing.T) {
	s := newTerminal(t)
	s.write("fallproof.yaml", fmt.Sprintf(reportsConfig, "http://127.0.0.1:9/v1"))
	for _, args := range [][]string{
		{"--run", "tonight", "--junit", "absent/r.xml"}, {"--run", "tonight", "--record", "fallproof.yaml"}, {"--run", "tonight", "--target", "sim/absent"},
	} {
		s.Expect(s.refuses(exitUsage, append([]string{"certify"}, args...)...)).NotTo(gomega.ContainSubstring("go on with"), fmt.Sprint(args))
	}
}

const lateConfig = `
server: {accept_sources: [simulated]}
providers:
  sim: {base_url: %s, source: simulated, concurrency: 2, models: {late: {}}}
routes:
  support-triage: {primary: sim/late}
`

// An interrupted run ends with 3, and says how to go on with it.
func TestAnInterruptedRunIsNotComplete(t *testing.T) {
	s := newTerminal(t)
	base, _ := s.background("simulate", "--listen", "127.0.0.1:0", "--model", "late=late:100ms")
	s.write("fallproof.yaml", fmt.Sprintf(lateConfig, base))
	s.write("junit.xml", `<testsuites tests="4" failures="0"></testsuites>`)
	command := s.process(t.Context(), "certify", "--run", "the night's", "--complete", "--junit", "junit.xml", "--json", "records.json")
	said := gbytes.NewBuffer()
	command.Stdout, command.Stderr = said, said
	s.Expect(command.Start()).To(gomega.Succeed())
	s.Eventually(func() string { return s.ledger(base) }).WithTimeout(time.Minute).Should(gomega.ContainSubstring(`"late"`))
	s.Expect(command.Process.Signal(os.Interrupt)).To(gomega.Succeed())
	s.Expect(command.Wait()).To(gomega.MatchError("exit status 3"), string(said.Contents()))
	s.Expect(string(said.Contents())).To(gomega.HaveSuffix(
		"fallproof: interrupted before the run was complete (go on with --run 'the night'\\''s')\n"))
	s.Expect(s.read("records.json")).To(gomega.And(gomega.ContainSubstring(`"complete": false`), gomega.ContainSubstring("it was interrupted")))
	s.Expect(s.read("junit.xml")).To(gomega.And(gomega.ContainSubstring(`errors="1"`), gomega.ContainSubstring("it was interrupted")))

	code, output := s.certify("--run", "the night's")
	s.Expect(code).To(gomega.Equal(exitOK), output)
}

// ledger is the text of the simulator's.
func (s *terminal) ledger(base string) string {
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, strings.TrimSuffix(base, "/v1")+"/simulator/ledger", nil)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	answer, err := (&http.Client{}).Do(request)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	text, err := io.ReadAll(answer.Body)
	s.Expect(errors.Join(err, answer.Body.Close())).To(gomega.Succeed())
	return string(text)
}

const findableConfig = `
server: {listen: 127.0.0.1:0, accept_sources: [simulated]}
providers:
  sim: {base_url: %[1]s, source: simulated, models: {faithful: {}}}
  background: {base_url: %[1]s, source: simulated, reconcile: responses, models: {faithful: {}, plausible: {}}}
  kept: {base_url: %[1]s, source: simulated, reconcile: stored_completions, models: {faithful: {}}}
  keyed: {base_url: %[1]s, source: simulated, idempotent: Idempotency-Key, models: {faithful: {}}}
routes:
  support-triage:
    primary: sim/faithful
    fallbacks: [background/faithful, background/plausible, kept/faithful, keyed/faithful]
`

// Whatever a provider declares about finding attempts again, its models are certified for what they
// answer, and may then stand in.
func TestCertifyProvidersThatCanBeAskedAgain(t *testing.T) {
	s := newTerminal(t)
	base, _ := s.background("simulate", "--listen", "127.0.0.1:0")
	s.write("fallproof.yaml", fmt.Sprintf(findableConfig, base))
	certify := s.process(t.Context(), "certify", "--contract", "support-triage", "--json", "records.json")
	output, _ := certify.CombinedOutput()
	s.Expect(certify.ProcessState.ExitCode()).To(gomega.Equal(exitNo), string(output))
	s.Expect(string(output)).To(gomega.HaveSuffix("\n4 certified, 1 rejected, 0 inconclusive\n"))
	for _, target := range []string{"background/faithful", "kept/faithful", "keyed/faithful"} {
		s.must("can-failover", "--contract", "support-triage", "--to", target)
	}
	no := s.run("can-failover", "--contract", "support-triage", "--to", "background/plausible")
	s.Expect(no.code).To(gomega.Equal(exitNo))
	s.Expect(no.stdout + no.stderr).To(gomega.ContainSubstring("rejected"))

	text, err := os.ReadFile("records.json")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	var document struct {
		Records []struct {
			Target     string `json:"target"`
			Parameters struct {
				MaxTokensField string `json:"max_tokens_field"`
			} `json:"parameters"`
		} `json:"records"`
	}
	s.Expect(json.Unmarshal(text, &document)).To(gomega.Succeed())
	limits := map[string]string{}
	for _, record := range document.Records {
		limits[record.Target] = record.Parameters.MaxTokensField
	}
	s.Expect(limits).To(gomega.Equal(map[string]string{
		"sim/faithful": "max_completion_tokens", "kept/faithful": "max_completion_tokens", "keyed/faithful": "max_completion_tokens",
		"background/faithful": "max_output_tokens", "background/plausible": "max_output_tokens",
	}))
}

const reportsConfig = `
server: {listen: 127.0.0.1:0, accept_sources: [simulated]}
providers:
  sim: {base_url: %s, source: simulated, models: {faithful: {}, plausible: {}}}
routes:
  support-triage: {primary: sim/faithful, fallbacks: [sim/plausible]}
`

// A run leaves every kind of report, whole or of what fails alone; later they are made of the store.
func TestCertifyLeavesReports(t *testing.T) {
	s := newTerminal(t)
	base, stop := s.background("simulate", "--listen", "127.0.0.1:0")
	s.write("fallproof.yaml", fmt.Sprintf(reportsConfig, base))
	certify := func(more ...string) {
		args := append([]string{"certify", "--run", "tonight", "--junit", "r.xml", "--json", "r.json", "--html", "r.html", "--markdown", "r.md"}, more...)
		output, err := s.process(t.Context(), args...).CombinedOutput()
		s.Expect(err).To(gomega.MatchError("exit status 1"), string(output))
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		s.Expect(err).NotTo(gomega.HaveOccurred())
		return string(text)
	}
	certify()
	for _, name := range []string{"r.xml", "r.json", "r.html", "r.md"} {
		s.Expect(read(name)).To(gomega.And(gomega.ContainSubstring("sim/faithful"), gomega.ContainSubstring("sim/plausible")), name)
	}
	s.judgesJUnit("r.xml", 8)
	stop()
	certify("--filter-failing")
	for _, name := range []string{"r.xml", "r.json", "r.html", "r.md"} {
		s.Expect(read(name)).To(gomega.And(gomega.Not(gomega.ContainSubstring("sim/faithful")), gomega.ContainSubstring("sim/plausible")), name)
	}
	s.judgesJUnit("r.xml", 4)

	var document struct {
		Records []struct {
			ID string `json:"id"`
		} `json:"records"`
	}
	s.Expect(json.Unmarshal([]byte(read("r.json")), &document)).To(gomega.Succeed())
	id := document.Records[0].ID
	text := s.must("certifications", "report", id)
	s.Expect(text).To(gomega.HavePrefix("## certification record " + id + ": 1 rejected\n"))
	s.Expect(text).To(gomega.ContainSubstring("answer of sample 0:"))
	s.Expect(s.must("certifications", "report", id, "--html", "later.html", "--markdown", "later.md")).To(gomega.BeEmpty())
	s.Expect(read("later.md")).To(gomega.Equal(text))
	s.Expect(read("later.html")).To(gomega.ContainSubstring("<mark><sup>1</sup>"))
	s.Expect(s.refuses(exitNo, "certifications", "report", id, "nothing")).To(gomega.ContainSubstring(`no certification has the id "nothing"`))
}

// judgesJUnit reads a JUnit report as CI does: a failure says the figure and what was found, and what was not
// seen to the end is none.
func (s *terminal) judgesJUnit(name string, dimensions int) {
	s.t.Helper()
	type reason struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	var file struct {
		Cases []struct {
			Class   string  `xml:"classname,attr"`
			Name    string  `xml:"name,attr"`
			Failure *reason `xml:"failure"`
			Skipped *reason `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	text, err := os.ReadFile(name)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(xml.Unmarshal(text, &file)).To(gomega.Succeed())
	s.Expect(file.Cases).To(gomega.HaveLen(dimensions))
	failed := map[string]reason{}
	skipped := map[string]reason{}
	for _, c := range file.Cases {
		if c.Failure != nil {
			failed[c.Class+": "+c.Name] = *c.Failure
		}
		if c.Skipped != nil {
			skipped[c.Name] = *c.Skipped
		}
	}
	s.Expect(failed).To(gomega.HaveLen(1))
	wrong := failed["support-triage at sim/plausible: business"]
	s.Expect(wrong.Message).To(gomega.MatchRegexp(`^business failed 0 of \d+, at least 0\.000 with 95 % confidence; 0\.90 is asked$`))
	s.Expect(wrong.Text).To(gomega.MatchRegexp(`category, urgency and language are the expected ones × \d+, first in case .+, sample 0: does not hold`))
	s.Expect(skipped["structure"].Message).To(gomega.MatchRegexp(`; stopped_early × \d+: not taken: business had decided the verdict`))
}
