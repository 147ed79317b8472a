package simulator

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestWhatIsStored asks, after each way to behave, what became of the request: what was done is found,
// with the answer that was or was not delivered, and what was not done is not.
func TestWhatIsStored(t *testing.T) {
	for model, executes := range map[string]bool{
		"faithful": true, "plausible": true, "truncating": true, "refusing": true, "renamed": true, "slow:5ms": true,
		"empty-choices": true, "half-body": true, "dropping": true, "dropping:reset": true, "dropping:executed": true,
		"overloaded:504:executed": true,
		"dropping:unexecuted":     false, "dropping:reset:unexecuted": false, "rate-limited": false, "overloaded": false,
		"overloaded:500": false, "unauthorized": false, "redirecting": false, "no-such-model": false,
	} {
		t.Run(model, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			f.chat(stored(t, "faithful", "other"), "other")
			got := f.chat(stored(t, model, "a1"), "a1")
			entry := f.waitFor(1, Filter{AttemptID: "a1", Answered: true})[0]
			g.Expect(entry.Executed).To(Equal(executes))

			page := f.list("metadata[attempt]", "a1")
			if !executes {
				g.Expect(entry.Produced).To(BeNil())
				g.Expect(page.Data).To(BeEmpty())
				g.Expect(f.list().Data).To(HaveLen(1))
				return
			}
			g.Expect(page.Data).To(HaveLen(1))
			g.Expect(page.Data[0].Metadata).To(Equal(map[string]string{"attempt": "a1", "team": "blue"}))
			g.Expect(page.Data[0].ID).To(Equal(entry.Produced.ID))
			g.Expect(entry.Produced.Stored).To(BeTrue())
			if got.err == nil && got.status == http.StatusOK {
				g.Expect(page.Data[0].completionSeen).To(Equal(got.completion(t)), "as it was answered")
			}
			for _, choice := range page.Data[0].Choices {
				if choice.Message.Content != nil {
					g.Expect(entry.Produced.Content).To(Equal(*choice.Message.Content))
				}
			}
			fetched := f.get(pathCompletions + "/" + page.Data[0].ID)
			g.Expect(fetched.completion(t)).To(Equal(page.Data[0].completionSeen))
		})
	}
}

func TestAFailedCompletionLeavesNothingBehind(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	g.Expect(f.chat(stored(t, "error-200", "a1"), "a1").status).To(Equal(200))
	entry := f.waitAnswered(1)[0]
	g.Expect(entry.Executed).To(BeTrue())
	g.Expect(entry.Produced).To(BeNil())
	g.Expect(f.list().Data).To(BeEmpty())
}

func TestNothingIsStoredUnasked(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	body, _ := sample(t, "faithful")
	c := f.chat(body, "a1").completion(t)
	f.chat(with(body, map[string]any{"store": false}), "a2")
	g.Expect(f.list().Data).To(BeEmpty())
	g.Expect(f.get(pathCompletions + "/" + c.ID).status).To(Equal(404))
	g.Expect(f.Ledger()[0].Executed).To(BeTrue())
	g.Expect(f.Ledger()[0].Produced.Stored).To(BeFalse())
}

// TestWorkOutlivesItsClient: the client leaves while the model is at work; the completion appears when the
// model is done, and not before.
func TestWorkOutlivesItsClient(t *testing.T) {
	for _, model := range []string{"hold", "hold:late:1ms", "hold:silent:executed", "hold:dropping", "hold:overloaded:500:executed"} {
		t.Run(model, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			ctx, leave := context.WithCancel(context.Background())
			done := make(chan seen, 1)
			go func() { done <- f.do(ctx, http.MethodPost, pathCompletions, stored(t, model, "a1"), "a1") }()
			f.waitFor(1, Filter{Executed: true})
			leave()
			<-done
			entry := f.waitAnswered(1)[0]
			g.Expect(entry.Answered.Outcome).To(Equal(OutcomeUnanswered))
			g.Expect(entry.Produced).To(BeNil())
			g.Expect(f.list("metadata[attempt]", "a1").Data).To(BeEmpty(), "still at work")

			g.Expect(f.Release(Filter{AttemptID: "a1"})).To(Equal(1))
			f.waitFor(1, Filter{Produced: true})
			g.Expect(f.list("metadata[attempt]", "a1").Data).To(HaveLen(1))
			_, expected := sample(t, "")
			g.Expect(decoded(t, f.waitAnswered(1)[0].Produced.Content)).To(Equal(plain(expected)))
			g.Expect(f.Release(Filter{AttemptID: "a1"})).To(BeZero())
		})
	}
}

func TestSilenceMayHideWork(t *testing.T) {
	for model, executes := range map[string]bool{"silent": false, "silent:unexecuted": false, "silent:executed": true} {
		t.Run(model, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			ctx, leave := context.WithCancel(context.Background())
			done := make(chan seen, 1)
			go func() { done <- f.do(ctx, http.MethodPost, pathCompletions, stored(t, model, "a1"), "a1") }()
			f.waitFor(1, Filter{Produced: executes})
			g.Expect(f.list().Data).To(HaveLen(map[bool]int{true: 1}[executes]))
			g.Expect(f.Ledger()[0].Answered).To(BeNil())
			g.Expect(f.Release(Filter{})).To(Equal(map[bool]int{false: 1}[executes]), "work that is done is not held")
			leave()
			g.Expect((<-done).err).To(MatchError(context.Canceled))
			g.Expect(f.waitAnswered(1)[0].Executed).To(Equal(executes))
			g.Expect(f.list().Data).To(HaveLen(map[bool]int{true: 1}[executes]))
		})
	}
}

// TestWorkEndsWithTheServer relies on Close, which returns only when every work has ended.
func TestWorkEndsWithTheServer(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	models := []string{"hold", "late:1h", "silent:executed"}
	done := make(chan seen, len(models))
	for _, model := range models {
		go func() {
			done <- f.do(context.Background(), http.MethodPost, pathCompletions, stored(t, model, "a1"), "a1")
		}()
		f.waitFor(1, Filter{Model: model, Executed: true})
	}
	g.Expect(f.respond(inBackground(t, "hold"), "a2").status).To(Equal(200))
	f.Simulator.Close()
	for range models {
		g.Expect((<-done).err).To(HaveOccurred())
	}
	g.Expect(f.Select(Filter{AttemptID: "a2"})[0].Produced).To(BeNil())
}

func TestPagesOfStoredCompletions(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	var ids []string
	for i := range 25 {
		model, attempt := "faithful", fmt.Sprintf("even-%d", i)
		if i%2 == 1 {
			model, attempt = "acme-faithful", fmt.Sprintf("odd & = ] %d", i)
		}
		ids = append(ids, f.chat(stored(t, model, attempt), "").completion(t).ID)
	}
	first := f.list()
	g.Expect(first.Object).To(Equal("list"))
	g.Expect(first.ids()).To(Equal(ids[:20]), "twenty unless said, oldest first")
	g.Expect(first.FirstID).To(HaveValue(Equal(ids[0])))
	g.Expect(first.LastID).To(HaveValue(Equal(ids[19])))
	g.Expect(first.HasMore).To(HaveValue(BeTrue()))
	second := f.list("after", ids[19])
	g.Expect(second.ids()).To(Equal(ids[20:]))
	g.Expect(second.HasMore).To(HaveValue(BeFalse()))
	g.Expect(f.list("limit", "25").HasMore).To(HaveValue(BeFalse()))
	beyond := f.list("after", ids[24])
	g.Expect(beyond.ids()).To(BeEmpty())
	g.Expect(beyond.FirstID).To(BeNil())
	g.Expect(beyond.LastID).To(BeNil())

	// Page by page in both orders, everything is seen once.
	for _, order := range []string{"asc", "desc"} {
		var got []string
		page := f.list("order", order, "limit", "7")
		for got = append(got, page.ids()...); *page.HasMore; got = append(got, page.ids()...) {
			page = f.list("order", order, "limit", "7", "after", *page.LastID)
		}
		if order == "desc" {
			slices.Reverse(got)
		}
		g.Expect(got).To(Equal(ids), order)
	}

	g.Expect(f.list("model", "acme-faithful", "limit", "100").Data).To(HaveLen(12))
	g.Expect(f.list("metadata[attempt]", "odd & = ] 7").ids()).To(Equal(ids[7:8]))
	g.Expect(f.list("metadata[attempt]", "odd & = ] 7", "metadata[team]", "red").Data).To(BeEmpty(), "all must hold")
	g.Expect(f.list("metadata[attempt]", "even-0", "model", "acme-faithful").Data).To(BeEmpty())
	g.Expect(f.list("metadata[]", "").Data).To(BeEmpty(), "a key that nothing has")
}

func TestTheListingIsInTheOrderOfTheRequests(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	done := make(chan seen, 1)
	go func() { done <- f.chat(stored(t, "hold", "a1"), "a1") }()
	f.waitFor(1, Filter{Executed: true})
	second := f.chat(stored(t, "faithful", "a2"), "a2").completion(t)
	f.Release(Filter{AttemptID: "a1"})
	first := (<-done).completion(t)
	g.Expect(f.list().ids()).To(Equal([]string{first.ID, second.ID}))
}

func TestBadQuestionsAreRefused(t *testing.T) {
	f := listen(t, Config{APIKey: "sk-right"})
	for path, want := range map[string]string{
		"?limit=0": "limit", "?limit=101": "limit", "?limit=many": "limit", "?order=up": "order", "?metadata=a1": "metadata",
		"?metadata[attempt=a1": "metadata[attempt", "?after=chatcmpl-none": "after", "/chatcmpl-none": "", "?limt=3": "limt",
	} {
		t.Run(path, func(t *testing.T) {
			g := NewWithT(t)
			got := f.authorized(pathCompletions + path)
			g.Expect(got.status).To(BeElementOf(400, 404))
			failure := got.completion(t).Error
			g.Expect(failure.Type).To(Equal("invalid_request_error"))
			g.Expect(failure.Param).To(Equal(optional(want)))
		})
	}
	NewWithT(t).Expect(f.get(pathCompletions).status).To(Equal(401))
	NewWithT(t).Expect(f.authorized(pathResponses).status).To(Equal(404), "responses are not listed")
	NewWithT(t).Expect(f.authorized(pathResponses + "/resp_none").completion(t).Error.Message).To(ContainSubstring("resp_none"))
}

func (f *far) authorized(path string) seen {
	request, err := http.NewRequest(http.MethodGet, f.URL()+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer sk-right")
	return f.exchange(request)
}

func TestMetadataAreChecked(t *testing.T) {
	const user = `"messages":[{"role":"user","content":"hello"}]`
	many := map[string]string{}
	for i := range 17 {
		many[fmt.Sprint(i)] = ""
	}
	for name, metadata := range map[string]any{
		"too many": many, "long key": map[string]string{strings.Repeat("k", 65): ""},
		"long value": map[string]string{"k": strings.Repeat("v", 513)}, "a number": map[string]any{"k": 1}, "a list": []string{},
	} {
		t.Run(name, func(t *testing.T) {
			f := listen(t, Config{})
			got := f.chat([]byte(`{"model":"faithful","store":true,`+user+`,"metadata":`+string(encode(metadata))+`}`), "")
			NewWithT(t).Expect(got.status).To(Equal(400))
			NewWithT(t).Expect(got.completion(t).Error.Param).To(HaveValue(HavePrefix("metadata")))
			NewWithT(t).Expect(f.list().Data).To(BeEmpty())
		})
	}
	f := listen(t, Config{})
	got := f.chat([]byte(`{"model":"faithful",`+user+`,"metadata":{"k":"v"}}`), "")
	NewWithT(t).Expect(got.status).To(Equal(400))
	NewWithT(t).Expect(got.completion(t).Error.Message).To(ContainSubstring("'store'"))
}
