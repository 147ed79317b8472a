package breakpoints

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"

	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

func TestMain(m *testing.M) { pgcluster.Main(m) }

// TestBreakpoints puts the built binary through every scenario, on both engines.
func TestBreakpoints(t *testing.T) {
	RegisterFailHandler(Fail)
	BeforeSuite(build)
	AfterSuite(func() { gexec.KillAndWait(patience) }) // also where a run that ended early skipped a stage's own end
	Describe("before anything is served", startup)
	for _, on := range engines {
		// In order, because the lost replica is killed first and looked after last: its leases run out meanwhile.
		Describe("on "+on.name, Ordered, ContinueOnFailure, func() { story(on) })
	}
	RunSpecs(t, "breakpoints")
}

// story is all scenarios on one engine.
func story(on engine) {
	lost := &lostReplica{}
	main := &stage{}
	BeforeAll(lost.ready(on))
	BeforeAll(main.prepareMain(on))
	It("ends at once, with one line, where the database cannot be reached", unreachable(on))
	It("loses a replica", lost.loses)
	Context("any deployment", func() { Specs(&main.Deployment) })
	Context("this deployment", main.own)
	It("wakes a replica that was frozen beyond its leases", frozen(on))
	It("restarts in order, and under another configuration", restarts(on))
	It("purges what is past its retention, and leaves tombstones", retention(on))
	if on.verify {
		It("is verified by the binary's own suite", main.verified)
	}
	It("knows in time that the lost replica's attempts are in doubt", lost.known)
}
