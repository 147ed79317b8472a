package breakpoints

import (
	"context"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// owners are the scenarios about keys.
func (g *stage) owners(s *scene) {
	It("hides a job from every other owner", func(ctx context.Context) {
		stranger := client{base: g.URL, key: g.makeKey("globex", "client,operator")}
		key := newKey()
		made := s.created(s.click(ctx, key, s.body(""), wait(30)))
		before, history := s.job(ctx, made.ID), s.events(ctx, made.ID)
		s.nothingAt(ctx, stranger, made.ID)
		Expect(s.job(ctx, made.ID)).To(Equal(before))
		Expect(s.events(ctx, made.ID)).To(Equal(history))

		list, err := stranger.call(ctx, http.MethodGet, "/v1/jobs", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(find[page[jobView]](list).Items).To(BeEmpty())

		theirs := &scene{Deployment: &Deployment{}}
		*theirs.Deployment = g.Deployment
		theirs.Key = stranger.key
		theirs.begin(ctx)
		other := theirs.created(theirs.click(ctx, key, s.body("", `"x": "another input"`), wait(30)))
		Expect(other.ID).NotTo(Equal(made.ID), "a key belongs to its owner")
		Expect(other.Owner).To(Equal("globex"))
		theirs.expectLedgerEqualsAttempts(ctx)
		s.overlook(ctx)
		s.jobs = nil
	})

	It("keeps operators' verbs from a client's key", func(ctx context.Context) {
		made, attempt := s.inDoubt(ctx)
		customer := client{base: g.URL, key: g.makeKey("acme", "client")}
		certificate := *g.target(ctx, contract, fallback).CertificationID
		at := attemptPath(made.ID, 1)
		for path, body := range map[string]string{
			at + "/resolve": `{"outcome": "failed", "note": "n"}`, at + "/release": "", at + "/cancel": "",
			"/v1/certifications/" + certificate + "/revoke": `{"reason": "r"}`,
		} {
			got, err := customer.call(ctx, http.MethodPost, path, []byte(body))
			Expect(err).NotTo(HaveOccurred())
			refused(got, http.StatusForbidden, "forbidden")
		}
		Expect(s.attempt(ctx, made.ID, 1)).To(Equal(attempt))
		Expect(g.target(ctx, contract, fallback).Eligible).To(BeTrue())
		got, err := customer.call(ctx, http.MethodGet, "/v1/jobs/"+made.ID, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(find[jobView](got).ID).To(Equal(made.ID), "the job is its owner's, whichever key")
		s.letGo(ctx, attempt.ID)
		s.becomes(ctx, made.ID, "succeeded")
	})

	It("keeps clients' verbs from an operator's key", func(ctx context.Context) {
		operator := client{base: g.URL, key: g.makeKey("acme", "operator")}
		got, err := operator.call(ctx, http.MethodPost, "/v1/jobs", []byte(s.body("")), header{"Idempotency-Key", newKey()})
		Expect(err).NotTo(HaveOccurred())
		refused(got, http.StatusForbidden, "forbidden")
	})

	It("pages an owner's jobs, newest first", func(ctx context.Context) {
		theirs := &scene{Deployment: &Deployment{}}
		*theirs.Deployment = g.Deployment
		theirs.Key = g.makeKey("hooli", "client")
		theirs.begin(ctx)
		var made []string
		for range 3 {
			job := theirs.newJob(ctx, "", wait(30))
			Expect(job.State).To(Equal("succeeded"))
			made = slices.Insert(made, 0, job.ID)
		}
		first := find[page[jobView]](theirs.get(ctx, "/v1/jobs?limit=2&state=succeeded&contract="+contract))
		Expect(first.NextCursor).NotTo(BeNil())
		second := find[page[jobView]](theirs.get(ctx, "/v1/jobs?limit=2&state=succeeded&contract="+contract+"&cursor="+*first.NextCursor))
		Expect(second.NextCursor).To(BeNil())
		var listed []string
		for _, job := range append(first.Items, second.Items...) {
			listed = append(listed, job.ID)
		}
		Expect(listed).To(Equal(made))
		Expect(find[page[jobView]](theirs.get(ctx, "/v1/jobs?state=unknown")).Items).To(BeEmpty())
		for _, query := range []string{"state=lost", "limit=0", "limit=x", "sate=unknown", "state=failed&state=unknown"} {
			refused(theirs.get(ctx, "/v1/jobs?"+query), http.StatusBadRequest, "invalid-parameter")
		}
		theirs.expectLedgerEqualsAttempts(ctx)
		s.overlook(ctx)
	})

	It("lets a revoked key in no more", func(ctx context.Context) {
		short := client{base: g.URL, key: g.makeKey("initech", "client")}
		got, err := short.call(ctx, http.MethodGet, "/v1/jobs", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Status).To(Equal(http.StatusOK))
		keys := decode[[]struct {
			ID string `json:"id"`
		}](g.cli(0, "keys", "list", "--owner", "initech", "--json"))
		Expect(keys).To(HaveLen(1))
		g.cli(0, "keys", "revoke", keys[0].ID)
		got, err = short.call(ctx, http.MethodGet, "/v1/jobs", nil)
		Expect(err).NotTo(HaveOccurred())
		s.turnedAway(got)
	})
}
