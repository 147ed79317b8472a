package report_test

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/report"
	"github.com/fallproof/fallproof/providers"
)

func markdown(t *testing.T, r report.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.Markdown(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestMarkdown(t *testing.T) {
	g := NewWithT(t)
	text := markdown(t, whole())
	g.Expect(text).To(HavePrefix("## certification run tonight: 2 certified, 1 rejected\n" +
		"\n| target | `invoices` | `triage` |\n|---|---|---|\n" +
		"| `p/good` | ✅ **certified**<br>structure 40/40 ≥ 0.928, 0.90 asked | ✅ **certified**<br>structure 40/40 ≥ 0.928, 0.90 asked |\n" +
		"| `p/org/m` | ❌ **rejected**<br>prompt 20/20 = 1.000, 1.00 asked<br>business 30/40 ≥ 0.614, 0.90 asked<br>round trip nothing seen | – |\n"))
	g.Expect(text).To(ContainSubstring("\n### ❌ `invoices` at `p/org/m`: rejected\n\n- business: failed, 30 of 40, at least 0.614 with 95 % confidence; 0.90 is asked\n" +
		"  - 2 × `the total`, e.g. case `חשבונית`, sample 1: `סה\"כ does not hold`\n"))
	g.Expect(text).To(ContainSubstring("- worth knowing: `model_alias`: `m is served by m-2026`\n"))
	g.Expect(text).To(ContainSubstring("<details><summary><code>invoices</code> at <code>p/org/m</code>: case <code>חשבונית</code>, 3 of 5 samples good</summary>\n\n"))
	g.Expect(text).To(ContainSubstring("\nuser:\n```text\nחשבונית מס 7\nסה\"כ: 12.50\n```\n\nanswer of sample 0:\n```text\n{\"vendor\""))
	g.Expect(strings.Count(text, "<details>")).To(Equal(strings.Count(text, "</details>")))
	failing := markdown(t, whole().Failing())
	g.Expect(failing).To(HavePrefix("## certification run tonight: 1 rejected, 2 certified not shown\n"))
	g.Expect(failing).NotTo(ContainSubstring("p/good"))
}

// A record that is worth less than a live one says so in the matrix.
func TestMarkdownSaysWhatIsNotLive(t *testing.T) {
	g := NewWithT(t)
	r := whole()
	r.Entries[0].Record.Source, r.Entries[1].Record.Source = providers.SourceReplay, providers.SourceSimulated
	text := markdown(t, r)
	g.Expect(strings.Count(text, "**certified** (replay)<br>")).To(Equal(1))
	g.Expect(strings.Count(text, "**certified** (simulated)<br>")).To(Equal(1))
	g.Expect(text).To(ContainSubstring("**rejected**<br>"), "live needs no word")
}

// Foreign text ends no cell, fence or block, mentions nobody, and turns no line.
func TestMarkdownOfForeignText(t *testing.T) {
	g := NewWithT(t)
	const evil = "a|b `x` ``` @someone <b>\n\n# h\n````\n</details>\u202e"
	r := whole()
	rec := &r.Entries[2].Record
	rec.Contract, rec.Target.Model, rec.Cases[0].Case, r.Title, r.Note = evil, evil, evil, evil, evil
	for _, list := range [][]certification.Finding{rec.Dimensions[1].Findings, rec.Cases[0].Findings} {
		list[0] = certification.Finding{Reason: evil, Case: evil, Detail: evil}
	}
	r.Entries[2].Evidence.Cases[0].Name = evil
	r.Entries[2].Evidence.Cases[0].Messages[0].Content = evil
	r.Entries[2].Evidence.Samples[0].Case, r.Entries[2].Evidence.Samples[0].Content = evil, evil
	text := markdown(t, r)
	g.Expect(text).NotTo(ContainSubstring("\u202e"))
	columns := 0
	outside := "" // of fences, code spans and the details' own tags
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		switch {
		case fence != "" && line == fence:
			fence = ""
			continue
		case fence != "":
			continue
		case strings.HasPrefix(line, "```") && !strings.Contains(strings.TrimLeft(line, "`"), "`"): // else it is a span
			fence = strings.TrimSuffix(line, "text")
			continue
		}
		if strings.HasPrefix(line, "| ") {
			count := strings.Count(line, "|") - strings.Count(line, `\|`)
			g.Expect(columns == 0 || columns == count).To(BeTrue(), line)
			columns = count
		}
		outside += withoutSpans(line) + "\n"
	}
	g.Expect(fence).To(BeEmpty(), "no fence is left open")
	g.Expect(columns).To(Equal(5), "four columns")
	g.Expect(outside).NotTo(MatchRegexp(`[^\\]@someone`))
	g.Expect(outside).NotTo(MatchRegexp(`[^\\]<b>`))
	g.Expect(strings.Count(outside, "</details>")).To(Equal(strings.Count(outside, "<details>")))
	g.Expect(outside).NotTo(ContainSubstring("\n# h"))
}

// withoutSpans takes code spans out of a line as Markdown reads them: a run of backticks to the next run
// that is as long; and what stands in code elements, whose text is escaped.
func withoutSpans(line string) string {
	out := ""
	for line != "" {
		if strings.HasPrefix(line, "<code>") {
			_, line, _ = strings.Cut(line, "</code>")
			continue
		}
		if line[0] != '`' || strings.HasSuffix(out, `\`) {
			out += line[:1]
			line = line[1:]
			continue
		}
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		rest := line[len(run):]
		end := 0
		for end < len(rest) {
			if rest[end] != '`' {
				end++
				continue
			}
			other := len(rest[end:]) - len(strings.TrimLeft(rest[end:], "`"))
			if other == len(run) {
				break
			}
			end += other
		}
		if end >= len(rest) {
			return out + line
		}
		line = rest[end+len(run):]
	}
	return out
}

func TestMarkdownIsBounded(t *testing.T) {
	g := NewWithT(t)
	text := markdown(t, many(20))
	g.Expect(len([]rune(text))).To(BeNumerically("<", 65_536))
	g.Expect(text).To(ContainSubstring("further parts have no room here; the HTML report has them."))
	g.Expect(strings.Count(text, "<details>")).To(Equal(strings.Count(text, "</details>")))
	g.Expect(strings.Count(text, "| ❌ **rejected**")).To(Equal(30), "the matrix comes first")
	g.Expect(text).To(ContainSubstring("bytes more\n```\n"))
}

func TestAnswersThatAreNoneAreShownAsReceived(t *testing.T) {
	g := NewWithT(t)
	e := entry("")
	e.Evidence.Samples = []evidence.Sample{{
		Case: "חשבונית", Kind: certification.Unusable, Reason: "rejected_request", Detail: "status 400",
		Exchange: evidence.Exchange{Status: 400, Answer: `{"error": {"message": "no such model"}}`},
	}}
	r := report.Report{Entries: []report.Entry{e}}
	g.Expect(markdown(t, r)).To(ContainSubstring("no such model"))
	page := rendered(t, r)
	g.Expect(texts(within(page.root, "pre", "answer"))).To(Equal([]string{`{"error": {"message": "no such model"}}`}))
	g.Expect(textOf(page.root)).To(ContainSubstring("unusable: rejected request"))
}
