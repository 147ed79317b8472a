package breakpoints

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const retentionConfig = `
server: {listen: "127.0.0.1:0", accept_sources: [simulated]}
store: {url: "$STORE", retention: 1s}
contracts: ./contracts
providers:
  alpha:
    {base_url: $SIMULATOR, source: simulated, models: {alpha-large: {context_window: 128000, tokenizer: o200k_base}}}
routes:
  steady: {primary: alpha/alpha-large}
`

// retention is a deployment that forgets quickly.
func retention(on engine) func(context.Context) {
	return func(ctx context.Context) {
		g := &stage{}
		g.prepare(on, retentionConfig, "alpha-large")
		g.contract(steady)
		g.Contract, g.Primary = steady, primary
		s := &scene{Deployment: &g.Deployment}
		s.begin(ctx)
		g.start(ctx)
		theirs := client{base: g.URL, key: g.makeKey("globex", "client,operator")}

		Expect(g.control().behave(ctx, primary, "hold")).To(Succeed())
		open := s.newJob(ctx, "")
		held := s.arrives(ctx, open.ID, 1)
		Expect(g.control().behave(ctx, primary, "faithful")).To(Succeed())
		key := newKey()
		closed := s.created(s.click(ctx, key, s.body("")))

		By("answering for what is gone")
		Eventually(func(ctx context.Context) int {
			return s.get(ctx, "/v1/jobs/"+closed.ID).Status
		}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal(http.StatusGone))
		at := "/v1/jobs/" + closed.ID
		for _, path := range []string{at, at + "/attempts", at + "/attempts/1", at + "/events"} {
			refused(s.get(ctx, path), http.StatusGone, "job-purged")
			got, err := theirs.call(ctx, http.MethodGet, path, nil)
			Expect(err).NotTo(HaveOccurred())
			refused(got, http.StatusNotFound, "not-found")
		}
		refused(s.send(ctx, http.MethodPost, at+"/cancel", ""), http.StatusGone, "job-purged")
		refused(s.tryAgain(ctx, closed.ID, ""), http.StatusGone, "job-purged")
		refused(s.end(ctx, closed.ID, 1, "resolve", `{"outcome": "failed", "note": "n"}`), http.StatusGone, "job-purged")

		By("taking its key for its own intent, and for no other")
		refused(s.click(ctx, key, s.body("")), http.StatusGone, "job-purged")
		refused(s.click(ctx, key, s.body("", `"x": "another input"`)), http.StatusConflict, "idempotency-key-conflict")
		seen, _, err := s.requests(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(seen).To(HaveLen(2), "nothing was sent again")

		By("keeping what may still move, however old")
		items := find[page[jobView]](s.get(ctx, "/v1/jobs")).Items
		Expect(items).To(HaveLen(1))
		Expect(items[0].ID).To(Equal(open.ID))
		s.letGo(ctx, held.ID)
	}
}
