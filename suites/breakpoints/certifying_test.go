package breakpoints

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// contract writes a copy of the shipped triage contract under another name, with small samples, and with
// effects of which nothing automatic follows. Each further edit is a pair of old and new text.
func (g *stage) contract(name string, edits ...string) {
	GinkgoHelper()
	folder := filepath.Join(g.folder, "contracts", name)
	Expect(os.RemoveAll(folder)).To(Succeed())
	Expect(os.CopyFS(folder, os.DirFS("../../contracts/catalog/support-triage"))).To(Succeed())
	at := filepath.Join(folder, "contract.yaml")
	content, err := os.ReadFile(at)
	Expect(err).NotTo(HaveOccurred())
	text := string(content)
	edits = append([]string{
		"name: support-triage", "name: " + name,
		"effects: none\nrelease_after: 20s", "effects: external",
		"samples: 5", "samples: 1",
		"structure: 0.90, business: 0.90, round_trip: 0.90", "structure: 0.50, business: 0.50, round_trip: 0.50",
	}, edits...)
	for i := 0; i < len(edits); i += 2 {
		Expect(text).To(ContainSubstring(edits[i]))
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	Expect(os.WriteFile(at, []byte(text), 0o600)).To(Succeed())
}

// pair is a certification to be made: of a contract at a target, with the exit code that it ends with.
type pair struct {
	contract, target string
	code             int
}

// certify makes certifications, each in a process of its own and all at the same time.
func (g *stage) certify(pairs ...pair) {
	GinkgoHelper()
	var sessions []*gexec.Session
	for _, p := range pairs {
		sessions = append(sessions, g.run("certify", "--contract", p.contract, "--target", p.target))
	}
	for i, session := range sessions {
		Eventually(session).WithTimeout(time.Minute).WithPolling(poll).Should(gexec.Exit())
		Expect(session.ExitCode()).To(Equal(pairs[i].code), "%s at %s\n%s%s", pairs[i].contract, pairs[i].target, session.Out.Contents(), session.Err.Contents())
	}
}
