package breakpoints

import (
	"context"
	"net/http"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

const (
	edited = "edited" // a contract that is changed between two starts
	steady = "steady" // one that is not
	small  = "gamma/gamma-small"
)

const restartConfig = `
server:
  listen: 127.0.0.1:0
  accept_sources: [live]
  shutdown_timeout: 3s
store: {url: "$STORE"}
contracts: ./contracts
providers:
  alpha:
    {base_url: $SIMULATOR, source: simulated, models: {alpha-large: {context_window: 128000, tokenizer: o200k_base}}}
  beta:
    {base_url: $SIMULATOR, source: simulated, models: {beta-medium: {context_window: 128000, tokenizer: o200k_base}}}
  gamma:
    {base_url: $SIMULATOR, source: simulated, models: {gamma-small: {context_window: 128000, tokenizer: o200k_base}}}
routes:
  edited: {primary: alpha/alpha-large, fallbacks: [beta/beta-medium]}
  steady: {primary: alpha/alpha-large, fallbacks: [gamma/gamma-small]}
`

// restarts is one deployment through three configurations.
func restarts(on engine) func(context.Context) {
	return func(ctx context.Context) {
		g := &stage{}
		g.prepare(on, restartConfig, "alpha-large", "beta-medium", "gamma-small")
		g.contract(edited)
		g.contract(steady)
		g.certify(pair{edited, fallback, 0}, pair{steady, small, 0})
		g.Contract, g.Primary, g.Fallback = edited, primary, fallback
		s := &scene{Deployment: &g.Deployment}
		s.begin(ctx)
		g.start(ctx)

		By("accepting live certifications alone, to which a simulated one is none")
		Expect(g.control().behave(ctx, primary, "unauthorized")).To(Succeed())
		waiting := s.becomes(ctx, s.newJob(ctx, "").ID, "failed")
		Expect(waiting.Error.why(fallback)).To(Equal([]string{"source_not_accepted"}))
		problem := refused(s.tryAgain(ctx, waiting.ID, fallback), http.StatusConflict, "fallback-not-certified")
		Expect(problem.Reasons).To(Equal([]string{"source_not_accepted"}))
		Expect(g.target(ctx, edited, fallback).Reasons).To(Equal([]string{"source_not_accepted"}))
		g.terminate()

		By("accepting simulated ones, with the same proof and the same job")
		g.reconfigure("accept_sources: [live]", "accept_sources: [live, simulated]")
		g.start(ctx)
		Expect(g.target(ctx, edited, fallback).Eligible).To(BeTrue())
		Expect(s.tryAgain(ctx, waiting.ID, fallback).Status).To(Equal(http.StatusCreated))
		s.becomes(ctx, waiting.ID, "succeeded")

		By("finishing what is quick before it ends, and leaving the rest in doubt")
		key := newKey()
		Expect(g.control().behave(ctx, primary, "slow:1s")).To(Succeed())
		quick := s.newJob(ctx, "")
		s.arrives(ctx, quick.ID, 1)
		Expect(g.control().behave(ctx, primary, "hold")).To(Succeed())
		held := s.created(s.click(ctx, key, s.body("")))
		s.arrives(ctx, held.ID, 1)
		g.service.Signal(syscall.SIGTERM)
		Eventually(func(ctx context.Context) int {
			got := s.click(ctx, newKey(), s.body(""))
			if got.Status == http.StatusCreated { // the signal is on its way
				s.created(got)
				return got.Status
			}
			refused(got, http.StatusServiceUnavailable, "shutting-down")
			Expect(got.Header.Get("Retry-After")).NotTo(BeEmpty())
			return got.Status
		}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal(http.StatusServiceUnavailable))
		Expect(s.get(ctx, "/readyz").Status).To(Equal(http.StatusServiceUnavailable))
		Expect(s.job(ctx, held.ID).State).To(Equal("running"), "reading goes on")
		Eventually(g.service).WithTimeout(patience).WithPolling(poll).Should(gexec.Exit(0))

		By("serving again, with another contract and another profile")
		Expect(g.control().behave(ctx, primary, "unauthorized")).To(Succeed())
		g.contract(edited, "You sort one message", "You sort a single message")
		g.reconfigure("gamma-small: {context_window: 128000", "gamma-small: {context_window: 64000")
		g.start(ctx)
		Expect(s.job(ctx, quick.ID).State).To(Equal("succeeded"))
		Expect(s.job(ctx, held.ID).State).To(Equal("unknown"))
		Expect(s.attempt(ctx, held.ID, 1).why()).To(Equal("shutdown"))
		Expect(s.replayed(s.click(ctx, key, s.body(""))).ID).To(Equal(held.ID), "its key is known")

		By("refusing what was certified as something else than it is today")
		changed := s.becomes(ctx, s.newJob(ctx, "").ID, "failed")
		Expect(changed.ContractDigest).NotTo(Equal(held.ContractDigest))
		Expect(changed.Error.why(fallback)).To(Equal([]string{"contract_changed"}))
		problem = refused(s.tryAgain(ctx, changed.ID, fallback), http.StatusConflict, "fallback-not-certified")
		Expect(problem.Reasons).To(Equal([]string{"contract_changed"}))
		g.Contract = steady
		shrunk := s.becomes(ctx, s.newJob(ctx, "").ID, "failed")
		Expect(shrunk.Error.why(small)).To(Equal([]string{"profile_changed"}))
		problem = refused(s.tryAgain(ctx, shrunk.ID, small), http.StatusConflict, "fallback-not-certified")
		Expect(problem.Reasons).To(Equal([]string{"profile_changed"}))
		g.Contract = edited

		By("running a job to its end under the contract that it was created with, proof and all")
		Expect(s.end(ctx, held.ID, 1, "resolve", `{"outcome": "failed", "note": "no trace of it"}`).Status).To(Equal(http.StatusOK))
		Expect(s.wonByFallback(ctx, held.ID).ContractDigest).To(Equal(held.ContractDigest))
		s.expectOneWinner(ctx)
		s.expectLedgerEqualsAttempts(ctx)
	}
}
