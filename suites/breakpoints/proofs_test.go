package breakpoints

import (
	"context"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

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
