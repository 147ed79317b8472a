package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"
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
	s.Expect(strings.Count(output, "\n")).To(gomega.Equal(1), output)

	var page struct {
		Items []recordView `json:"items"`
	}
	s.Expect(json.Unmarshal([]byte(s.must("certifications", "list", "--json")), &page)).To(gomega.Succeed())
	s.Expect(page.Items).To(gomega.HaveLen(1))
	s.must("certifications", "revoke", page.Items[0].ID, "--reason", "a test")
	code, output = certify()
	s.Expect(code).To(gomega.Equal(exitInconclusive), output)
	s.Expect(output).To(gomega.ContainSubstring("it does not count as certified any longer: revoked\n"))
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
