package breakpoints

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

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
