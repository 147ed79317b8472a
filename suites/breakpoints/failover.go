package breakpoints

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func (s *scene) failover() {
	DescribeTable("moves from a definite failure to the certified fallback", s.movesOn,
		Entry("200 with an error", "error-200", "malformed"),
		Entry("200 without choices", "empty-choices", "malformed"),
		Entry("an answer inside a code fence", "fenced", "contract_violation"),
		Entry("an answer inside sentences", "chatty", "contract_violation"),
		Entry("an answer cut at its limit", "truncating", "truncated"),
		Entry("an answer cut at its limit that parses", "truncating:parses", "truncated"),
		Entry("a key that the contract does not know", "extra-key", "contract_violation"),
		Entry("429", "rate-limited:1s", "rate_limited"),
		Entry("503 that names a time", "overloaded:1s", "rate_limited"),
		Entry("401, tried once", "unauthorized", "unauthorized"),
		Entry("a redirect, never followed", "redirecting", "redirect"),
		Entry("a redirect to a GET, never followed", "redirecting:303", "redirect"),
	)

	It("takes a refusal for final", func(ctx context.Context) {
		made := s.failed(ctx)
		Expect(made.Error).NotTo(BeNil())
		Expect(made.Error.Reason).To(Equal("refused"))
		Expect(made.Error.why(s.Fallback)).To(Equal([]string{"refusal_final"}))
		Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
	})

	It("takes a filtered answer for a refusal", func(ctx context.Context) {
		s.behaves(ctx, s.Primary, "refusing:filter")
		made := s.becomes(ctx, s.newJob(ctx, "").ID, "failed")
		Expect(made.Error.Reason).To(Equal("refused"))
		Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
	})

	It("stops at the route's cap, however the attempts fail", s.cap)

	It("says of every target whether it may stand in", func(ctx context.Context) {
		targets := find[page[targetView]](s.get(ctx, "/v1/contracts/"+s.Contract+"/targets")).Items
		Expect(targets).NotTo(BeEmpty())
		Expect(targets[0].Target).To(Equal(s.Primary))
		Expect(targets[0].Role).To(Equal("primary"))
		for _, target := range targets {
			if target.Eligible {
				Expect(target.Reasons).To(BeEmpty(), "%s", target.Target)
				Expect(target.CertificationID).To(HaveValue(Not(BeEmpty())), "%s", target.Target)
			} else {
				Expect(target.Reasons).NotTo(BeEmpty(), "%s", target.Target)
			}
		}
	})
}

func (s *scene) movesOn(ctx context.Context, personality, reason string) {
	s.behaves(ctx, s.Primary, personality)
	made := s.newJob(ctx, "")
	s.wonByFallback(ctx, made.ID)
	first := s.attempt(ctx, made.ID, 1)
	Expect(first.State).To(Equal("failed"))
	Expect(first.Role).To(Equal("primary"))
	Expect(first.why()).To(Equal(reason))
}

// cap has every target of the route that may be tried fail in a way that may be tried again.
func (s *scene) cap(ctx context.Context) {
	for _, target := range find[page[targetView]](s.get(ctx, "/v1/contracts/"+s.Contract+"/targets")).Items {
		if target.Role == "primary" || target.Eligible {
			s.behaves(ctx, target.Target, "empty-choices")
		}
	}
	made := s.newJob(ctx, "")
	failed := s.becomes(ctx, made.ID, "failed")
	attempts := s.attempts(ctx, made.ID)
	Expect(attempts).To(HaveLen(s.MaxAttempts))
	for _, attempt := range attempts {
		Expect(attempt.State).To(Equal("failed"))
		Expect(attempt.Target == s.Primary || attempt.CertificationID != nil).To(BeTrue(), "attempt %d at %s", attempt.Number, attempt.Target)
	}
	Expect(failed.Error).NotTo(BeNil())
	Expect(failed.Error.Attempt).To(HaveValue(Equal(s.MaxAttempts)))
	refused(s.tryAgain(ctx, made.ID, ""), http.StatusConflict, "attempts-exhausted")
	Expect(s.attempts(ctx, made.ID)).To(HaveLen(s.MaxAttempts))
}
