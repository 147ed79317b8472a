package report_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/report"
)

// What is wrong is marked within the answer: the value at the pointer, or the very bytes.
func TestFindingsAreMarkedInPlace(t *testing.T) {
	for _, row := range []struct {
		name, content, reason string
		pointers              []string
		marked                []string
	}{
		{"a value", `{"a": 1, "b": {"c": [10, 20]}}`, "schema_violation", []string{"/b/c/1"}, []string{"20"}},
		{"an object", `{"a": {"b": 2} }`, "schema_violation", []string{"/a"}, []string{"{", `"b"`, ": 2}"}},
		{"a key with a slash", `{"a/b~": "x"}`, "schema_violation", []string{"/a~1b~0"}, []string{`"x"`}},
		{"a text with a quotation mark", `{"a": "x\"y", "b": 1}`, "schema_violation", []string{"/a"}, []string{`"x\"y"`}},
		{"the whole", `[1]`, "schema_violation", []string{""}, []string{"[1]"}},
		{"what is not there", `{"a": 1}`, "schema_violation", []string{"/z"}, nil},
		{"nowhere", `{"a": 1}`, "schema_violation", nil, nil},
		{"a check's members", `{"total": 5, "tax": 1}`, "the total", []string{"/total", "/tax"}, []string{"5", "1"}},
		{"an unknown key", `{"a": 1, "zz": 2}`, "unknown_key", []string{"/zz"}, []string{`"zz"`, ": 2"}},
		{"the second of two keys", `{"a": 1, "a": 2}`, "duplicate_key", []string{"/a"}, []string{`"a"`, ": 2"}},
		{"inside a fence", "```json\n{\"a\": 7}\n```", "schema_violation", []string{"/a"}, []string{"7"}},
		{"the fence", "```json\n{\"a\": 7}\n```", "fenced", nil, []string{"```json", "```"}},
		{"text before", "Sure! {\"a\": 7}", "text_around", nil, []string{"Sure!"}},
		{"text around", "Sure! {\"a\": 7} Bye.", "text_around", nil, []string{"Sure!", "Bye."}},
		{"trailing bytes", "{\"a\": 7}\n\nNote: x", "trailing_bytes", nil, []string{"Note: x"}},
		{"not a number", `{"a": NaN}`, "not_finite", nil, []string{"NaN"}},
		{"negative infinity", `{"a": -Infinity}`, "not_finite", nil, []string{"-Infinity"}},
		{"half a surrogate", `{"a": "x\ud83d"}`, "lone_surrogate", nil, []string{`\ud83d`}},
		{"a raw newline", "{\"a\": \"x\ny\"}", "raw_control", nil, []string{"U+000A", "\n"}},
		{"a byte order mark", "\ufeff{}", "byte_order_mark", nil, []string{"U+FEFF"}},
		{"a wrong word", `{"a": True}`, "not_json", nil, []string{"True"}},
		{"cut short", `{"a": "x`, "not_json", nil, []string{`x`}},
		{"truncated", `{"a": ` + strings.Repeat("9", 60), "truncated", nil, []string{strings.Repeat("9", 40)}},
		{"a loop of white space", "{\"a\":  \n\n\n\n\n\n", "white_space_loop", nil, []string{"8 bytes of white space", "  \n\n\n\n\n\n"}},
		{"nothing", "", "empty", nil, nil},
		{"no JSON at all", "certainly", "schema_violation", []string{"/a"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			one := finding(row.reason, row.pointers...)
			f := rendered(t, report.Report{Entries: []report.Entry{entry(row.content, one)}})
			var marked []string
			for _, answer := range within(f.root, "pre", "answer") {
				for _, m := range all(answer, "mark") {
					for _, ref := range all(m, "sup") { // the number beside it
						m.RemoveChild(ref)
					}
					marked = append(marked, textOf(m))
				}
			}
			g.Expect(marked).To(Equal(row.marked))
		})
	}
}

// Findings that overlap are all told at their place, and no byte is lost or doubled by marking.
func TestMarksThatOverlap(t *testing.T) {
	g := NewWithT(t)
	const content = `{"a": {"b": "אבג", "c": 2}, "d": 3}`
	f := rendered(t, report.Report{Entries: []report.Entry{entry(content,
		finding("one", "/a"), finding("two", "/a/b"), finding("three", "/a/b", "/d"), finding("four", ""))}})
	answer := within(f.root, "pre", "answer")[0]
	g.Expect(texts(all(answer, "sup"))).To(Equal([]string{"4", "1", "2", "3"}), "each number once, where its mark begins")
	for _, ref := range all(answer, "sup") {
		ref.Parent.RemoveChild(ref)
	}
	g.Expect(textOf(answer)).To(Equal(content))
}

func FuzzEveryContentIsShownWhole(f *testing.F) {
	for _, seed := range []string{`{"a": [1, "x"]}`, "```\n{}\n```", "\xff\"", `{"a": "\`, "\u202e\"א\"", `{"a"`, `[[[`} {
		f.Add(seed, "fenced", "/a")
	}
	f.Fuzz(func(t *testing.T, content, reason, pointer string) {
		r := report.Report{Entries: []report.Entry{entry(content, finding(reason, pointer), finding("not_json"), finding("trailing_bytes"))}}
		page := rendered(t, r)
		if len(all(page.root, "script")) > 0 {
			t.Fatal("a script")
		}
		named := func(r rune) bool {
			return r != '\n' && r != '\t' && !unicode.IsPrint(r) && r != ' ' || r == utf8.RuneError
		}
		if content == "" || len(content) > 10_000 || strings.ContainsFunc(content, named) {
			return // what cannot be seen is named, and what is long is cut
		}
		answer := within(page.root, "pre", "answer")[0]
		for _, ours := range append(all(answer, "sup"), within(answer, "span", "control")...) {
			ours.Parent.RemoveChild(ours)
		}
		if shown := textOf(answer); shown != content {
			t.Fatalf("%q is shown as %q", content, shown)
		}
	})
}
