package breakpoints

import (
	"context"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// expectLedgerEqualsAttempts holds what the providers saw since the scenario began against what the API
// says about the scenario's jobs, call for call: every request names an attempt of one of them, and every
// attempt was requested exactly as often as it was sent.
func (s *scene) expectLedgerEqualsAttempts(ctx context.Context) {
	GinkgoHelper()
	var last int64
	// A running attempt counts as sent a moment before its request arrives, hence the waiting.
	Eventually(func(g Gomega, ctx context.Context) {
		seen, upTo, err := s.requests(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(seen).To(Equal(s.sends(ctx, g)), "requests in the ledger, and sends of the attempts, by attempt id")
		last = upTo
	}).WithContext(ctx).WithTimeout(s.Patience).WithPolling(poll).Should(Succeed())
	s.since = last // what comes after it has to be explained by the next scenario, which cannot
}

// overlook takes every request so far for explained.
func (s *scene) overlook(ctx context.Context) {
	GinkgoHelper()
	s.since = 0
	_, last, err := s.requests(ctx)
	Expect(err).NotTo(HaveOccurred())
	s.since = last
}

// requests counts what arrived at the simulator since the scenario began, by attempt id. last is the
// number of the last request.
func (s *scene) requests(ctx context.Context) (seen map[string]int, last int64, err error) {
	entries, err := s.control().ledger(ctx, "")
	seen, last = map[string]int{}, s.since
	for _, entry := range entries {
		if entry.Seq <= s.since {
			continue
		}
		last = entry.Seq
		name := entry.AttemptID
		if entry.Method != http.MethodPost || name == "" {
			name = entry.Method + " " + entry.Path + " without an attempt" // no job explains it
		}
		seen[name]++
	}
	return seen, last, err
}

// sends counts what the scenario's attempts say that was sent. No contract of these scenarios has an
// attempt sent twice.
func (s *scene) sends(ctx context.Context, g Gomega) map[string]int {
	sent := map[string]int{}
	for _, id := range s.jobs {
		for i, attempt := range s.attempts(ctx, id) {
			g.Expect(attempt.JobID).To(Equal(id))
			g.Expect(attempt.Number).To(Equal(i + 1))
			g.Expect(attempt.Sends).To(BeNumerically("<=", 1))
			if attempt.Sends > 0 {
				sent[attempt.ID] = attempt.Sends
			}
		}
	}
	return sent
}

// expectOneWinner checks what holds of every job at every moment: a succeeded one has exactly one
// winner, which is the attempt that it names; any other has none.
func (s *scene) expectOneWinner(ctx context.Context) {
	GinkgoHelper()
	for _, id := range s.jobs {
		// The two readings are no snapshot, hence once more where something moved in between.
		Eventually(func(g Gomega, ctx context.Context) {
			job := s.job(ctx, id)
			winners := slices.DeleteFunc(s.attempts(ctx, id), func(a attemptView) bool { return a.State != "succeeded" })
			if job.State != "succeeded" {
				g.Expect(winners).To(BeEmpty())
				g.Expect(job.CompletedBy).To(BeNil())
				g.Expect(string(job.Result)).To(Equal("null"))
				return
			}
			g.Expect(winners).To(HaveLen(1))
			g.Expect(job.CompletedBy).To(HaveValue(Equal(winners[0].Number)))
			g.Expect(job.CompletedAt).NotTo(BeNil())
		}).WithContext(ctx).WithTimeout(s.Patience).WithPolling(poll).Should(Succeed(), "job %s", id)
	}
}
