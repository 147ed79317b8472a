package deployment

import (
	"context"
	"net/http"
	"net/url"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// absences are about replicas that die, return, or are taken out.
func (g *stage) absences() {
	It("has a click answered whose replica dies, by nginx and by nobody else", func(ctx context.Context) {
		key := newKey()
		dying := g.home(ctx, key)
		ofHeld := url.Values{"model": {model(held)}}
		before := len(g.ledger(ctx, 0, ofHeld))
		waiting := make(chan outcome, 1)
		go func() {
			got, err := g.nginx.call(ctx, http.MethodPost, "/v1/jobs", intent(held), header{"Idempotency-Key", key}, wait(60))
			waiting <- outcome{got, err}
		}()
		g.ledger(ctx, before+1, ofHeld)
		var others []*replica
		told := 0
		for _, r := range g.replicas {
			if r != dying {
				others = append(others, r)
				told += r.posts()
			}
		}
		dying.kill()
		var got outcome
		Eventually(waiting).WithContext(ctx).WithTimeout(patience).Should(Receive(&got))
		Expect(got.err).NotTo(HaveOccurred())
		problem := unanswered(got.answer, http.StatusBadGateway)
		Expect(g.nginx.logged(ctx, 1, byInstance(problem))[0].asked()).To(Equal([]string{dying.address}))

		found := replayed(g.click(ctx, key, held))
		Expect(g.ledger(ctx, before+1, ofHeld)).To(HaveLen(before+1), "repeating it called nobody")
		Eventually(func() (now int) {
			for _, r := range others {
				now += r.posts()
			}
			return now
		}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal(told+1), "the click that was repeated, and no other")

		Expect(g.nginx.send(ctx, http.MethodPost, "/v1/jobs/"+found.ID+"/cancel", "").Status).To(Equal(http.StatusOK))
		Expect(g.only(ctx, found.ID).State).To(Equal("cancelled"))
		g.returns(ctx, dying, key)
	})

	It("makes a job although its replica was gone before the click", func(ctx context.Context) {
		key := newKey()
		gone := g.home(ctx, key)
		gone.kill()
		made := read[jobView](g.click(ctx, key, faithful, wait(30)), http.StatusCreated)
		Expect(made.State).To(Equal("succeeded"))
		asked := g.nginx.logged(ctx, 2, with(key))[1].asked()
		Expect(asked).To(HaveLen(2))
		Expect(asked[0]).To(Equal(gone.address))
		g.only(ctx, made.ID)
		g.returns(ctx, gone, key)
	})

	It("has reads answered with a replica gone", func(ctx context.Context) {
		key := newKey()
		made := read[jobView](g.click(ctx, key, faithful, wait(30)), http.StatusCreated)
		gone := g.at(g.nginx.logged(ctx, 1, with(key))[0].asked()[0])
		gone.kill()
		const count = 60
		for range count {
			Expect(read[jobView](g.nginx.get(ctx, "/v1/jobs/"+made.ID), http.StatusOK)).To(Equal(made))
		}
		Expect(everybody(g.nginx.logged(ctx, count, at("/v1/jobs/"+made.ID)))).To(ContainElement(gone.address), "some of them had met it first")
		g.returns(ctx, gone, key)
	})

	It("takes a replica out before it is stopped, without a client noticing", func(ctx context.Context) {
		key := newKey()
		made := read[jobView](g.click(ctx, key, held), http.StatusCreated)
		attempt := g.only(ctx, made.ID)
		leaving := g.at(g.nginx.logged(ctx, 1, with(key))[0].asked()[0])
		in, out := "server "+leaving.address+" ", "server "+leaving.address+" down "
		g.nginx.edit(edit{"fallproof/replicas.conf", in, out})
		g.nginx.reload()
		Expect(g.home(ctx, key)).NotTo(Equal(leaving))
		leaving.session.Signal(syscall.SIGTERM)
		Expect(replayed(g.click(ctx, key, held)).ID).To(Equal(made.ID))
		g.letGo(ctx, attempt.ID) // it is finished where it was begun
		Eventually(leaving.session).WithTimeout(patience).WithPolling(poll).Should(gexec.Exit(0))
		done := read[jobView](g.nginx.get(ctx, "/v1/jobs/"+made.ID), http.StatusOK)
		Expect(done.State).To(Equal("succeeded"))

		g.nginx.edit(edit{"fallproof/replicas.conf", out, in})
		g.nginx.reload()
		g.returns(ctx, leaving, key)
	})
}
