package simulator

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestParsePersonality(t *testing.T) {
	for text, want := range map[string]Personality{
		"faithful":                  {Kind: Faithful},
		"slow":                      {Kind: Slow, Delay: 150 * time.Millisecond},
		"late":                      {Kind: Late, Delay: 3 * time.Second},
		"late:250ms":                {Kind: Late, Delay: 250 * time.Millisecond},
		"truncating:parses":         {Kind: Truncating, Variant: "parses"},
		"refusing:filter":           {Kind: Refusing, Variant: "filter"},
		"refusing:prompt":           {Kind: Refusing, Variant: "prompt"},
		"unauthorized:402":          {Kind: Unauthorized, Status: 402},
		"hesitating:7":              {Kind: Hesitating, Count: 7},
		"dropping:reset":            {Kind: Dropping, Variant: "reset"},
		"rate-limited":              {Kind: RateLimited, RetryAfter: time.Second},
		"rate-limited:1m":           {Kind: RateLimited, RetryAfter: time.Minute},
		"overloaded":                {Kind: Overloaded},
		"overloaded:500":            {Kind: Overloaded, Status: 500},
		"overloaded:2s":             {Kind: Overloaded, RetryAfter: 2 * time.Second},
		"redirecting:302":           {Kind: Redirecting, Status: 302},
		"renamed:a:b":               {Kind: Renamed, Variant: "a:b"},
		"retuned:fp_9":              {Kind: Retuned, Variant: "fp_9"},
		"silent":                    {Kind: Silent},
		"silent:executed":           {Kind: Silent, Work: "executed"},
		"dropping:unexecuted":       {Kind: Dropping, Work: "unexecuted"},
		"dropping:reset:unexecuted": {Kind: Dropping, Variant: "reset", Work: "unexecuted"},
		"overloaded:executed":       {Kind: Overloaded, Work: "executed"},
		"overloaded:504:executed":   {Kind: Overloaded, Status: 504, Work: "executed"},
		"overloaded:2s:executed":    {Kind: Overloaded, RetryAfter: 2 * time.Second, Work: "executed"},
		"hold:silent:executed":      {Kind: Silent, Hold: true, Work: "executed"},
		"flaky:20":                  {Kind: Flaky, Count: 20},
		"turning:7":                 {Kind: Turning, Count: 7},
		"picky":                     {Kind: Picky, Variant: "temperature"},
		"picky:developer":           {Kind: Picky, Variant: "developer"},
		"hold":                      {Kind: Faithful, Hold: true},
		"hold:late:1s":              {Kind: Late, Hold: true, Delay: time.Second},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			p, err := ParsePersonality(text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p).To(Equal(want))
			g.Expect(ParsePersonality(p.String())).To(Equal(p), "the text form reads back")
		})
	}
	for _, kind := range Kinds() {
		p, err := ParsePersonality(string(kind))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(p.Kind).To(Equal(kind))
	}
	for _, text := range []string{
		"", "grumpy", "faithful:", "faithful:1s", "late:soon", "late:-1s", "overloaded:404", "unauthorized:404", "anonymous:1", "redirecting:200",
		"truncating:half", "flaky:0", "flaky:x", "picky:tools", "mute:1", "refusing:no", "hold:hold", "hold:grumpy", "hold:",
		"silent:half", "silent::executed", "faithful:executed", "dropping:executed:reset", "silent:executed:executed",
	} {
		_, err := ParsePersonality(text)
		NewWithT(t).Expect(err).To(HaveOccurred(), text)
	}
}

func TestAModelsNameMayBeAPersonality(t *testing.T) {
	for model, want := range map[string]string{
		"faithful": "faithful", "acme-faithful": "faithful", "acme-rate-limited:2s": "rate-limited:2s",
		"org/model.late:1s": "late:1s", "a-hold:refusing": "hold:refusing", "my_half-body": "half-body", "my-silent:executed": "silent:executed",
		"renamed:gpt-faithful": "renamed:gpt-faithful",
	} {
		p, found := personalityInName(model)
		NewWithT(t).Expect(found).To(BeTrue(), model)
		NewWithT(t).Expect(p.String()).To(Equal(want), model)
	}
	for _, model := range []string{"", "gpt-4", "unfaithful", "faithful-2", "late:"} {
		_, found := personalityInName(model)
		NewWithT(t).Expect(found).To(BeFalse(), model)
	}
}

func TestAPersonalityThatCannotBeActedOutIsAMistakeOfTheProgram(t *testing.T) {
	g := NewWithT(t)
	s := New(Config{})
	defer s.Close()
	for _, p := range []Personality{{Kind: "grumpy"}, {Delay: -1}, {Kind: Overloaded, Status: 599}, {Work: "executed"}, {Kind: Silent, Work: "?"}} {
		g.Expect(func() { s.SetPersonality("m", p) }).To(Panic())
	}
	g.Expect(s.roster.all()).To(BeEmpty())
}
