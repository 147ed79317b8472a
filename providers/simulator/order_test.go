package simulator

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// start sends a chat in the background; the channel gives what came of it.
func (f *far) start(ctx context.Context, model, attempt string) <-chan seen {
	body, _ := sample(f.t, model)
	done := make(chan seen, 1)
	go func() { done <- f.do(ctx, http.MethodPost, pathCompletions, body, attempt) }()
	return done
}

func TestHeldRequestsFinishInTheOrderOfTheirRelease(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	first := f.start(context.Background(), "hold", "a1")
	f.waitFor(1, Filter{AttemptID: "a1"})
	second := f.start(context.Background(), "hold:refusing", "a2")
	f.waitFor(1, Filter{AttemptID: "a2"})

	var answer struct {
		Released int `json:"released"`
	}
	g.Expect(f.control("POST", "/simulator/release", `{"attempt":"a2"}`, &answer)).To(Equal(200))
	g.Expect(answer.Released).To(Equal(1))
	g.Expect((<-second).completion(t).Choices[0].Message.Refusal).NotTo(BeNil())
	g.Expect(first).To(BeEmpty(), "a1 is still held")
	g.Expect(f.Select(Filter{AttemptID: "a1"})[0].Answered).To(BeNil())

	g.Expect(f.Release(Filter{Model: "hold"})).To(Equal(1))
	_, expected := sample(t, "")
	g.Expect(decoded(t, (<-first).content(t))).To(Equal(plain(expected)))
	g.Expect(f.Release(Filter{Model: "hold"})).To(BeZero(), "nothing is held any more")

	entries := f.waitAnswered(2)
	g.Expect(entries[0].AttemptID).To(Equal("a1"), "in order of arrival")
	g.Expect(entries[0].Answered.At).NotTo(BeTemporally("<", entries[1].Answered.At))
}

func TestWaitingEndsWhenTheClientGoes(t *testing.T) {
	for _, model := range []string{"silent", "late:1h", "hold"} {
		t.Run(model, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			ctx, leave := context.WithCancel(context.Background())
			done := f.start(ctx, model, "a1")
			f.waitFor(1, Filter{Model: model})
			leave()
			g.Expect((<-done).err).To(MatchError(context.Canceled))
			answered := f.waitAnswered(1)[0].Answered
			g.Expect(answered.Outcome).To(Equal(OutcomeUnanswered))
			g.Expect(answered.ClientGone).To(BeTrue())
			g.Expect(answered.Status).To(BeZero())
		})
	}
}

// TestWaitingEndsWhenTheServerGoes relies on Close, which returns only when every handler has.
func TestWaitingEndsWhenTheServerGoes(t *testing.T) {
	for _, model := range []string{"silent", "late:1h", "hold"} {
		t.Run(model, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			done := f.start(context.Background(), model, "a1")
			f.waitFor(1, Filter{Model: model})
			f.Simulator.Close()
			g.Expect((<-done).err).To(HaveOccurred())
			answered := f.waitAnswered(1)[0].Answered
			g.Expect(answered.Outcome).To(Equal(OutcomeUnanswered))

			late := <-f.start(context.Background(), "faithful", "a2")
			g.Expect(late.err).To(HaveOccurred(), "a server that is gone answers nobody")
			g.Expect(f.Ledger()).To(HaveLen(1))
		})
	}
}

func TestTheLedgerCountsEveryParallelRequest(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	const n = 100
	models := []string{"faithful", "dropping", "rate-limited", "no-such-model"}
	var clients sync.WaitGroup
	for i := range n {
		body, _ := sample(t, models[i%len(models)])
		clients.Go(func() { f.chat(body, fmt.Sprintf("a%d", i)) })
	}
	clients.Wait()

	entries := f.waitAnswered(n)
	g.Expect(entries).To(HaveLen(n))
	attempts := map[string]bool{}
	for i, entry := range entries {
		g.Expect(entry.Seq).To(Equal(int64(i + 1)))
		attempts[entry.AttemptID] = true
	}
	g.Expect(attempts).To(HaveLen(n))
	for _, model := range models {
		g.Expect(f.Select(Filter{Model: model})).To(HaveLen(n/len(models)), model)
	}
}

func TestAPersonalityIsTheOneOfTheMomentOfArrival(t *testing.T) {
	g := NewWithT(t)
	hold, err := ParsePersonality("hold")
	g.Expect(err).NotTo(HaveOccurred())
	f := listen(t, Config{Models: map[string]Personality{"m": hold}})
	held := f.start(context.Background(), "m", "a1")
	f.waitFor(1, Filter{AttemptID: "a1"})

	f.SetPersonality("m", Personality{Kind: RateLimited})
	g.Expect((<-f.start(context.Background(), "m", "a2")).status).To(Equal(429))
	f.Release(Filter{AttemptID: "a1"})
	g.Expect((<-held).status).To(Equal(200))
}

func TestResetKeepsWhatIsHeldReachable(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	held := f.start(context.Background(), "hold", "a1")
	f.waitFor(1, Filter{AttemptID: "a1"})
	g.Expect(f.control("DELETE", "/simulator/ledger", "", nil)).To(Equal(204))
	g.Expect(f.Ledger()).To(BeEmpty())
	g.Expect(f.Release(Filter{AttemptID: "a1"})).To(Equal(1))
	g.Expect((<-held).status).To(Equal(200))

	f.chat([]byte(`{}`), "a2")
	g.Expect(f.Ledger()).To(HaveLen(1))
	g.Expect(f.Ledger()[0].Seq).To(Equal(int64(2)), "sequence numbers are never reused")
}
