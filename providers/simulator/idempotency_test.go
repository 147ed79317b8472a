package simulator

import (
	"context"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const keyHeader = "X-Request-Key"

// keyed sends a request with a key in the header of these tests.
func (f *far) keyed(path, key string, body []byte) seen {
	return f.keyedWhile(context.Background(), path, key, body)
}

func (f *far) keyedWhile(ctx context.Context, path, key string, body []byte) seen {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL()+path, strings.NewReader(string(body)))
	if err != nil {
		f.t.Error(err)
		return seen{err: err}
	}
	request.GetBody = nil
	request.Header.Set(keyHeader, key)
	return f.exchange(request)
}

// executions counts those requests that caused work.
func (f *far) executions() int { return len(f.Select(Filter{Executed: true})) }

func TestAKeyIsWorkedForOnce(t *testing.T) {
	for name, row := range map[string]struct {
		model string // of the first request; the second is answered whatever that one's connection saw
		path  string
		body  func(*testing.T, string) []byte
	}{
		"delivered":     {"faithful", pathCompletions, func(t *testing.T, m string) []byte { b, _ := sample(t, m); return b }},
		"stored":        {"faithful", pathCompletions, func(t *testing.T, m string) []byte { return stored(t, m, "a1") }},
		"dropped":       {"dropping", pathCompletions, func(t *testing.T, m string) []byte { b, _ := sample(t, m); return b }},
		"cut":           {"half-body", pathCompletions, func(t *testing.T, m string) []byte { b, _ := sample(t, m); return b }},
		"gateway":       {"overloaded:504:executed", pathCompletions, func(t *testing.T, m string) []byte { b, _ := sample(t, m); return b }},
		"background":    {"faithful", pathResponses, inBackground},
		"lost response": {"dropping", pathResponses, inBackground},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{Idempotency: Idempotency{Header: keyHeader}})
			body := row.body(t, row.model)
			first := f.keyed(row.path, "k1", body)
			second := f.keyed(row.path, "k1", body)
			g.Expect(second.err).NotTo(HaveOccurred())
			g.Expect(second.status).To(Equal(200))
			g.Expect(second.header.Get("Idempotent-Replayed")).To(Equal("true"))
			if first.err == nil && first.status == 200 {
				g.Expect(first.header).NotTo(HaveKey("Idempotent-Replayed"))
				g.Expect(string(second.body)).To(Equal(string(first.body)))
			}
			third := f.keyed(row.path, "k2", body)
			g.Expect(string(third.body)).NotTo(Equal(string(second.body)), "another key is other work")

			entries := f.waitAnswered(3)
			g.Expect(f.executions()).To(Equal(2))
			g.Expect(entries[0].Executed).To(BeTrue())
			g.Expect(entries[1].Executed).To(BeFalse())
			g.Expect(entries[1].ReplayOf).To(Equal(entries[0].Seq))
			g.Expect(entries[1].Answered.How).To(Equal("replayed"))
			g.Expect(entries[1].IdempotencyKey).To(Equal("k1"))
			g.Expect(entries[2].ReplayOf).To(BeZero())
		})
	}
}

func TestASecondRequestWaitsForTheFirstOnesWork(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	f.behave("hold", `"idempotency":{"header":"`+keyHeader+`"}`)
	body, expected := sample(t, "hold")
	ctx, leave := context.WithCancel(context.Background())
	first, second := make(chan seen, 1), make(chan seen, 1)
	go func() { first <- f.keyedWhile(ctx, pathCompletions, "k1", body) }()
	f.waitFor(1, Filter{Executed: true})
	leave()
	g.Expect((<-first).err).To(MatchError(context.Canceled))
	go func() { second <- f.keyed(pathCompletions, "k1", body) }()
	f.waitFor(2, Filter{})
	g.Expect(second).To(BeEmpty())
	f.Release(Filter{})
	g.Expect(decoded(t, (<-second).content(t))).To(Equal(plain(expected)))
	g.Expect(f.executions()).To(Equal(1))
}

func TestASecondRequestMayBeToldThatTheFirstIsAtWork(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	f.behave("hold", `"idempotency":{"header":"`+keyHeader+`","conflict":true}`)
	body, _ := sample(t, "hold")
	first := make(chan seen, 1)
	go func() { first <- f.keyed(pathCompletions, "k1", body) }()
	f.waitFor(1, Filter{Executed: true})
	early := f.keyed(pathCompletions, "k1", body)
	g.Expect(early.status).To(Equal(409))
	g.Expect(early.completion(t).Error.Code).To(HaveValue(Equal("idempotency_key_in_use")))
	f.Release(Filter{})
	g.Expect((<-first).status).To(Equal(200))
	g.Expect(f.keyed(pathCompletions, "k1", body).status).To(Equal(200))
	g.Expect(f.executions()).To(Equal(1))
}

func TestAKeyBelongsToOneRequest(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{Idempotency: Idempotency{Header: keyHeader}})
	one, _ := sample(t, "faithful")
	other, _ := sample(t, "acme-faithful")
	g.Expect(f.keyed(pathCompletions, "k1", one).status).To(Equal(200))
	got := f.keyed(pathCompletions, "k1", other)
	g.Expect(got.status).To(Equal(400))
	g.Expect(got.completion(t).Error.Code).To(HaveValue(Equal("idempotency_key_reused")))
	g.Expect(f.executions()).To(Equal(1))
	g.Expect(f.waitAnswered(2)[1].ReplayOf).To(BeZero())
}

// TestWhatDidNoWorkTakesNoKey: the same key may be tried again, and then it is worked for.
func TestWhatDidNoWorkTakesNoKey(t *testing.T) {
	for _, personality := range []string{"rate-limited", "overloaded", "unauthorized", "dropping:unexecuted"} {
		g := NewWithT(t)
		f := listen(t, Config{Idempotency: Idempotency{Header: keyHeader}})
		body, _ := sample(t, "m")
		f.behave("m", `"personality":"`+personality+`"`)
		g.Expect(f.keyed(pathCompletions, "k1", body).status).NotTo(Equal(200))
		f.behave("m", `"personality":"faithful"`)
		got := f.keyed(pathCompletions, "k1", body)
		g.Expect(got.status).To(Equal(200), personality)
		g.Expect(got.header).NotTo(HaveKey("Idempotent-Replayed"))
		g.Expect(f.executions()).To(Equal(1))
	}
}

func TestKeysPromiseNothingWhereNoneIsDeclared(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{Idempotency: Idempotency{Header: keyHeader}})
	f.SetIdempotency("faithful", Idempotency{}) // its own word counts
	body, _ := sample(t, "faithful")
	f.keyed(pathCompletions, "k1", body)
	f.keyed(pathCompletions, "k1", body)
	g.Expect(f.executions()).To(Equal(2))
	f.chat(body, "")
	other, _ := sample(t, "acme-faithful")
	f.chat(other, "") // no key in a header that is declared
	f.chat(other, "")
	g.Expect(f.executions()).To(Equal(5))
}
