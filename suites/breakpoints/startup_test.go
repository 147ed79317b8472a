package breakpoints

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// startup are the faults that end the service before it listens: each is one line that says where.
func startup() {
	DescribeTable("says in one line what is wrong, and where", func(config, file, fault string) {
		g := &stage{folder: GinkgoT().TempDir()}
		g.configure(config)
		if file != "" {
			g.contract("broken", "effects: external", file)
		}
		session := g.run("serve")
		Eventually(session).WithTimeout(patience).WithPolling(poll).Should(gexec.Exit(2))
		Expect(session.Out.Contents()).To(BeEmpty())
		Expect(lines(session)).To(ConsistOf(MatchRegexp("^fallproof: " + fault)))
		Expect(filepath.Glob(filepath.Join(g.folder, "fallproof.db*"))).To(BeEmpty(), "nothing was opened")
	},
		Entry("an unknown key", "server:\n  listen: 127.0.0.1:0\n  lisen: x\n", "", `fallproof\.yaml:3: .*lisen`),
		Entry("no YAML", "server: [\n", "", `fallproof\.yaml:\d+: `),
		Entry("a provider without a base URL", "providers:\n  alpha:\n    models: {m: {}}\n", "", `fallproof\.yaml:2: .*base_url`),
		Entry("a route to nowhere", "routes:\n  support-triage:\n    primary: alpha/large\n", "", `fallproof\.yaml:3: .*alpha`),
		Entry("a key that is not in the environment",
			"providers:\n  alpha:\n    base_url: http://127.0.0.1:1/v1\n    api_key_env: BREAKPOINTS_NO_SUCH_KEY\n    models: {m: {}}\n", "",
			`fallproof\.yaml:4: .*BREAKPOINTS_NO_SUCH_KEY`),
		Entry("a broken contract folder", "contracts: ./contracts\n", "efects: external", `.*contracts/broken/contract\.yaml:\d+: .*efects`),
	)

	It("names the file that is not there", func() {
		g := &stage{folder: GinkgoT().TempDir()}
		session := g.run("serve", "--config", "elsewhere.yaml")
		Eventually(session).WithTimeout(patience).WithPolling(poll).Should(gexec.Exit(2))
		Expect(lines(session)).To(ConsistOf(ContainSubstring("elsewhere.yaml")))
		Expect(os.ReadDir(g.folder)).To(BeEmpty())
	})
}

// lines are what a session wrote to stderr.
func lines(session *gexec.Session) []string {
	return strings.Split(strings.TrimSpace(string(session.Err.Contents())), "\n")
}
