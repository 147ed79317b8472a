package simulator

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	. "github.com/onsi/gomega"
)

func TestParseCandour(t *testing.T) {
	for text, want := range map[string]Candour{
		"honest":         {Answering: Honest},
		"absent":         {Answering: Absent},
		"absent:2":       {Answering: Absent, Times: 2},
		"unfiltered":     {Answering: Unfiltered},
		"failing":        {Answering: Failing},
		"failing:404":    {Answering: Failing, Status: 404},
		"failing:429:2s": {Answering: Failing, Status: 429, RetryAfter: 2 * time.Second},
		"slow":           {Answering: Slowly, Delay: 3 * time.Second},
		"slow:5ms":       {Answering: Slowly, Delay: 5 * time.Millisecond},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			c, err := ParseCandour(text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c).To(Equal(want))
			g.Expect(ParseCandour(c.String())).To(Equal(c), "the text form reads back")
		})
	}
	for _, answering := range Answerings() {
		NewWithT(t).Expect(ParseCandour(string(answering))).To(HaveField("Answering", answering))
	}
	NewWithT(t).Expect(Candour{}.String()).To(Equal("honest"))
	for _, text := range []string{
		"", "coy", "absent:", "absent:0", "absent:some", "failing:200", "failing:500:soon", "slow:-1s", "honest:1", "garbled:x",
	} {
		_, err := ParseCandour(text)
		NewWithT(t).Expect(err).To(HaveOccurred(), text)
	}
	s := New(Config{})
	defer s.Close()
	for _, c := range []Candour{{Answering: "coy"}, {Delay: -1}, {Times: -1}, {RetryAfter: -1}, {Status: 599}} {
		NewWithT(t).Expect(func() { s.SetCandour("", c) }).To(Panic())
		NewWithT(t).Expect(func() { New(Config{Candour: c}) }).To(Panic())
	}
}

// TestCandour asks two models the same, by the listing and by id: one answers so, the other is honest.
func TestCandour(t *testing.T) {
	for _, row := range []struct {
		candour string
		list    func(*testing.T, seen) // of the liar's completion, by its metadata
		fetch   func(*testing.T, seen) // of the liar's response, by its id
	}{
		{"honest", lists("liar"), hasStatus(200)},
		{"slow:1ms", lists("liar"), hasStatus(200)},
		{"absent", lists(), hasStatus(404)},
		{"unfiltered", lists("honest", "liar"), hasStatus(200)},
		{"failing", hasStatus(500), hasStatus(500)},
		{"failing:401", hasStatus(401), hasStatus(401)},
		{"failing:404", saysUnknownURL, saysUnknownURL},
		{"failing:429:2s", asksForPatience, asksForPatience},
		{"dropping", breaks, breaks},
		{"half-body", breaks, breaks},
		{"garbled", isNoJSON, isNoJSON},
	} {
		t.Run(row.candour, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			f.behave("liar", `"personality":"faithful"`, `"questions":"`+row.candour+`"`)
			f.chat(stored(t, "faithful", "honest"), "honest")
			f.chat(stored(t, "liar", "liar"), "liar")
			f.respond(inBackground(t, "liar"), "liar")
			id := f.waitFor(3, Filter{Produced: true})[2].Produced.ID

			row.list(t, f.get(pathCompletions+"?metadata%5Battempt%5D=liar"))
			row.fetch(t, f.get(pathResponses+"/"+id))
			lists("honest")(t, f.get(pathCompletions+"?metadata[attempt]=honest"))

			asked := f.Questions(Filter{Model: "liar", AttemptID: "liar", Answered: true})
			g.Expect(asked).To(HaveLen(2))
			g.Expect(asked[0].Answered.How).To(Equal(row.candour))
			g.Expect(asked[0].Query).To(Equal("metadata%5Battempt%5D=liar"))
			g.Expect(asked[1].Path).To(Equal(pathResponses + "/" + id))
			g.Expect(f.Ledger()).To(HaveLen(3), "questions are not among the requests for work")
		})
	}
}

// lists expects the completions of these attempts.
func lists(attempts ...string) func(*testing.T, seen) {
	return func(t *testing.T, s seen) {
		got := []string{}
		for _, c := range s.page(t).Data {
			got = append(got, c.Metadata["attempt"])
		}
		NewWithT(t).Expect(got).To(HaveExactElements(attempts))
	}
}

func hasStatus(status int) func(*testing.T, seen) {
	return func(t *testing.T, s seen) {
		NewWithT(t).Expect(s.status).To(Equal(status))
		NewWithT(t).Expect(jsontext.Value(s.body).IsValid()).To(BeTrue())
	}
}

func saysUnknownURL(t *testing.T, s seen) {
	hasStatus(404)(t, s)
	NewWithT(t).Expect(s.completion(t).Error.Code).To(HaveValue(Equal("unknown_url")))
}

func asksForPatience(t *testing.T, s seen) {
	hasStatus(429)(t, s)
	NewWithT(t).Expect(s.header.Get("Retry-After")).To(Equal("2"))
}

func breaks(t *testing.T, s seen) { NewWithT(t).Expect(s.err).To(HaveOccurred()) }

func isNoJSON(t *testing.T, s seen) {
	NewWithT(t).Expect(s.status).To(Equal(200))
	NewWithT(t).Expect(jsontext.Value(s.body).IsValid()).To(BeFalse())
}

// TestAnAbsenceThatIsNone: the provider says that there is nothing, and delivers all the same.
func TestAnAbsenceThatIsNone(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	f.behave("hold", `"questions":"absent"`)
	done := make(chan seen, 1)
	go func() { done <- f.chat(stored(t, "hold", "a1"), "a1") }()
	f.waitFor(1, Filter{Executed: true})
	g.Expect(f.list("metadata[attempt]", "a1").Data).To(BeEmpty())
	f.Release(Filter{AttemptID: "a1"})
	late := (<-done).completion(t)
	g.Expect(f.list("metadata[attempt]", "a1").Data).To(BeEmpty(), "even now")
	f.behave("hold")
	g.Expect(f.list("metadata[attempt]", "a1").ids()).To(Equal([]string{late.ID}), "it changed its mind")
}

func TestAbsenceMayBeForATime(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	f.behave("faithful", `"questions":"absent:2"`)
	id := f.respond(inBackground(t, "faithful"), "a1").response(t).ID
	f.waitFor(1, Filter{Produced: true})
	var seen []int
	for range 4 {
		seen = append(seen, f.get(pathResponses+"/"+id).status)
	}
	g.Expect(seen).To(Equal([]int{404, 404, 200, 200}))
}

func TestUnfilteredFetchesGiveTheNewestOfAll(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{Candour: Candour{Answering: Unfiltered}})
	g.Expect(f.get(pathResponses+"/resp_none").status).To(Equal(404), "there is none")
	first := f.respond(inBackground(t, "faithful"), "a1").response(t)
	f.waitFor(1, Filter{Produced: true})
	second := f.respond(inBackground(t, "hold"), "a2").response(t)
	g.Expect(f.get(pathResponses + "/" + second.ID).response(t).ID).To(Equal(first.ID))
	f.Release(Filter{AttemptID: "a2"})
	f.waitFor(2, Filter{Produced: true})
	g.Expect(f.get(pathResponses + "/" + first.ID).response(t).ID).To(Equal(second.ID))
}

// TestWhomAQuestionIsAbout: the candour is that of the model concerned, also where nothing was stored.
func TestWhomAQuestionIsAbout(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	f.SetCandour("rate-limited", Candour{Answering: Failing})
	f.chat(stored(t, "rate-limited", "a1"), "a1")
	f.chat(stored(t, "faithful", "a2"), "a2")
	ask := func(path, attempt string) int {
		return f.do(context.Background(), http.MethodGet, pathCompletions+path, nil, attempt).status
	}
	g.Expect(ask("?metadata[attempt]=a1", "")).To(Equal(500))
	g.Expect(ask("", "a1")).To(Equal(500))
	g.Expect(ask("?model=rate-limited", "")).To(Equal(500))
	g.Expect(ask("?metadata[attempt]=a2", "a1")).To(Equal(200))
	g.Expect(ask("?metadata[attempt]=a3", "")).To(Equal(200))
	g.Expect(ask("", "")).To(Equal(200))

	g.Expect(f.control("PUT", "/simulator/questions", `{"questions":"failing:503"}`, nil)).To(Equal(200))
	g.Expect(ask("?metadata[attempt]=a1", "")).To(Equal(500), "its own word counts")
	g.Expect(ask("?metadata[attempt]=a2", "")).To(Equal(503))
	g.Expect(ask("?metadata[attempt]=a3", "")).To(Equal(503))
}

func TestAQuestionMayNeverBeAnswered(t *testing.T) {
	for _, candour := range []string{"silent", "slow:1h"} {
		g := NewWithT(t)
		c, err := ParseCandour(candour)
		g.Expect(err).NotTo(HaveOccurred())
		f := listen(t, Config{Candour: c})
		ctx, leave := context.WithCancel(context.Background())
		done := make(chan seen, 1)
		go func() { done <- f.do(ctx, http.MethodGet, pathCompletions, nil, "a1") }()
		var page LedgerPage
		g.Expect(f.control("GET", "/simulator/questions?wait_for=1&attempt=a1", "", &page)).To(Equal(200))
		g.Expect(page.Entries[0].Answered).To(BeNil())
		leave()
		g.Expect((<-done).err).To(MatchError(context.Canceled))
		g.Expect(f.control("GET", "/simulator/questions?wait_for=1&answered=true", "", &page)).To(Equal(200))
		g.Expect(page.Entries[0].Answered.Outcome).To(Equal(OutcomeUnanswered))
	}
}

func TestQuestionsAreWaitedForAndForgotten(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	waiting := make(chan []Entry, 1)
	go func() { waiting <- f.waitForQuestions(2) }()
	f.get(pathCompletions)
	f.get(pathResponses + "/resp_none")
	g.Expect(<-waiting).To(HaveLen(2))
	g.Expect(f.Ledger()).To(BeEmpty())
	g.Expect(f.control("DELETE", "/simulator/ledger", "", nil)).To(Equal(204))
	g.Expect(f.Questions(Filter{})).To(BeEmpty())
	f.get(pathCompletions)
	g.Expect(f.Questions(Filter{})).To(HaveExactElements(HaveField("Seq", int64(3))))
}

func (f *far) waitForQuestions(n int) []Entry {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	entries, err := f.WaitForQuestions(ctx, n, Filter{})
	if err != nil {
		f.t.Error(err)
	}
	return entries
}
