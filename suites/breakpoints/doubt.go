package breakpoints

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func (s *scene) doubt() {
	It("refuses a further attempt while one is under way", func(ctx context.Context) {
		s.behaves(ctx, s.Fallback, "hold")
		made := s.newJob(ctx, s.Fallback)
		attempt := s.arrives(ctx, made.ID, 1)
		problem := s.refusedUnderWay(ctx, made.ID)
		Expect(problem.Blocking.ID).To(Equal(attempt.ID))
		s.underWay(ctx, made.ID, problem.Blocking.State)
		Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
		s.letGo(ctx, attempt.ID)
		s.becomes(ctx, made.ID, "succeeded")
		refused(s.tryAgain(ctx, made.ID, ""), http.StatusConflict, "job-final")
	})

	It("takes silence for doubt, and refuses a further attempt while it lasts", func(ctx context.Context) {
		made, attempt := s.inDoubt(ctx)
		for _, target := range []string{"", s.Primary, s.Fallback} {
			problem := refused(s.tryAgain(ctx, made.ID, target), http.StatusConflict, "attempt-in-doubt")
			Expect(problem.Blocking).NotTo(BeNil())
			Expect(problem.Blocking.ID).To(Equal(attempt.ID))
			Expect(problem.Blocking.State).To(Equal("unknown"))
		}
		Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
		s.letGo(ctx, attempt.ID)
		s.becomes(ctx, made.ID, "succeeded")
	})

	It("goes on once the attempt is resolved as failed", func(ctx context.Context) {
		made, first := s.inDoubt(ctx)
		got := s.end(ctx, made.ID, 1, "resolve", `{"outcome": "failed", "note": "the provider's log has no such call"}`)
		Expect(find[attemptView](got).State).To(Equal("failed"))
		s.wonByFallback(ctx, made.ID)
		Expect(s.attempt(ctx, made.ID, 1).State).To(Equal("failed"))
		s.neverWins(ctx, made.ID, first, "failed")
	})

	It("goes on once the attempt is released, and the released one may still lose the race", func(ctx context.Context) {
		made, first := s.inDoubt(ctx)
		Expect(find[attemptView](s.end(ctx, made.ID, 1, "release", `{"note": "asked for twice"}`)).State).To(Equal("released"))
		done := s.wonByFallback(ctx, made.ID)
		s.letGo(ctx, first.ID)
		s.attemptBecomes(ctx, made.ID, 1, "superseded")
		Expect(s.job(ctx, made.ID)).To(Equal(done))
	})

	It("goes on once the attempt is cancelled, which can never win", func(ctx context.Context) {
		made, first := s.inDoubt(ctx)
		Expect(find[attemptView](s.end(ctx, made.ID, 1, "cancel", "")).State).To(Equal("cancelled"))
		s.wonByFallback(ctx, made.ID)
		s.neverWins(ctx, made.ID, first, "cancelled")
	})

	It("takes a result from whoever found it, where the contract does", func(ctx context.Context) {
		good := s.created(s.click(ctx, newKey(), s.body(s.Fallback), wait(30)))
		Expect(good.State).To(Equal("succeeded"))
		made, first := s.inDoubt(ctx)
		for _, bad := range []string{`{"x_nothing": "of use"}`, `"text"`, `null`} {
			got := s.end(ctx, made.ID, 1, "resolve", `{"outcome": "succeeded", "note": "seen in the provider's log", "result": `+bad+`}`)
			refused(got, http.StatusUnprocessableEntity, "invalid-input")
			Expect(s.attempt(ctx, made.ID, 1)).To(Equal(first), "a refused resolution changes nothing")
		}
		got := s.end(ctx, made.ID, 1, "resolve", `{"outcome": "succeeded", "note": "seen in the provider's log", "result": `+string(good.Result)+`}`)
		Expect(find[attemptView](got).State).To(Equal("succeeded"))
		done := s.job(ctx, made.ID)
		Expect(done.State).To(Equal("succeeded"))
		Expect(done.CompletedBy).To(HaveValue(Equal(1)))
		Expect(done.Result).To(MatchJSON(good.Result))
		s.letGo(ctx, first.ID)
		Expect(s.job(ctx, made.ID)).To(Equal(done), "the late answer of the winner changes nothing")
		Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
	})

	It("is ended by a late answer that meets no rival", func(ctx context.Context) {
		made, attempt := s.inDoubt(ctx)
		s.letGo(ctx, attempt.ID)
		done := s.becomes(ctx, made.ID, "succeeded")
		Expect(done.CompletedBy).To(HaveValue(Equal(1)))
		Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
	})

	It("is ended by a late definite failure, which moves on", func(ctx context.Context) {
		s.behaves(ctx, s.Primary, "hold:error-200")
		made := s.newJob(ctx, "")
		attempt := s.arrives(ctx, made.ID, 1)
		s.attemptBecomes(ctx, made.ID, 1, "unknown")
		s.letGo(ctx, attempt.ID)
		s.wonByFallback(ctx, made.ID)
		Expect(s.attempt(ctx, made.ID, 1).why()).To(Equal("malformed"))
	})

	DescribeTable("follows whatever may have taken effect", s.leavesDoubt,
		Entry("a connection closed without an answer", "dropping", "connection_lost"),
		Entry("a connection reset without an answer", "dropping:reset", "connection_lost"),
		Entry("half an answer", "half-body", "connection_lost"),
		Entry("a gateway that gave up", "overloaded:504", "gateway_timeout"),
	)

	DescribeTable("refuses a move that the attempt's state does not allow, and changes nothing", s.illegal,
		Entry("resolve", "resolve", `{"outcome": "failed", "note": "n"}`),
		Entry("release", "release", ""),
		Entry("cancel", "cancel", ""),
	)

	It("refuses a resolution that says too little or too much", func(ctx context.Context) {
		made, first := s.inDoubt(ctx)
		for _, body := range []string{
			`{"outcome": "failed"}`,
			`{"outcome": "failed", "note": "n", "result": {}}`,
			`{"outcome": "succeeded", "note": "n"}`,
			`{"outcome": "perhaps", "note": "n"}`,
			`{"note": "n"}`,
			``,
		} {
			refused(s.end(ctx, made.ID, 1, "resolve", body), http.StatusBadRequest, "malformed-body")
			Expect(s.attempt(ctx, made.ID, 1)).To(Equal(first))
		}
		s.letGo(ctx, first.ID)
		s.becomes(ctx, made.ID, "succeeded")
	})
}

// refusedUnderWay tries again while an attempt is held, and returns the refusal: in flight, or in doubt
// where a very short soft deadline has passed meanwhile.
func (s *scene) refusedUnderWay(ctx context.Context, id string) problemView {
	GinkgoHelper()
	got := s.tryAgain(ctx, id, "")
	Expect(got.Status).To(Equal(http.StatusConflict), "%s", got)
	seen := read[problemView](got).Blocking
	Expect(seen).NotTo(BeNil(), "%s", got)
	if seen.State == "unknown" {
		return refused(got, http.StatusConflict, "attempt-in-doubt")
	}
	return refused(got, http.StatusConflict, "attempt-in-flight")
}

// leavesDoubt has the primary behave in a way of which nobody knows what it did.
func (s *scene) leavesDoubt(ctx context.Context, personality, reason string) {
	s.behaves(ctx, s.Primary, personality)
	made := s.newJob(ctx, "")
	s.becomes(ctx, made.ID, "unknown")
	attempt := s.attempt(ctx, made.ID, 1)
	Expect(attempt.State).To(Equal("unknown"))
	Expect(attempt.why()).To(Equal(reason))
	refused(s.tryAgain(ctx, made.ID, ""), http.StatusConflict, "attempt-in-doubt")
	Expect(s.attempts(ctx, made.ID)).To(HaveLen(1), "nothing follows by itself")
	Expect(s.end(ctx, made.ID, 1, "resolve", `{"outcome": "failed", "note": "no trace of it"}`).Status).To(Equal(http.StatusOK))
	s.wonByFallback(ctx, made.ID)
}

// illegal tries a move on an attempt that has won.
func (s *scene) illegal(ctx context.Context, verb, body string) {
	made := s.created(s.click(ctx, newKey(), s.body(s.Fallback), wait(30)))
	Expect(made.State).To(Equal("succeeded"))
	before, history := s.attempt(ctx, made.ID, 1), s.events(ctx, made.ID)
	problem := refused(s.end(ctx, made.ID, 1, verb, body), http.StatusConflict, "illegal-transition")
	Expect(problem.State).To(Equal("succeeded"))
	Expect(s.attempt(ctx, made.ID, 1)).To(Equal(before))
	Expect(s.events(ctx, made.ID)).To(Equal(history))
	Expect(s.job(ctx, made.ID)).To(Equal(made))
}

// wonByFallback waits until a second attempt, at the certified fallback, has won.
func (s *scene) wonByFallback(ctx context.Context, id string) jobView {
	GinkgoHelper()
	done := s.becomes(ctx, id, "succeeded")
	Expect(done.CompletedBy).To(HaveValue(Equal(2)))
	attempts := s.attempts(ctx, id)
	Expect(attempts).To(HaveLen(2))
	Expect(attempts[1].Role).To(Equal("fallback"))
	Expect(attempts[1].Target).To(Equal(s.Fallback))
	Expect(attempts[1].CertificationID).To(HaveValue(Not(BeEmpty())), "no attempt at a fallback without its proof")
	return done
}

// neverWins lets an ended attempt's answer arrive: it changes nothing, and is kept as evidence.
func (s *scene) neverWins(ctx context.Context, id string, attempt attemptView, state string) {
	GinkgoHelper()
	before := s.job(ctx, id)
	s.letGo(ctx, attempt.ID)
	Eventually(func(ctx context.Context) []eventView { return s.eventsOf(ctx, id, "late_answer") }).
		WithContext(ctx).WithTimeout(s.Patience).WithPolling(poll).Should(HaveLen(1))
	Expect(s.job(ctx, id)).To(Equal(before))
	after := s.attempt(ctx, id, attempt.Number)
	Expect(after.State).To(Equal(state))
	Expect(after.Usage).NotTo(BeNil(), "what the late answer cost is known")
}
