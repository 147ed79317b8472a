package simulator

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	. "github.com/onsi/gomega"
)

// TestSpellings sees what each way to write an answer does to a good one.
func TestSpellings(t *testing.T) {
	f := listen(t, Config{})
	_, expected := sample(t, "")
	right := plain(expected)
	broken := func(part string) func(*testing.T, string) {
		return func(t *testing.T, text string) {
			NewWithT(t).Expect(text).To(ContainSubstring(part))
			NewWithT(t).Expect(jsontext.Value(text).IsValid()).To(BeFalse())
		}
	}
	same := func(part string) func(*testing.T, string) {
		return func(t *testing.T, text string) {
			NewWithT(t).Expect(text).To(ContainSubstring(part))
			NewWithT(t).Expect(decoded(t, text)).To(Equal(right))
		}
	}
	for model, check := range map[string]func(*testing.T, string){
		"footnote":        broken("}\n\nNote: "),
		"raw-newline":     broken(":\"\n2026-0117\""),
		"not-a-number":    broken(`"quantity":NaN,`),
		"duplicate-key":   broken(`{"invoice_number":null,"invoice_number":"2026-0117"`),
		"byte-order-mark": func(t *testing.T, text string) { NewWithT(t).Expect(text).To(HavePrefix("\ufeff{")) },
		"lone-surrogate":  broken(`"\ud83d2026-0117"`),
		"looping:1":       broken(strings.Repeat("\n        ", 200)),
		"babbling":        broken("and so on and so on "),
		"escaping":        same(`B\u00fcrostuhl`),
		"decimal":         same(`"quantity":4.0,`),
		"mute":            func(t *testing.T, text string) { NewWithT(t).Expect(text).To(BeEmpty()) },
	} {
		t.Run(model, func(t *testing.T) {
			body, _ := sample(t, model)
			text := f.chat(body, "").content(t)
			check(t, text)
			if model == "escaping" {
				NewWithT(t).Expect(utf8.RuneCountInString(text)).To(Equal(len(text)), "ASCII alone")
			}
		})
	}
}

// An order to break the schema is obeyed where nothing enforces it, and where the model is not dutiful.
func TestWhoObeysAnOrderToBreakTheSchema(t *testing.T) {
	f := listen(t, Config{})
	c := shippedContract(t, "invoice-extraction")
	for model, obeys := range map[string]bool{"faithful": false, "unenforcing": true, "complying": false, "deaf": false} {
		body := c.request(model, catalogCases(t, c.Name)[0].Input, "PROBE=00ff00ff")
		NewWithT(t).Expect(f.chat(body, "").content(t) == `{"probe":"00ff00ff"}`).To(Equal(obeys), model)
		free := withoutFormat(t, body)
		NewWithT(t).Expect(f.chat(free, "").content(t) == `{"probe":"00ff00ff"}`).To(Equal(model == "faithful" || model == "unenforcing"), model)
	}
}

func withoutFormat(t *testing.T, body []byte) []byte {
	t.Helper()
	read, err := decodeOrdered(body)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	kept := &object{}
	for _, m := range read.(*object).members {
		if m.name != "response_format" {
			kept.set(m.name, m.value)
		}
	}
	return encode(kept)
}

func TestPickyModels(t *testing.T) {
	f := listen(t, Config{})
	for dislike, status := range map[string]int{"temperature": 400, "max_completion_tokens": 422, "max_tokens": 200, "response_format": 400, "system": 400, "developer": 200} {
		body, _ := sample(t, "picky:"+dislike)
		got := f.chat(body, "")
		NewWithT(t).Expect(got.status).To(Equal(status), dislike)
		if status != 200 {
			NewWithT(t).Expect(got.completion(t).Error.Message).To(ContainSubstring(dislike))
		}
	}
}

func TestWhatStandsBeside(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	faithful, _ := sample(t, "faithful")
	honest := f.chat(faithful, "").completion(t).Usage.Prompt
	counting, _ := sample(t, "counting")
	g.Expect(f.chat(counting, "").completion(t).Usage.Prompt).To(Equal(3 * honest))
	cached, _ := sample(t, "cached")
	g.Expect(f.chat(cached, "").header.Get("X-Cache")).To(Equal("HIT"))
	portal, _ := sample(t, "portal")
	page := f.chat(portal, "")
	g.Expect(page.status).To(Equal(200))
	g.Expect(page.header.Get("Content-Type")).To(HavePrefix("text/html"))
	choking, _ := sample(t, "choking:100000")
	g.Expect(f.chat(choking, "").status).To(Equal(200))

	turning, _ := sample(t, "turning:2")
	first, second, third := f.chat(turning, "").content(t), f.chat(turning, "").content(t), f.chat(turning, "").content(t)
	g.Expect(second).To(Equal(first))
	g.Expect(third).NotTo(Equal(first))
}
