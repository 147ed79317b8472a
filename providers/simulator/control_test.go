package simulator

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAModelChangesWhileRunning(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	body, _ := sample(t, "acme/large")
	g.Expect(f.chat(body, "").status).To(Equal(404))

	var state ModelState
	g.Expect(f.control("PUT", "/simulator/models/acme/large", `{"personality":"overloaded:500","delay":"1ms"}`, &state)).To(Equal(200))
	g.Expect(state).To(Equal(ModelState{Model: "acme/large", Personality: "overloaded:500", Delay: "1ms"}))
	g.Expect(f.chat(body, "").status).To(Equal(500))
	g.Expect(f.control("PUT", "/simulator/models/acme/large", `{"personality":"faithful"}`, nil)).To(Equal(200))
	g.Expect(f.chat(body, "").status).To(Equal(200))

	var list struct {
		Models []ModelState `json:"models"`
		Kinds  []Kind       `json:"personalities"`
	}
	g.Expect(f.control("GET", "/simulator/models", "", &list)).To(Equal(200))
	g.Expect(list.Models).To(ConsistOf(ModelState{Model: "acme/large", Personality: "faithful", Delay: "0s"}))
	g.Expect(list.Kinds).To(Equal(Kinds()))
}

func TestAPutSaysAllOfAModel(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	put := func(body string) ModelState {
		var state ModelState
		g.Expect(f.control("PUT", "/simulator/models/acme-late:2s", body, &state)).To(Equal(200))
		return state
	}
	promise := Idempotency{Header: "Idempotency-Key", Conflict: true}
	g.Expect(put(`{"questions":"failing:404","idempotency":{"header":"Idempotency-Key","conflict":true}}`)).To(Equal(ModelState{
		Model: "acme-late:2s", Personality: "late:2s", Delay: "2s", Questions: "failing:404", Idempotency: &promise,
	}), "the name says how it behaves")
	g.Expect(f.roster.asked("acme-late:2s").Status).To(Equal(404))
	g.Expect(f.roster.idempotencyOf("acme-late:2s")).To(Equal(promise))
	g.Expect(put(`{"personality":"faithful"}`)).To(Equal(ModelState{Model: "acme-late:2s", Personality: "faithful", Delay: "0s"}))
	g.Expect(f.roster.asked("acme-late:2s")).To(Equal(Candour{}))
	g.Expect(f.roster.idempotencyOf("acme-late:2s")).To(Equal(Idempotency{}))
}

func TestTheControlRefusesWhatItCannotDo(t *testing.T) {
	f := listen(t, Config{})
	for _, row := range []struct{ method, path, body, says string }{
		{"PUT", "/simulator/models/m", `{"personality":"grumpy"}`, "grumpy"},
		{"PUT", "/simulator/models/m", `{"personality":"late:soon"}`, "duration"},
		{"PUT", "/simulator/models/m", `{"personality":"late","delay":"-1s"}`, "duration"},
		{"PUT", "/simulator/models/m", `{"personalty":"late"}`, "personalty"},
		{"PUT", "/simulator/models/m", `{`, "body"},
		{"PUT", "/simulator/models/m", `{}`, "personality"},
		{"PUT", "/simulator/models/faithful", `{"questions":"coy"}`, "coy"},
		{"PUT", "/simulator/models/faithful", `{"idempotency":{"heading":"K"}}`, "heading"},
		{"PUT", "/simulator/questions", `{}`, "want one of"},
		{"PUT", "/simulator/models/", `{"personality":"late"}`, "model"},
		{"POST", "/simulator/release", `{}`, "attempt"},
		{"GET", "/simulator/ledger?wait_for=many", "", "wait_for"},
		{"GET", "/simulator/questions?wait_for=-1", "", "wait_for"},
		{"GET", "/simulator/ledger?wait_for=1&timeout=0", "", "timeout"},
	} {
		t.Run(row.method+" "+row.path+" "+row.body, func(t *testing.T) {
			g := NewWithT(t)
			var answer completionSeen
			g.Expect(f.control(row.method, row.path, row.body, &answer)).To(Equal(400))
			g.Expect(answer.Error.Message).To(ContainSubstring(row.says))
		})
	}
	g := NewWithT(t)
	g.Expect(f.control("GET", "/simulator/nothing", "", nil)).To(Equal(404))
	g.Expect(f.roster.all()).To(BeEmpty(), "nothing was changed")
	g.Expect(f.Ledger()).To(BeEmpty(), "the control is no provider")
}

func TestTheLedgerOverHTTP(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	body, _ := sample(t, "faithful")
	limited, _ := sample(t, "rate-limited")

	waiting := make(chan LedgerPage, 1)
	go func() {
		var page LedgerPage
		f.control("GET", "/simulator/ledger?wait_for=2&answered=true", "", &page)
		waiting <- page
	}()
	f.chat(body, "a1")
	f.chat(limited, "a2")
	g.Expect((<-waiting).Entries).To(HaveLen(2))

	for query, attempts := range map[string][]string{
		"": {"a1", "a2"}, "?attempt=a2": {"a2"}, "?model=faithful": {"a1"}, "?attempt=a1&model=rate-limited": {},
	} {
		var page LedgerPage
		g.Expect(f.control("GET", "/simulator/ledger"+query, "", &page)).To(Equal(200))
		got := []string{}
		for _, entry := range page.Entries {
			got = append(got, entry.AttemptID)
		}
		g.Expect(got).To(Equal(attempts), query)
	}

	var page LedgerPage
	g.Expect(f.control("GET", "/simulator/ledger?wait_for=3&timeout=10ms", "", &page)).To(Equal(504))
	g.Expect(page.Entries).To(HaveLen(2), "what is there")
	g.Expect(page.Entries[0].Request).To(Equal(string(body)))
}

func TestWaitForRequestsSaysHowFarItCame(t *testing.T) {
	g := NewWithT(t)
	s := New(Config{})
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.WaitForRequests(ctx, 1, Filter{})
	g.Expect(err).To(MatchError(ContainSubstring("0 of 1")))
	g.Expect(err).To(MatchError(context.Canceled))
}

func TestTwoServersDoNotShareAnAddress(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	_, err := Listen(f.addr.String(), Config{})
	g.Expect(err).To(MatchError(ContainSubstring(f.addr.String())))
}
