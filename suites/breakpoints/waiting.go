package breakpoints

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func (s *scene) waiting() {
	It("answers at once without a preference", func(ctx context.Context) {
		s.behaves(ctx, s.Primary, "hold")
		made := s.newJob(ctx, "")
		Expect(made.State).To(BeElementOf("running", "pending"))
		s.letGo(ctx, s.arrives(ctx, made.ID, 1).ID)
		s.becomes(ctx, made.ID, "succeeded")
	})

	It("waits for the outcome where that is preferred, for POST", func(ctx context.Context) {
		got := s.click(ctx, newKey(), s.body(s.Fallback), wait(30))
		done := s.created(got)
		Expect(got.Header.Get("Preference-Applied")).To(Equal("wait=30"))
		Expect(done.State).To(Equal("succeeded"))
		Expect(string(done.Result)).To(HavePrefix("{"))
		Expect(done.CompletedBy).To(HaveValue(Equal(1)))
	})

	It("waits for the outcome where that is preferred, for GET", func(ctx context.Context) {
		s.behaves(ctx, s.Fallback, "hold")
		made := s.newJob(ctx, s.Fallback)
		attempt := s.arrives(ctx, made.ID, 1)
		waited := make(chan outcome, 1)
		go func() {
			got, err := s.api().call(ctx, http.MethodGet, "/v1/jobs/"+made.ID, nil, wait(60))
			waited <- outcome{got, err}
		}()
		s.letGo(ctx, attempt.ID)
		var got outcome
		Eventually(waited).WithContext(ctx).WithTimeout(s.Patience).Should(Receive(&got))
		Expect(got.err).NotTo(HaveOccurred())
		Expect(find[jobView](got.answer).State).To(Equal("succeeded"))
	})

	It("answers with what is known when the time preferred is over", func(ctx context.Context) {
		s.behaves(ctx, s.Fallback, "hold")
		made := s.newJob(ctx, s.Fallback)
		attempt := s.arrives(ctx, made.ID, 1)
		got := s.get(ctx, "/v1/jobs/"+made.ID, wait(1))
		Expect(got.Header.Get("Preference-Applied")).To(Equal("wait=1"))
		s.underWay(ctx, made.ID, find[jobView](got).State)
		s.letGo(ctx, attempt.ID)
		s.becomes(ctx, made.ID, "succeeded")
	})

	It("stops waiting when the outcome is doubt", func(ctx context.Context) {
		made, attempt := s.inDoubt(ctx)
		Expect(find[jobView](s.get(ctx, "/v1/jobs/"+made.ID, wait(60))).State).To(Equal("unknown"))
		s.letGo(ctx, attempt.ID)
		s.becomes(ctx, made.ID, "succeeded")
	})

	It("goes on without a client that leaves", func(ctx context.Context) {
		s.behaves(ctx, s.Fallback, "hold")
		key, body := newKey(), s.body(s.Fallback)
		visit, leave := context.WithCancel(ctx)
		left := make(chan error, 1)
		go func() {
			_, err := s.api().call(visit, http.MethodPost, "/v1/jobs", []byte(body), header{"Idempotency-Key", key}, wait(60))
			left <- err
		}()
		Eventually(func(g Gomega, ctx context.Context) {
			seen, _, err := s.requests(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(seen).To(HaveLen(1))
		}).WithContext(ctx).WithTimeout(s.Patience).WithPolling(poll).Should(Succeed())
		leave()
		Eventually(left).WithContext(ctx).WithTimeout(s.Patience).Should(Receive(Or(BeNil(), MatchError(context.Canceled))),
			"the wait ends with the client, or before it with a short soft deadline")
		made := s.replayed(s.click(ctx, key, body))
		s.keep(made.ID)
		s.underWay(ctx, made.ID, made.State)
		s.letGo(ctx, s.arrives(ctx, made.ID, 1).ID)
		s.becomes(ctx, made.ID, "succeeded")
		Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
	})
}

// underWay expects a job whose first attempt is held to be running; or in doubt, where the deployment's
// soft deadline is so short that it has passed meanwhile.
func (s *scene) underWay(ctx context.Context, id, state string) {
	GinkgoHelper()
	if state == "unknown" {
		Expect(s.attempt(ctx, id, 1).why()).To(Equal("timeout"))
		return
	}
	Expect(state).To(Equal("running"))
}
