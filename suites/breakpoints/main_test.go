package breakpoints

import (
	"context"
	"net/http"
	"slices"
	"time"

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
}

// proofs are the scenarios about who may stand in, and why not.
func (g *stage) proofs(s *scene) {
	It("is refused where it was never certified", s.noProof(uncalled, "no_certification"))
	It("is refused where the certification rejected it", s.noProof(rejected, "rejected"))
	It("is refused where the certification could not judge it", s.noProof(busy, "inconclusive"))
	It("is refused where it is no target of the route", s.noProof(unlisted, "not_in_route"))

	It("is refused from the moment that its certification is revoked on the command line", func(ctx context.Context) {
		Expect(g.target(ctx, contract, revoked).Eligible).To(BeTrue())
		id := *g.target(ctx, contract, revoked).CertificationID
		g.cli(0, "certifications", "revoke", id, "--reason", "drill")
		s.noProof(revoked, "revoked")(ctx)
	})

	It("is refused from the moment that its certification is revoked over HTTP", func(ctx context.Context) {
		found := find[page[certificationView]](s.get(ctx, "/v1/certifications?contract="+contract+"&target="+recalled))
		Expect(found.Items).To(HaveLen(1))
		Expect(found.Items[0].Verdict).To(Equal("certified"))
		got := s.send(ctx, http.MethodPost, "/v1/certifications/"+found.Items[0].ID+"/revoke", `{"reason": "drill"}`)
		withdrawn := find[certificationView](got)
		Expect(withdrawn.RevokedAt).NotTo(BeNil())
		Expect(withdrawn.RevokedReason).To(HaveValue(Equal("drill")))
		s.noProof(recalled, "revoked")(ctx)
	})

	It("is refused once its certification has expired", func(ctx context.Context) { s.expired(ctx, g) })

	It("is demanded even of the primary where the route says so", func(ctx context.Context) { s.guarded(ctx, g) })

	It("is tried with its certification's id where the proof stands", func(ctx context.Context) {
		made := s.failed(ctx)
		attempt := read[attemptView](s.tryAgain(ctx, made.ID, fallback))
		Expect(attempt.CertificationID).To(HaveValue(Equal(*g.target(ctx, contract, fallback).CertificationID)))
		Expect(s.becomes(ctx, made.ID, "succeeded").CompletedBy).To(HaveValue(Equal(2)))
	})

	It("is tried after a refused connection, which was no call", func(ctx context.Context) {
		made := s.newJob(ctx, closed)
		s.wonByFallback(ctx, made.ID)
		first := s.attempt(ctx, made.ID, 1)
		Expect(first.why()).To(Equal("not_sent"))
		Expect(first.Sends).To(BeZero())
	})

	It("is tried after a server's error where those are failures", func(ctx context.Context) {
		s.behaves(ctx, definite, "overloaded")
		made := s.newJob(ctx, definite)
		s.wonByFallback(ctx, made.ID)
		Expect(s.attempt(ctx, made.ID, 1).why()).To(Equal("server_error"))
	})

	It("is not tried after a server's error where those leave doubt", func(ctx context.Context) {
		s.leavesDoubt(ctx, "overloaded", "server_error")
	})

	It("moves on from an answer that the schema takes and the business check does not", func(ctx context.Context) {
		s.behaves(ctx, primary, "plausible")
		threat := `{"contract": "triage", "input": {"message": "If the refund is not here by Friday, my lawyer will take legal action."}}`
		made := s.created(s.click(ctx, newKey(), threat))
		s.wonByFallback(ctx, made.ID)
		Expect(s.attempt(ctx, made.ID, 1).why()).To(Equal("contract_violation"))
	})
}

// withoutFallback is doubt of which nothing automatic follows at all.
func (g *stage) withoutFallback(s *scene) {
	DescribeTable("lets an explicit attempt through once the doubt is ended", func(ctx context.Context, verb, body string) {
		of := &scene{Deployment: &Deployment{}}
		*of.Deployment = g.Deployment
		of.Contract = solitary
		of.begin(ctx)
		made, first := of.inDoubt(ctx)
		refused(of.tryAgain(ctx, made.ID, ""), http.StatusConflict, "attempt-in-doubt")
		Expect(of.end(ctx, made.ID, 1, verb, body).Status).To(Equal(http.StatusOK))
		of.behaves(ctx, primary, "faithful")
		got := of.tryAgain(ctx, made.ID, "")
		Expect(got.Status).To(Equal(http.StatusCreated), "%s", got)
		Expect(read[attemptView](got).Role).To(Equal("manual"))
		Expect(of.becomes(ctx, made.ID, "succeeded").CompletedBy).To(HaveValue(Equal(2)))
		of.letGo(ctx, first.ID)
		Expect(of.attempts(ctx, made.ID)).To(HaveLen(2))
		of.expectOneWinner(ctx)
		s.jobs = append(s.jobs, of.jobs...)
	},
		Entry("resolved as failed", "resolve", `{"outcome": "failed", "note": "no trace of it"}`),
		Entry("released", "release", ""),
		Entry("cancelled", "cancel", ""),
	)
}

// noProof has a job fail at its target, and sees that this one may not stand in: not by itself, and not
// on demand, for a reason that is the same wherever it is said.
func (s *scene) noProof(target, reason string) func(context.Context) {
	return func(ctx context.Context) {
		GinkgoHelper()
		made := s.failed(ctx)
		problem := refused(s.tryAgain(ctx, made.ID, target), http.StatusConflict, "fallback-not-certified")
		Expect(problem.Reasons).To(Equal([]string{reason}))
		Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
		Expect(s.job(ctx, made.ID)).To(Equal(made), "nothing changed")
		Expect(s.said(ctx, s.Contract, target)).To(ContainElement(reason))
	}
}

// said are the reasons that the list of targets has.
func (s *scene) said(ctx context.Context, contract, target string) []string {
	GinkgoHelper()
	targets := find[page[targetView]](s.get(ctx, "/v1/contracts/"+contract+"/targets")).Items
	at := slices.IndexFunc(targets, func(t targetView) bool { return t.Target == target })
	Expect(at).To(BeNumerically(">=", 0))
	Expect(targets[at].Eligible).To(BeFalse())
	return targets[at].Reasons
}

// expired certifies for a second, and waits until the service says that it is over.
func (s *scene) expired(ctx context.Context, g *stage) {
	GinkgoHelper()
	g.certify(pair{brief, fallback, 0})
	s.overlook(ctx) // the samples are no job's
	Eventually(func(ctx context.Context) []string { return g.target(ctx, brief, fallback).Reasons }).
		WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal([]string{"expired"}))
	s.behaves(ctx, primary, "unauthorized")
	made := s.created(s.click(ctx, newKey(), `{"contract": "brief", "input": `+s.Input+`}`))
	failed := s.becomes(ctx, made.ID, "failed")
	Expect(failed.Error.Reason).To(Equal("unauthorized"))
	Expect(failed.Error.why(fallback)).To(Equal([]string{"expired"}))
	problem := refused(s.tryAgain(ctx, made.ID, fallback), http.StatusConflict, "fallback-not-certified")
	Expect(problem.Reasons).To(Equal([]string{"expired"}))
	Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
	g.cli(1, "can-failover", "--contract", brief, "--to", fallback)
	g.cli(0, "can-failover", "--contract", contract, "--to", fallback)
}

// guarded sends nothing anywhere before there is a proof, and then to the primary.
func (s *scene) guarded(ctx context.Context, g *stage) {
	GinkgoHelper()
	body := `{"contract": "guarded", "input": ` + s.Input + `}`
	made := s.created(s.click(ctx, newKey(), body))
	Expect(made.State).To(Equal("failed"))
	Expect(made.Error.why("gamma/gamma-small")).To(Equal([]string{"no_certification"}))
	Expect(made.Error.why(fallback)).To(Equal([]string{"no_certification"}))
	problem := refused(s.tryAgain(ctx, made.ID, ""), http.StatusConflict, "fallback-not-certified")
	Expect(problem.Reasons).To(Equal([]string{"no_certification"}))
	Expect(s.attempts(ctx, made.ID)).To(BeEmpty())
	s.expectLedgerEqualsAttempts(ctx)

	g.certify(pair{guarded, "gamma/gamma-small", 0})
	s.overlook(ctx)
	Expect(s.tryAgain(ctx, made.ID, "").Status).To(Equal(http.StatusCreated))
	s.becomes(ctx, made.ID, "succeeded")
	Expect(s.attempt(ctx, made.ID, 1).Role).To(Equal("manual"))
}

// owners are the scenarios about keys.
func (g *stage) owners(s *scene) {
	It("hides a job from every other owner", func(ctx context.Context) {
		stranger := client{base: g.URL, key: g.makeKey("globex", "client,operator")}
		key := newKey()
		made := s.created(s.click(ctx, key, s.body(""), wait(30)))
		before, history := s.job(ctx, made.ID), s.events(ctx, made.ID)
		s.nothingAt(ctx, stranger, made.ID)
		Expect(s.job(ctx, made.ID)).To(Equal(before))
		Expect(s.events(ctx, made.ID)).To(Equal(history))

		list, err := stranger.call(ctx, http.MethodGet, "/v1/jobs", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(find[page[jobView]](list).Items).To(BeEmpty())

		theirs := &scene{Deployment: &Deployment{}}
		*theirs.Deployment = g.Deployment
		theirs.Key = stranger.key
		theirs.begin(ctx)
		other := theirs.created(theirs.click(ctx, key, s.body("", `"x": "another input"`), wait(30)))
		Expect(other.ID).NotTo(Equal(made.ID), "a key belongs to its owner")
		Expect(other.Owner).To(Equal("globex"))
		theirs.expectLedgerEqualsAttempts(ctx)
		s.overlook(ctx)
		s.jobs = nil
	})

	It("keeps operators' verbs from a client's key", func(ctx context.Context) {
		made, attempt := s.inDoubt(ctx)
		customer := client{base: g.URL, key: g.makeKey("acme", "client")}
		certificate := *g.target(ctx, contract, fallback).CertificationID
		at := attemptPath(made.ID, 1)
		for path, body := range map[string]string{
			at + "/resolve": `{"outcome": "failed", "note": "n"}`, at + "/release": "", at + "/cancel": "",
			"/v1/certifications/" + certificate + "/revoke": `{"reason": "r"}`,
		} {
			got, err := customer.call(ctx, http.MethodPost, path, []byte(body))
			Expect(err).NotTo(HaveOccurred())
			refused(got, http.StatusForbidden, "forbidden")
		}
		Expect(s.attempt(ctx, made.ID, 1)).To(Equal(attempt))
		Expect(g.target(ctx, contract, fallback).Eligible).To(BeTrue())
		got, err := customer.call(ctx, http.MethodGet, "/v1/jobs/"+made.ID, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(find[jobView](got).ID).To(Equal(made.ID), "the job is its owner's, whichever key")
		s.letGo(ctx, attempt.ID)
		s.becomes(ctx, made.ID, "succeeded")
	})

	It("keeps clients' verbs from an operator's key", func(ctx context.Context) {
		operator := client{base: g.URL, key: g.makeKey("acme", "operator")}
		got, err := operator.call(ctx, http.MethodPost, "/v1/jobs", []byte(s.body("")), header{"Idempotency-Key", newKey()})
		Expect(err).NotTo(HaveOccurred())
		refused(got, http.StatusForbidden, "forbidden")
	})

	It("pages an owner's jobs, newest first", func(ctx context.Context) {
		theirs := &scene{Deployment: &Deployment{}}
		*theirs.Deployment = g.Deployment
		theirs.Key = g.makeKey("hooli", "client")
		theirs.begin(ctx)
		var made []string
		for range 3 {
			job := theirs.newJob(ctx, "", wait(30))
			Expect(job.State).To(Equal("succeeded"))
			made = slices.Insert(made, 0, job.ID)
		}
		first := find[page[jobView]](theirs.get(ctx, "/v1/jobs?limit=2&state=succeeded&contract="+contract))
		Expect(first.NextCursor).NotTo(BeNil())
		second := find[page[jobView]](theirs.get(ctx, "/v1/jobs?limit=2&state=succeeded&contract="+contract+"&cursor="+*first.NextCursor))
		Expect(second.NextCursor).To(BeNil())
		var listed []string
		for _, job := range append(first.Items, second.Items...) {
			listed = append(listed, job.ID)
		}
		Expect(listed).To(Equal(made))
		Expect(find[page[jobView]](theirs.get(ctx, "/v1/jobs?state=unknown")).Items).To(BeEmpty())
		for _, query := range []string{"state=lost", "limit=0", "limit=x", "sate=unknown", "state=failed&state=unknown"} {
			refused(theirs.get(ctx, "/v1/jobs?"+query), http.StatusBadRequest, "invalid-parameter")
		}
		theirs.expectLedgerEqualsAttempts(ctx)
		s.overlook(ctx)
	})

	It("lets a revoked key in no more", func(ctx context.Context) {
		short := client{base: g.URL, key: g.makeKey("initech", "client")}
		got, err := short.call(ctx, http.MethodGet, "/v1/jobs", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Status).To(Equal(http.StatusOK))
		keys := decode[[]struct {
			ID string `json:"id"`
		}](g.cli(0, "keys", "list", "--owner", "initech", "--json"))
		Expect(keys).To(HaveLen(1))
		g.cli(0, "keys", "revoke", keys[0].ID)
		got, err = short.call(ctx, http.MethodGet, "/v1/jobs", nil)
		Expect(err).NotTo(HaveOccurred())
		s.turnedAway(got)
	})
}

// slots are the scenarios about a provider's concurrency.
func (g *stage) slots(s *scene) {
	It("never gets two", func(ctx context.Context) {
		s.behaves(ctx, narrow, "hold")
		one, two := s.newJob(ctx, narrow), s.newJob(ctx, narrow)
		first := s.arrives(ctx, one.ID, 1)
		waiting := s.attempt(ctx, two.ID, 1)
		Expect(waiting.State).To(Equal("starting"))
		Expect(waiting.Sends).To(BeZero())
		Expect(s.job(ctx, two.ID).State).To(Equal("running"))
		refused(s.tryAgain(ctx, two.ID, ""), http.StatusConflict, "attempt-in-flight")
		seen, _, err := s.requests(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(seen).To(HaveLen(1))
		s.letGo(ctx, first.ID)
		s.letGo(ctx, s.arrives(ctx, two.ID, 1).ID)
		s.becomes(ctx, one.ID, "succeeded")
		s.becomes(ctx, two.ID, "succeeded")
		s.oneAtATime(ctx)
	})
}

// oneAtATime sees in the ledger that each request was answered before the next arrived, which then did not
// wait for some clock: a slot that is free is taken.
func (s *scene) oneAtATime(ctx context.Context) {
	GinkgoHelper()
	entries, err := s.control().ledger(ctx, "model=narrow-large&answered=true")
	Expect(err).NotTo(HaveOccurred())
	Expect(entries).To(HaveLen(2))
	Expect(entries[0].Answered.At).To(BeTemporally("<=", entries[1].ReceivedAt))
	Expect(entries[1].ReceivedAt).To(BeTemporally("<", entries[0].Answered.At.Add(3*time.Second)))
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
