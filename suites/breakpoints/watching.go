package breakpoints

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// becomes waits until a job is in a state.
func (s *scene) becomes(ctx context.Context, id, state string) jobView {
	GinkgoHelper()
	var seen jobView
	Eventually(func(ctx context.Context) string {
		seen = s.job(ctx, id)
		return seen.State
	}).WithContext(ctx).WithTimeout(s.Patience).WithPolling(poll).Should(Equal(state), "job %s", id)
	return seen
}

// attemptBecomes waits until there is such an attempt in a state.
func (s *scene) attemptBecomes(ctx context.Context, id string, number int, state string) attemptView {
	GinkgoHelper()
	var seen attemptView
	Eventually(func(ctx context.Context) string {
		attempts := s.attempts(ctx, id)
		if len(attempts) < number {
			return "not there"
		}
		seen = attempts[number-1]
		return seen.State
	}).WithContext(ctx).WithTimeout(s.Patience).WithPolling(poll).Should(Equal(state), "attempt %d of job %s", number, id)
	return seen
}

// arrives waits until an attempt's request is in the provider's hands, and returns the attempt.
func (s *scene) arrives(ctx context.Context, id string, number int) attemptView {
	GinkgoHelper()
	Eventually(func(ctx context.Context) int { return len(s.attempts(ctx, id)) }).
		WithContext(ctx).WithTimeout(s.Patience).WithPolling(poll).Should(BeNumerically(">=", number))
	attempt := s.attempt(ctx, id, number)
	Expect(s.control().arrival(ctx, attempt.ID)).To(Succeed())
	return attempt
}

// letGo has the provider answer a held attempt, and waits until it has.
func (s *scene) letGo(ctx context.Context, attemptID string) {
	GinkgoHelper()
	released, err := s.control().release(ctx, attemptID)
	Expect(err).NotTo(HaveOccurred())
	Expect(released).To(Equal(1), "the attempt's request was not held")
	Expect(s.control().conclusion(ctx, attemptID)).To(Succeed())
}

// inDoubt makes a job whose first attempt is held by the primary until it is unknown.
func (s *scene) inDoubt(ctx context.Context) (jobView, attemptView) {
	GinkgoHelper()
	s.behaves(ctx, s.Primary, "hold")
	made := s.newJob(ctx, "")
	s.arrives(ctx, made.ID, 1)
	attempt := s.attemptBecomes(ctx, made.ID, 1, "unknown")
	Expect(attempt.why()).To(Equal("timeout"))
	return s.becomes(ctx, made.ID, "unknown"), attempt
}
