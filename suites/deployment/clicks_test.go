package deployment

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// clicks are about three replicas that are all well.
func (g *stage) clicks() {
	It("of one key meet one replica and make one job with one call", func(ctx context.Context) {
		const count = 40
		key := newKey()
		names := []string{key, `"` + key + `"`} // one key in both its forms
		ids, statuses := map[string]int{}, map[int]int{}
		for _, got := range simultaneously(count, func(i int) (answer, error) {
			return g.nginx.call(ctx, http.MethodPost, "/v1/jobs", intent(held), header{"Idempotency-Key", names[i%2]})
		}) {
			Expect(got.err).NotTo(HaveOccurred())
			statuses[got.Status]++
			ids[read[jobView](got.answer, got.Status).ID]++
		}
		Expect(statuses).To(Equal(map[int]int{http.StatusCreated: 1, http.StatusOK: count - 1}))
		Expect(ids).To(HaveLen(1))
		requests := g.nginx.logged(ctx, count, with(key))
		for _, r := range requests {
			Expect(r.asked()).To(HaveLen(1))
		}
		Expect(everybody(requests)).To(HaveLen(1))

		for id := range ids {
			attempt := g.only(ctx, id)
			g.letGo(ctx, attempt.ID)
			done := read[jobView](g.nginx.get(ctx, "/v1/jobs/"+id, wait(30)), http.StatusOK)
			Expect(done.State).To(Equal("succeeded"))
			Expect(replayed(g.click(ctx, key, held))).To(Equal(done))
			Expect(g.only(ctx, id).Sends).To(Equal(1))
		}
	})

	It("of many keys are spread over all replicas, and each key stays with its own", func(ctx context.Context) {
		const count = 60
		keys := make([]string, count)
		for i := range keys {
			keys[i] = newKey()
		}
		for range 2 {
			for _, got := range simultaneously(count, func(i int) (answer, error) {
				return g.nginx.call(ctx, http.MethodPost, "/v1/jobs", intent(faithful), header{"Idempotency-Key", keys[i]})
			}) {
				Expect(got.err).NotTo(HaveOccurred())
				Expect(got.Status).To(BeElementOf(http.StatusCreated, http.StatusOK), "%s", got.answer)
			}
		}
		var all []request
		for _, key := range keys {
			both := g.nginx.logged(ctx, 2, with(key))
			Expect(both[0].Status).To(Equal(http.StatusCreated))
			Expect(both[1].Status).To(Equal(http.StatusOK))
			Expect(everybody(both)).To(HaveLen(1))
			all = append(all, both...)
		}
		Expect(everybody(all)).To(ConsistOf(g.nginx.replicas))
	})

	It("without a key are spread as well", func(ctx context.Context) {
		const count = 60
		made := read[jobView](g.click(ctx, newKey(), faithful, wait(30)), http.StatusCreated)
		Expect(made.State).To(Equal("succeeded"))
		for _, got := range simultaneously(count, func(int) (answer, error) {
			return g.nginx.call(ctx, http.MethodGet, "/v1/jobs/"+made.ID, "")
		}) {
			Expect(got.err).NotTo(HaveOccurred())
			Expect(read[jobView](got.answer, http.StatusOK)).To(Equal(made))
		}
		Expect(everybody(g.nginx.logged(ctx, count, at("/v1/jobs/"+made.ID)))).To(ConsistOf(g.nginx.replicas))
	})
}
