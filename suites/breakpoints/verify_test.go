package breakpoints

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
)

// verified runs the suite from within the binary against the main deployment, as anybody may against theirs.
func (g *stage) verified(ctx context.Context) {
	before, err := g.control().behaviour(ctx, primary)
	Expect(err).NotTo(HaveOccurred())
	verify := func(code int, key string, further ...string) *gexec.Session {
		GinkgoHelper()
		session := g.run(append([]string{
			"verify", "--url", g.URL, "--simulator", g.Simulator, "--key", key, "--contract", contract, "--input", g.Input, "--patience", patience.String(),
		}, further...)...)
		Eventually(session).WithTimeout(2*time.Minute).WithPolling(poll).Should(gexec.Exit(), "it ends")
		Expect(session.ExitCode()).To(Equal(code), "%s%s", session.Out.Contents(), session.Err.Contents())
		return session
	}
	Expect(verify(0, g.Key).Out).To(gbytes.Say(`\d+ scenarios passed`))
	after, err := g.control().behaviour(ctx, primary)
	Expect(err).NotTo(HaveOccurred())
	Expect(after).To(Equal(before), "personalities are restored")

	By("saying so where a scenario fails")
	failing := verify(1, g.makeKey("acme", "client"), "--only", "goes on once the attempt is cancelled")
	Expect(failing.Out).To(gbytes.Say(`forbidden`))
	By("saying so where nothing can be verified")
	Expect(verify(2, "fp_nobody").Err).To(gbytes.Say(`401`))
	Expect(verify(2, g.Key, "--only", "no scenario is called that").Err).To(gbytes.Say(`no scenario`))
}
