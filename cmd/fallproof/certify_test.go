package main

import (
	"fmt"
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
