package breakpoints

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func (s *scene) refusals() {
	DescribeTable("a body that is not one unambiguous JSON object of the request", s.badBody,
		Entry("nothing at all", http.StatusBadRequest, "malformed-body", func(string) string { return "" }),
		Entry("malformed JSON", http.StatusBadRequest, "malformed-body", func(good string) string { return good[:len(good)-2] }),
		Entry("a list", http.StatusBadRequest, "malformed-body", func(good string) string { return "[" + good + "]" }),
		Entry("something behind it", http.StatusBadRequest, "malformed-body", func(good string) string { return good + "{}" }),
		Entry("a duplicate key", http.StatusBadRequest, "malformed-body", within(`"x": 1, "x": 1`)),
		Entry("a duplicate key by an escape", http.StatusBadRequest, "malformed-body", within(`"x": 1, "\u0078": 1`)),
		Entry("bad UTF-8", http.StatusBadRequest, "malformed-body", within("\"x\": \"\xff\"")),
		Entry("a lone surrogate", http.StatusBadRequest, "malformed-body", within(`"x": "\ud800"`)),
		Entry("a NUL", http.StatusBadRequest, "malformed-body", within(`"x": "\u0000"`)),
		Entry("a number that JSON does not know", http.StatusBadRequest, "malformed-body", within(`"x": NaN`)),
		Entry("an unknown field", http.StatusBadRequest, "malformed-body", beside(`"priority": 1`)),
		Entry("a target that is no text", http.StatusBadRequest, "malformed-body", beside(`"target": 1`)),
		Entry("metadata that are no object", http.StatusBadRequest, "malformed-body", beside(`"metadata": []`)),
		Entry("an input that is no object", http.StatusBadRequest, "malformed-body", func(string) string { return `{"contract": "x", "input": "y"}` }),
		Entry("no contract", http.StatusBadRequest, "malformed-body", func(string) string { return `{"input": {}}` }),
		Entry("too much of it", http.StatusRequestEntityTooLarge, "body-too-large", within(`"x": "`+strings.Repeat("x", 8<<20)+`"`)),
		Entry("an unknown contract", http.StatusUnprocessableEntity, "unknown-contract", func(string) string { return `{"contract": "no-such-contract", "input": {}}` }),
		Entry("an unknown target", http.StatusUnprocessableEntity, "unknown-target", beside(`"target": "nobody/nothing"`)),
		Entry("a target without a model", http.StatusUnprocessableEntity, "unknown-target", beside(`"target": "nobody"`)),
	)

	It("an input that the contract's messages cannot render", func(ctx context.Context) {
		s.badBodyIs(ctx, http.StatusUnprocessableEntity, "invalid-input", `{"contract": `+quote(s.Contract)+`, "input": {"x_nothing": "of use"}}`)
	})

	It("no key at all", func(ctx context.Context) {
		refused(s.send(ctx, http.MethodPost, "/v1/jobs", s.body("")), http.StatusBadRequest, "idempotency-key-missing")
	})

	It("two keys", func(ctx context.Context) {
		refused(s.click(ctx, newKey(), s.body(""), header{"Idempotency-Key", newKey()}), http.StatusBadRequest, "idempotency-key-invalid")
	})

	DescribeTable("a key that is none", func(ctx context.Context, key string) {
		refused(s.click(ctx, key, s.body("")), http.StatusBadRequest, "idempotency-key-invalid")
	},
		Entry("empty", ""),
		Entry("empty between quotes", `""`),
		Entry("256 characters", strings.Repeat("k", 256)),
		Entry("with a space", "two words"),
		Entry("beyond ASCII", "clé"),
		Entry("quoted and not ended", `"open`),
	)

	It("takes a key of 255 characters", func(ctx context.Context) {
		key := newKey()
		key += strings.Repeat("k", 255-len(key))
		made := s.created(s.click(ctx, key, s.body("")))
		Expect(s.replayed(s.click(ctx, key, s.body(""))).ID).To(Equal(made.ID))
	})
}

// within puts members into a good request's input.
func within(members string) func(string) string {
	return func(good string) string { return strings.TrimSuffix(good, "}}") + ", " + members + "}}" }
}

// beside puts members beside a good request's input.
func beside(members string) func(string) string {
	return func(good string) string { return strings.TrimSuffix(good, "}") + ", " + members + "}" }
}

func (s *scene) badBody(ctx context.Context, status int, problem string, spoil func(string) string) {
	s.badBodyIs(ctx, status, problem, spoil(s.body("")))
}

// badBodyIs sends a bad body under a fresh key, looks for traces of it, and then uses the key.
func (s *scene) badBodyIs(ctx context.Context, status int, problem, bad string) {
	GinkgoHelper()
	key, before := newKey(), s.newest(ctx)
	refused(s.click(ctx, key, bad), status, problem)
	Expect(s.newest(ctx)).To(Equal(before), "nothing was stored")
	made := s.created(s.click(ctx, key, s.body("")))
	s.becomes(ctx, made.ID, "succeeded")
}

// newest is the id of the owner's newest job.
func (s *scene) newest(ctx context.Context) string {
	GinkgoHelper()
	found := find[page[jobView]](s.get(ctx, "/v1/jobs?limit=1"))
	if len(found.Items) == 0 {
		return ""
	}
	return found.Items[0].ID
}
