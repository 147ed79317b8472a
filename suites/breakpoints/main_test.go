package breakpoints

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
)

// Targets of the main stage.
const (
	primary   = "alpha/alpha-large"     // short of patience, and not certified
	fallback  = "beta/beta-medium"      // certified
	uncalled  = "delta/delta-uncalled"  // never certified
	busy      = "delta/delta-busy"      // could not be judged when it was certified
	rejected  = "delta/delta-wrong"     // plausible when it was certified
	revoked   = "delta/delta-withdrawn" // its certification is revoked by the command line
	recalled  = "delta/delta-recalled"  // its certification is revoked over HTTP
	unlisted  = "epsilon/epsilon-small" // certified, and no target of the route
	closed    = "closed/closed-large"   // nobody listens there
	definite  = "strict/strict-large"   // its 500 and 503 are failures
	narrow    = "narrow/narrow-large"   // one call at a time
	contract  = "triage"                // with a route over all of these
	brief     = "brief"                 // the same, and its certifications hold for a second
	guarded   = "guarded"               // a route whose primary needs proof as well
	solitary  = "solitary"              // a route without fallbacks
	mainModel = `{context_window: 128000, tokenizer: o200k_base}`
)

const mainConfig = `
server:
  listen: 127.0.0.1:0
  accept_sources: [simulated]
store: {url: "$STORE"}
contracts: ./contracts
providers:
  alpha:
    {base_url: $SIMULATOR, source: simulated, timeout: 1s, give_up: 2m, models: {alpha-large: ` + mainModel + `}}
  beta:
    {base_url: $SIMULATOR, source: simulated, models: {beta-medium: ` + mainModel + `}}
  gamma:
    {base_url: $SIMULATOR, source: simulated, models: {gamma-small: ` + mainModel + `}}
  delta:
    base_url: $SIMULATOR
    source: simulated
    models:
      delta-uncalled: ` + mainModel + `
      delta-busy: ` + mainModel + `
      delta-wrong: ` + mainModel + `
      delta-withdrawn: ` + mainModel + `
      delta-recalled: ` + mainModel + `
  epsilon:
    {base_url: $SIMULATOR, source: simulated, models: {epsilon-small: ` + mainModel + `}}
  strict:
    {base_url: $SIMULATOR, source: simulated, server_errors: failed, models: {strict-large: ` + mainModel + `}}
  narrow:
    {base_url: $SIMULATOR, source: simulated, concurrency: 1, models: {narrow-large: ` + mainModel + `}}
  closed:
    {base_url: $CLOSED, source: simulated, models: {closed-large: ` + mainModel + `}}
routes:
  triage:
    primary: alpha/alpha-large
    fallbacks: [delta/delta-uncalled, delta/delta-busy, delta/delta-wrong, beta/beta-medium, delta/delta-withdrawn, delta/delta-recalled, gamma/gamma-small]
    max_attempts: 6
  brief: {primary: alpha/alpha-large, fallbacks: [beta/beta-medium]}
  solitary: {primary: alpha/alpha-large, max_attempts: 2}
  guarded: {primary: gamma/gamma-small, fallbacks: [beta/beta-medium], require_certified_primary: true}
`

// prepareMain starts the deployment that most scenarios run against.
func (g *stage) prepareMain(on engine) func(context.Context) {
	return func(ctx context.Context) {
		g.prepare(on, mainConfig, "alpha-large", "beta-medium", "gamma-small", "delta-uncalled", "delta-busy", "delta-wrong",
			"delta-withdrawn", "delta-recalled", "epsilon-small", "strict-large", "narrow-large")
		g.contract(contract)
		g.contract(brief, "valid_for: 168h", "valid_for: 1s")
		g.contract(solitary)
		g.contract(guarded)
		Expect(g.control().behave(ctx, rejected, "plausible")).To(Succeed())
		Expect(g.control().behave(ctx, busy, "rate-limited")).To(Succeed())
		g.certify(
			pair{contract, fallback, 0}, pair{contract, "gamma/gamma-small", 0}, pair{contract, revoked, 0},
			pair{contract, recalled, 0}, pair{contract, unlisted, 0}, pair{contract, rejected, 1}, pair{contract, busy, 3},
		)
		Expect(g.control().behave(ctx, rejected, "faithful")).To(Succeed())
		Expect(g.control().behave(ctx, busy, "faithful")).To(Succeed())
		g.start(ctx)
		g.Contract = contract
		Expect(g.Discover(ctx)).To(Succeed())
		Expect(g.Primary).To(Equal(primary))
	}
}

// own are the scenarios that need the command line, or this configuration.
func (g *stage) own() {
	s := &scene{Deployment: &g.Deployment}
	BeforeEach(s.begin)
	AfterEach(s.expectOneWinner)
	AfterEach(s.expectLedgerEqualsAttempts)
	Describe("owners and scopes", func() { g.owners(s) })
	Describe("no fallback without a proof that stands", func() { g.proofs(s) })
	Describe("a route without fallbacks", func() { g.withoutFallback(s) })
	Describe("a provider that takes one call at a time", func() { g.slots(s) })
	Describe("a second replica", func() { g.replicas(s) })
	Describe("waiting at another replica", func() { g.across(s) })
}

// unreachable starts the service without its database.
func unreachable(on engine) func() {
	return func() {
		g := &stage{folder: GinkgoT().TempDir()}
		g.store = on.unreachable(g.folder)
		g.configure(`store: {url: "$STORE"}`)
		session := g.run("serve", "--listen", "127.0.0.1:0")
		Eventually(session).WithTimeout(patience).WithPolling(poll).Should(gexec.Exit(2))
		Expect(session.Out.Contents()).To(BeEmpty())
		Expect(session.Err).To(gbytes.Say(`^fallproof: .*(cannot be opened|unreachable).*\n$`))
		Expect(lines(session)).To(HaveLen(1))
	}
}
