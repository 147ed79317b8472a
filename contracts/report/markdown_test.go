package report_test

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

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
		"| `p/org/m` | ❌ **rejected**<br>prompt 20/20 = 1.000, 1.00 asked<br>business 30/40 ≥ 0.614, 0.90 asked, failed<br>round trip nothing seen | – |\n"))
	g.Expect(text).To(ContainSubstring("\n### ❌ `invoices` at `p/org/m`: rejected\n\n- business: failed, 30 of 40, at least 0.614 with 95 % confidence; 0.90 is asked\n" +
		"  - 2 × `the total`, e.g. case <span dir=\"auto\">`חשבונית`</span>, sample 1: <span dir=\"auto\">`סה\"כ does not hold`</span>\n"))
	g.Expect(text).To(ContainSubstring("- worth knowing: `model_alias`: `m is served by m-2026`\n"))
	g.Expect(text).To(ContainSubstring("<details><summary><code>invoices</code> at <code>p/org/m</code>: case <code dir=\"auto\">חשבונית</code>, 3 of 5 samples good</summary>\n\n"))
	g.Expect(text).To(ContainSubstring("\nsystem:\n```text\nAnswer with one object.\n```\n"))
	g.Expect(text).To(ContainSubstring("\nexpected answer:\n```text\n{\"total\":12.50}\n```\n\nanswer of sample 0:\n"), "what is right stands beside what is wrong")
	g.Expect(strings.Count(text, "<details>")).To(Equal(strings.Count(text, "</details>")))
	failing := markdown(t, whole().Failing())
	g.Expect(failing).To(HavePrefix("## certification run tonight: 1 rejected, 2 certified not shown\n"))
	g.Expect(failing).NotTo(ContainSubstring("p/good"))
}

// What was decided without a sample, and what was not run at all, is no gap that a reader has to explain to himself.
func TestWhatWasNotSeenIsSaid(t *testing.T) {
	g := NewWithT(t)
	e := entry(`{}`)
	e.Record.Dimensions = []certification.Dimension{{Name: "structure", Status: "failed", Threshold: 0.9}, {Name: "business", Status: "not_judged", Threshold: 0.9}}
	r := report.Report{Title: "tonight", NotRun: 2, Entries: []report.Entry{e}}
	g.Expect(markdown(t, r)).To(HavePrefix("## tonight: 1 rejected, 2 not run\n"))
	g.Expect(markdown(t, r)).To(ContainSubstring("<br>structure nothing seen, failed<br>business nothing seen |"))
	g.Expect(textOf(rendered(t, r).root)).To(And(ContainSubstring("1 rejected, 2 not run"), ContainSubstring("structure nothing seen, failed")))
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

// Right-to-left text stands in its own direction and moves nothing around it; JSON goes from left to right.
func TestMarkdownRightToLeft(t *testing.T) {
	g := NewWithT(t)
	e := entry("{\"שם\": [\"אבג\", \"a<b\", 7]}", finding("r"))
	text := markdown(t, report.Report{Entries: []report.Entry{e}})
	g.Expect(text).To(ContainSubstring("\nuser:\n<pre dir=\"auto\">\nחשבונית מס 7 של ספרים בע\"מ\nסה\"כ: 12.50\n</pre>\n"))
	g.Expect(text).To(ContainSubstring("\nanswer of sample 0:\n<pre dir=\"ltr\">\n" +
		`{<span dir="auto">"שם"</span>: [<span dir="auto">"אבג"</span>, "a&lt;b", 7]}` + "\n</pre>\n"))
	e = entry("مرحبا، لا أستطيع", finding("r"))
	g.Expect(markdown(t, report.Report{Title: "run שם 7", Entries: []report.Entry{e}})).To(And(
		ContainSubstring("<pre dir=\"auto\">\nمرحبا، لا أستطيع\n</pre>\n"), HavePrefix("## <span dir=\"auto\">`run שם 7`</span>: 1 rejected\n")))
}

// What is certified has its warnings too, and checks that could not be made.
func TestMarkdownSaysWhatIsWorthKnowingOfWhatIsCertified(t *testing.T) {
	g := NewWithT(t)
	r := whole()
	g.Expect(markdown(t, r)).NotTo(ContainSubstring("### Worth knowing"))
	r.Entries[0].Record.Dimensions[0].Findings = []certification.Finding{{Reason: "not_verified", Count: 8, Case: "c", Detail: "no tokenizer"}, {Reason: "else", Count: 1}}
	r.Entries[1].Record.Warnings = []certification.Finding{{Reason: "model_alias", Count: 1, Detail: "m is served by @m"}}
	g.Expect(markdown(t, r)).To(ContainSubstring("\n### Worth knowing of what is certified\n\n" +
		"- `invoices` at `p/good`: structure, 8 × `not_verified`, e.g. case `c`, sample 0: `no tokenizer`\n" +
		"- `triage` at `p/good`: `model_alias`: `m is served by @m`\n\n<details>"))
}

// A figure that would do, and is not judged all the same, says what is missing.
func TestReportsSayWhatCouldNotBeSeen(t *testing.T) {
	g := NewWithT(t)
	r := whole()
	d := &r.Entries[2].Record.Dimensions[0]
	d.Status, d.Findings = certification.StatusNotJudged, []certification.Finding{{Reason: "not_verified", Count: 8}, {Reason: "canary_unanswered", Count: 1}}
	text := markdown(t, r)
	g.Expect(text).To(ContainSubstring("<br>prompt 20/20 = 1.000, 1.00 asked, not judged; could not be seen: canary unanswered<br>"))
	g.Expect(text).To(ContainSubstring("- prompt: not judged, 20 of 20, exactly 1.000; 1.00 is asked; could not be seen: canary unanswered\n"))
	g.Expect(textOf(rendered(t, r).root)).To(ContainSubstring("20/20 = 1.000, 1.00 asked, not judged; could not be seen: canary unanswered"))
}

// A loop is seen as one, wherever it stands, and what comes after it too.
func TestMarkdownShortensWhatRepeats(t *testing.T) {
	for _, row := range []struct{ name, content, shown string }{
		{"spaces", `{"a":` + strings.Repeat(" ", 4104) + "1}", `{"a":        … 4,096 further spaces …1}`},
		{"line breaks", `{"a":` + strings.Repeat("\n", 108), "{\"a\":\n\n\n\n\n\n\n\n… 100 further line breaks …"},
		{"tabs", strings.Repeat("\t", 108) + "x", "\t\t\t\t\t\t\t\t… 100 further tabs …x"},
		{"white space", "x" + strings.Repeat(" \n", 54), "x \n \n \n \n… 100 further characters of white space …"},
		{"an indentation", "{\n" + strings.Repeat(" ", 63) + "}", "{\n" + strings.Repeat(" ", 63) + "}"},
		{"a runaway", `{"a": "` + strings.Repeat("really, ", 1003), `{"a": "really, really, really, … and 1,000 further times the last 8 bytes …`},
		{"a letter", "x" + strings.Repeat("a", 1003) + "\n", "xaaa… and 1,000 further times the last byte …\n"},
		{"a runaway that is cut", "x" + strings.Repeat("abc", 103) + "ab", "xabcabcabc… and 100 further times the last 3 bytes …ab"},
		{"a runaway from right to left", "<" + strings.Repeat("שלום ", 200) + "x" + strings.Repeat("שלום ", 103), "שלום שלום שלום … and 100 further times the last 9 bytes …"},
		{"a list", strings.Repeat("1, ", 80), strings.TrimSpace(strings.Repeat("1, ", 80))},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			text := markdown(t, report.Report{Entries: []report.Entry{entry(row.content, finding("white_space_loop"))}})
			_, answer, _ := strings.Cut(text, "answer of sample 0:\n")
			g.Expect(answer).To(ContainSubstring(row.shown))
			g.Expect(len(answer)).To(BeNumerically("<", 1_800))
		})
	}
}

// Foreign text ends no cell, fence or block, mentions nobody, and turns no line.
func TestMarkdownOfForeignText(t *testing.T) {
	const evil = "a|b `x` ``` @someone <b> https://evil.example www.evil.example\n\n# h\n````\n</details></pre></span></code><script>\u202e"
	t.Run("left to right", func(t *testing.T) { staysInert(t, evil, false) })
	t.Run("right to left", func(t *testing.T) { staysInert(t, "שלום "+evil, true) })
	t.Run("right to left, JSON", func(t *testing.T) { staysInert(t, `{"א": "שלום `+evil+`", "b": "`+evil, true) })
}

func staysInert(t *testing.T, evil string, rightToLeft bool) {
	t.Helper()
	g := NewWithT(t)
	r := whole()
	rec := &r.Entries[2].Record
	rec.Contract, rec.Target.Model, rec.Cases[0].Case, r.Title, r.Notes = evil, evil, evil, evil, []string{evil}
	for _, list := range [][]certification.Finding{rec.Dimensions[1].Findings, rec.Cases[0].Findings} {
		list[0] = certification.Finding{Reason: evil, Case: evil, Detail: evil}
	}
	r.Entries[2].Evidence.Cases[0].Name = evil
	r.Entries[2].Evidence.Cases[0].Messages = []evidence.Message{{Role: evil, Content: evil}}
	r.Entries[2].Evidence.Cases[0].Expected = []byte(evil)
	r.Entries[2].Evidence.Samples[0].Case, r.Entries[2].Evidence.Samples[0].Content = evil, evil
	text := markdown(t, r)
	g.Expect(text).NotTo(ContainSubstring("\u202e"))
	columns := 0
	outside := "" // of fences, code spans and the details' own tags
	fence, block, blocks := "", "", 0
	for _, line := range strings.Split(text, "\n") {
		switch {
		case block != "": // a pre element begins an HTML block, which goes to the first line that ends one
			block += line + "\n"
			if strings.Contains(line, "</pre>") {
				shows(g, block, evil)
				block = ""
				blocks++
			}
			continue
		case fence == "" && strings.HasPrefix(line, "<pre dir="):
			block = line + "\n"
			continue
		case fence != "" && len(line) >= len(fence) && strings.Trim(line, "`") == "": // a longer one closes it as well
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
	g.Expect(fence+block).To(BeEmpty(), "no fence and no element is left open")
	g.Expect(blocks > 0).To(Equal(rightToLeft))
	g.Expect(strings.Count(outside, "<span")).To(Equal(strings.Count(outside, "</span>")))
	g.Expect(columns).To(Equal(5), "four columns")
	for _, active := range []string{"@someone", "<b>", "<script>", "</pre>", "</code>", "https:", "www."} {
		g.Expect(outside).NotTo(ContainSubstring(active))
	}
	g.Expect(strings.Count(outside, "</details>")).To(Equal(strings.Count(outside, "<details>")))
	g.Expect(outside).NotTo(ContainSubstring("\n# h"))
}

// shows reads a block as a browser does: nothing but text stands in it, and that is the text.
func shows(g *WithT, block, text string) {
	context := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(block), context)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(nodes).To(HaveLen(2), "the element and a line break")
	for _, e := range all(nodes[0], "*") {
		g.Expect(e.Data).To(Equal("span"))
		g.Expect(e.Attr).To(Equal([]html.Attribute{{Key: "dir", Val: "auto"}}))
	}
	g.Expect(textOf(nodes[0])).To(Equal(strings.ReplaceAll(text, "\u202e", "U+202E") + "\n"))
}

// withoutSpans takes code spans out of a line as Markdown reads them: a run of backticks to the next run
// that is as long; and what stands in code elements, whose text is escaped.
func withoutSpans(line string) string {
	out := ""
	for line != "" {
		if strings.HasPrefix(line, "<code>") || strings.HasPrefix(line, `<code dir="auto">`) {
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
	g.Expect(text).To(ContainSubstring("000\n… 58,500 bytes are left out …\n000"), "both ends are seen")
	g.Expect(text).To(ContainSubstring("0007\n```\n"))
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

// What was expected stands beside an answer, is no longer than one, and is not made up where there is none.
func TestMarkdownShowsTheExpectedAnswer(t *testing.T) {
	g := NewWithT(t)
	const heading = "expected answer:"
	shown := func(expected string, sample evidence.Sample) string {
		e := entry("")
		e.Evidence.Cases[0].Expected = []byte(expected)
		sample.Case, sample.Structure = "חשבונית", []evidence.Finding{finding("r")}
		e.Evidence.Samples = []evidence.Sample{sample}
		return markdown(t, report.Report{Entries: []report.Entry{e}})
	}
	answered := evidence.Sample{Kind: certification.Answered, Content: "{}"}
	g.Expect(shown(`{"text":"`+long+`"}`, answered)).To(ContainSubstring(heading + "\n```text\n{\"text\":\"000"))
	g.Expect(shown(`{"text":"`+long+`"}`, answered)).To(ContainSubstring("bytes are left out"))
	g.Expect(shown(`{"שם":"אבג"}`, answered)).To(ContainSubstring(heading + "\n<pre dir=\"ltr\">\n{<span dir=\"auto\">"))
	g.Expect(shown("null", answered)).NotTo(ContainSubstring(heading))
	g.Expect(shown("", answered)).NotTo(ContainSubstring(heading))
	g.Expect(shown(`{"total":1}`, evidence.Sample{Kind: certification.Trouble, Reason: "timeout"})).NotTo(ContainSubstring(heading), "nothing came that it could be compared with")
}

// An empty block would leave open whether nothing came or nothing is shown.
func TestMarkdownSaysWhereThereIsNoAnswerToShow(t *testing.T) {
	for _, row := range []struct {
		sample evidence.Sample
		shown  string
	}{
		{evidence.Sample{Kind: certification.Trouble, Reason: "timeout"}, "\nNo answer came to sample 3.\n"},
		{evidence.Sample{Kind: certification.Answered, Omitted: true}, "\nThe answer of sample 3 was left out of the evidence for its size.\n"},
		{evidence.Sample{Kind: certification.Unusable, Reason: "malformed", Exchange: evidence.Exchange{AnswerBinary: []byte("a\xffb")}}, "\nanswer of sample 3:\n```text\na\uFFFDb\n```\n"},
	} {
		g := NewWithT(t)
		row.sample.Case, row.sample.Index, row.sample.Structure = "חשבונית", 3, []evidence.Finding{finding("r")}
		e := entry("")
		e.Evidence.Samples = []evidence.Sample{row.sample}
		g.Expect(markdown(t, report.Report{Entries: []report.Entry{e}})).To(ContainSubstring(row.shown))
	}
}
