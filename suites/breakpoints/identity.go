package breakpoints

import (
	"context"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func (s *scene) identity() {
	It("makes one job, one attempt and one provider call of a hundred simultaneous clicks", s.doubleClick)
	It("makes one attempt of fifty simultaneous wishes for one", s.doubleWish)

	It("refuses the key for another input, says where they differ, and changes nothing", func(ctx context.Context) {
		key := newKey()
		made := s.created(s.click(ctx, key, s.body("", `"x_shelf": "B", "x_list": [1, 2]`), wait(30)))
		before, history := s.job(ctx, made.ID), s.events(ctx, made.ID)
		for _, other := range []struct{ extra, pointer string }{
			{`"x_shelf": "C", "x_list": [1, 2]`, "/input/x_shelf"},
			{`"x_list": [1, 2]`, "/input/x_shelf"},
			{`"x_shelf": "B", "x_list": [1, 2], "x_more": null`, "/input/x_more"},
			{`"x_shelf": "B", "x_list": [2, 1]`, "/input/x_list/0"},
		} {
			problem := refused(s.click(ctx, key, s.body("", other.extra)), http.StatusConflict, "idempotency-key-conflict")
			Expect(problem.Pointers).To(ContainElement(other.pointer))
			Expect(problem.Detail).NotTo(ContainSubstring(`"C"`), "pointers, never values")
		}
		problem := refused(s.click(ctx, key, s.body(s.Fallback, `"x_shelf": "B", "x_list": [1, 2]`)), http.StatusConflict, "idempotency-key-conflict")
		Expect(problem.Pointers).To(Equal([]string{"/target"}))
		Expect(s.job(ctx, made.ID)).To(Equal(before))
		Expect(s.events(ctx, made.ID)).To(Equal(history))
	})

	DescribeTable("takes what differs only in form for the same intent", s.sameIntent,
		Entry("white space", `"x": {"a": [1,2], "b": "c"}`, "\"x\" :\n\t{ \"a\" : [ 1 , 2 ] ,\r\n \"b\" : \"c\" }"),
		Entry("the order of keys", `"x": {"a": 1, "b": 2}, "y": 3`, `"y": 3, "x": {"b": 2, "a": 1}`),
		Entry("escapes of a letter", `"x": "café"`, `"x": "caf\u00e9"`),
		Entry("escapes in a key", `"é": 1`, `"\u00E9": 1`),
		Entry("an escaped solidus", `"x": "a/b"`, `"x": "a\/b"`),
		Entry("a surrogate pair", `"x": "😀"`, `"x": "\ud83d\ude00"`),
		Entry("1 and 1.0", `"x": 1`, `"x": 1.0`),
		Entry("1 and 1e0", `"x": 1`, `"x": 1e0`),
		Entry("100 and 1E+2", `"x": 100`, `"x": 1E+2`),
		Entry("a large integer written with zeros behind the point", `"x": 9007199254740993`, `"x": 9007199254740993.000`),
	)

	DescribeTable("takes what differs in value for another intent", s.otherIntent,
		Entry("the order of a list", `"x": ["a", "b"]`, `"x": ["b", "a"]`),
		Entry("only beyond 2^53", `"x": 9007199254740993`, `"x": 9007199254740992`),
		Entry("only beyond 2^64", `"x": 184467440737095516151`, `"x": 184467440737095516150`),
		Entry("the last of twenty decimals", `"x": 0.12345678901234567891`, `"x": 0.12345678901234567892`),
		Entry("null and absent", `"x": null`, `"y": null`),
		Entry("a number and its text", `"x": 1`, `"x": "1"`),
		Entry("composed and decomposed letters", `"x": "\u00e9"`, `"x": "e\u0301"`),
		Entry("letter case", `"x": "a"`, `"x": "A"`),
	)

	It("does not count metadata and other headers to the intent", func(ctx context.Context) {
		key, plain := newKey(), s.body("")
		made := s.created(s.click(ctx, key, plain, wait(30)))
		marked := strings.TrimSuffix(plain, "}") + `, "metadata": {"clicked": 2}}`
		again := s.replayed(s.click(ctx, key, marked, header{"X-Request-Id", newKey()}, header{"Accept-Language", "he"}))
		Expect(again.ID).To(Equal(made.ID))
		Expect(string(again.Metadata)).To(Equal("null"), "the first click's metadata stand")
	})

	It("reads the quoted form of a key as the plain one", func(ctx context.Context) {
		key := newKey()
		made := s.created(s.click(ctx, key, s.body("")))
		Expect(s.replayed(s.click(ctx, `"`+key+`"`, s.body(""))).ID).To(Equal(made.ID))
	})

	It("tells a job without a target from one that names the same target", func(ctx context.Context) {
		key := newKey()
		s.created(s.click(ctx, key, s.body("")))
		problem := refused(s.click(ctx, key, s.body(s.Primary)), http.StatusConflict, "idempotency-key-conflict")
		Expect(problem.Pointers).To(Equal([]string{"/target"}))
	})
}

// doubleClick is the mission in one spec.
func (s *scene) doubleClick(ctx context.Context) {
	const clicks = 100
	key, body := newKey(), s.body("")
	s.behaves(ctx, s.Primary, "hold") // so that every click meets the job under way
	answers := simultaneously(clicks, func() (answer, error) {
		return s.api().call(ctx, http.MethodPost, "/v1/jobs", []byte(body), header{"Idempotency-Key", key})
	})
	created, ids := 0, map[string]int{}
	for _, got := range answers {
		Expect(got.err).NotTo(HaveOccurred())
		ids[read[jobView](got.answer).ID]++
		if got.Status == http.StatusCreated {
			created++
			Expect(got.Header).NotTo(HaveKey("Idempotency-Replayed"))
			continue
		}
		Expect(got.Status).To(Equal(http.StatusOK), "%s", got)
		Expect(got.Header.Get("Idempotency-Replayed")).To(Equal("true"))
	}
	Expect(created).To(Equal(1))
	Expect(ids).To(HaveLen(1))
	for id := range ids {
		s.keep(id)
		attempt := s.arrives(ctx, id, 1)
		s.letGo(ctx, attempt.ID)
		done := s.becomes(ctx, id, "succeeded")
		Expect(s.attempts(ctx, id)).To(HaveLen(1))
		Expect(s.replayed(s.click(ctx, key, body))).To(Equal(done), "a replay shows the job as it is, result and all")
	}
}

// doubleWish is a double click on "try again".
func (s *scene) doubleWish(ctx context.Context) {
	const wishes = 50
	made := s.failed(ctx)
	s.behaves(ctx, s.Primary, "hold")
	key, path := newKey(), "/v1/jobs/"+made.ID+"/attempts"
	answers := simultaneously(wishes, func() (answer, error) {
		return s.api().call(ctx, http.MethodPost, path, nil, header{"Idempotency-Key", key})
	})
	created, ids := 0, map[string]int{}
	for _, got := range answers {
		Expect(got.err).NotTo(HaveOccurred())
		attempt := read[attemptView](got.answer)
		ids[attempt.ID]++
		Expect(attempt.Number).To(Equal(2), "%s", got)
		Expect(attempt.Role).To(Equal("manual"))
		if got.Status == http.StatusCreated {
			created++
		} else {
			Expect(got.Status).To(Equal(http.StatusOK), "%s", got)
			Expect(got.Header.Get("Idempotency-Replayed")).To(Equal("true"))
		}
	}
	Expect(created).To(Equal(1))
	Expect(ids).To(HaveLen(1))
	other := s.send(ctx, http.MethodPost, path, `{"target": `+quote(s.Fallback)+`}`, header{"Idempotency-Key", key})
	Expect(refused(other, http.StatusConflict, "idempotency-key-conflict").Pointers).To(Equal([]string{"/target"}))
	s.letGo(ctx, s.arrives(ctx, made.ID, 2).ID)
	s.becomes(ctx, made.ID, "succeeded")
	Expect(s.attempts(ctx, made.ID)).To(HaveLen(2))
}

// failed makes a job that failed with attempts left: a refusal is final.
func (s *scene) failed(ctx context.Context) jobView {
	GinkgoHelper()
	s.behaves(ctx, s.Primary, "refusing")
	return s.becomes(ctx, s.newJob(ctx, "").ID, "failed")
}

// outcome is an answer, or why there is none.
type outcome struct {
	answer
	err error
}

// simultaneously starts all calls at one moment and collects their outcomes.
func simultaneously(n int, call func() (answer, error)) []outcome {
	outcomes := make([]outcome, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() {
			<-start
			outcomes[i].answer, outcomes[i].err = call()
		})
	}
	close(start)
	all.Wait()
	return outcomes
}

func (s *scene) sameIntent(ctx context.Context, first, again string) {
	key := newKey()
	made := s.created(s.click(ctx, key, s.body("", first)))
	Expect(s.replayed(s.click(ctx, key, s.body("", again))).ID).To(Equal(made.ID))
	s.becomes(ctx, made.ID, "succeeded")
	Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
}

func (s *scene) otherIntent(ctx context.Context, first, other string) {
	key := newKey()
	made := s.created(s.click(ctx, key, s.body("", first)))
	problem := refused(s.click(ctx, key, s.body("", other)), http.StatusConflict, "idempotency-key-conflict")
	Expect(problem.Pointers).To(ContainElement(HavePrefix("/input/")))
	Expect(s.replayed(s.click(ctx, key, s.body("", first))).ID).To(Equal(made.ID), "the key still names the first intent")
	s.becomes(ctx, made.ID, "succeeded")
	Expect(s.attempts(ctx, made.ID)).To(HaveLen(1))
}
