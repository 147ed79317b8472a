package deployment

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"

	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

const (
	patience = 30 * time.Second      // bounds what is waited for; nothing takes nearly so long unless it is broken
	poll     = 20 * time.Millisecond // how often a state is looked at that is waited for
)

func TestMain(m *testing.M) { pgcluster.Main(m) }

// TestDeployment puts the shipped files to the test, first before servers of the suite's own and then before replicas.
func TestDeployment(t *testing.T) {
	RegisterFailHandler(Fail)
	AfterSuite(func() { gexec.KillAndWait(patience) }) // also where a run ended early
	Describe("the files for nginx", files)
	Describe("nginx by itself", alone)
	// In order, because a replica is lost first and its attempt looked after last: the lease runs out meanwhile.
	Describe("nginx before three replicas", Ordered, ContinueOnFailure, func() {
		g := &stage{}
		lost := &lostReplica{stage: g}
		BeforeAll(g.prepare)
		It("loses a replica in the middle of a call, and goes on with another", lost.loses)
		Describe("clicks", g.clicks)
		Describe("replicas that come and go", g.absences)
		It("knows in time that the lost replica's attempt is in doubt, and lets it be settled", lost.settled)
	})
	RunSpecs(t, "deployment")
}
