package report_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/html"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/report"
	"github.com/fallproof/fallproof/providers"
)

// file is a report as a browser reads it.
type file struct {
	source string
	root   *html.Node
}

func rendered(t testing.TB, r report.Report) file {
	t.Helper()
	var out bytes.Buffer
	if err := report.HTML(&out, r); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return file{out.String(), root}
}

// all are the elements of a name, in order.
func all(n *html.Node, name string) []*html.Node {
	var found []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && (name == "*" || d.Data == name) {
			found = append(found, d)
		}
	}
	return found
}

func textOf(n *html.Node) string {
	var text strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text.WriteString(d.Data)
		}
	}
	return text.String()
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func texts(nodes []*html.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, textOf(n))
	}
	return out
}

// within are the elements of a name and a class.
func within(n *html.Node, name, class string) []*html.Node {
	return slices.DeleteFunc(all(n, name), func(e *html.Node) bool { return !slices.Contains(strings.Fields(attribute(e, "class")), class) })
}

func TestHTMLShowsMatrixFiguresAndCases(t *testing.T) {
	g := NewWithT(t)
	f := rendered(t, whole())
	g.Expect(texts(all(all(f.root, "thead")[0], "th"))).To(Equal([]string{"target", "invoices", "triage"}))
	rows := all(all(f.root, "tbody")[0], "tr")
	g.Expect(rows).To(HaveLen(2))
	g.Expect(texts(all(rows[0], "td"))).To(Equal([]string{
		"certifiedstructure 40/40 ≥ 0.928, 0.90 asked", "certifiedstructure 40/40 ≥ 0.928, 0.90 asked",
	}))
	g.Expect(texts(all(rows[1], "td"))).To(Equal([]string{
		"rejectedprompt 20/20 = 1.000, 1.00 askedbusiness 30/40 ≥ 0.614, 0.90 asked, failedround trip nothing seen1 remark", "–",
	}))
	for _, link := range all(f.root, "a") {
		target := strings.TrimPrefix(attribute(link, "href"), "#")
		g.Expect(slices.ContainsFunc(all(f.root, "details"), func(d *html.Node) bool { return attribute(d, "id") == target })).To(BeTrue(), target)
	}
	records := within(f.root, "details", "record")
	g.Expect(records).To(HaveLen(3))
	for i, open := range []bool{false, false, true} {
		g.Expect(slices.ContainsFunc(records[i].Attr, func(a html.Attribute) bool { return a.Key == "open" })).To(Equal(open), "what failed is open")
	}
	said := textOf(records[2])
	for _, fact := range []string{
		"invoices at p/org/m: rejected", "2 × the total, e.g. case חשבונית, sample 1", "m is served by m-2026", "12 of 40 planned, 5 a case",
		"p50 210 ms", "longest 460 ms of 40 calls", "k = 1: 0.900, 2: 0.800", "temperature 0, max_tokens 1024, response format json_schema, system prompt as developer",
		"not available therereasoning", "harnessv1.2", "profile digestpro", "5 samples, 5 usable, 5 meet the schema, 3 pass every check; 1 lost to trouble of the provider", "refuse 9 of 10 wrong answers", "m-2026", "not sent", "2026-01-02T03:04:05Z",
	} {
		g.Expect(said).To(ContainSubstring(fact))
	}
	g.Expect(textOf(records[0])).To(ContainSubstring("No evidence is kept"))
	cases := within(records[2], "details", "case")
	g.Expect(texts(within(cases[0], "pre", "prompt"))).To(Equal([]string{"Answer with one object.", "חשבונית מס 7 של ספרים בע\"מ\nסה\"כ: 12.50", "<s>[INST] חשבונית [/INST]"}))
	g.Expect(texts(all(cases[0], "pre"))).To(ContainElement("{\n  \"total\": 12.50\n}"), "laid out, and to the digit")
	answer := within(cases[0], "pre", "answer")[0]
	g.Expect(texts(all(answer, "mark"))).To(Equal([]string{"199", "2"}), "the two values, the first with the finding's number")
}

// A record that is worth less than a live one says so where people look first.
func TestHTMLNamesTheSource(t *testing.T) {
	g := NewWithT(t)
	for _, row := range []struct{ source, cell string }{{"live", "rejectedprompt"}, {"replay", "rejected (replay)prompt"}, {"simulated", "rejected (simulated)prompt"}} {
		e := entry(`{}`)
		e.Record.Source = providers.Source(row.source)
		f := rendered(t, report.Report{Entries: []report.Entry{e}})
		g.Expect(textOf(all(f.root, "td")[0])).To(HavePrefix(row.cell))
	}
}

// A reader who has only the file knows what each figure and each line is.
func TestHTMLExplainsItsFigures(t *testing.T) {
	g := NewWithT(t)
	f := rendered(t, whole())
	g.Expect(textOf(all(all(f.root, "table")[0], "caption")[0])).To(And(ContainSubstring("95 % confidence (≥)"), ContainSubstring("(=)"), ContainSubstring("asked")))
	for _, record := range within(f.root, "details", "record") {
		g.Expect(texts(within(record, "p", "legend"))).To(Equal([]string{"From 0 to 1: the bar is what is proven, the thin bar what was counted, the line what is asked."}))
	}
	r := whole()
	r.Entries[0].Record.Dimensions[0].Status = "not_judged"
	r.Entries[0].Record.Dimensions[0].Findings = []certification.Finding{{Reason: "not_verified", Count: 8}}
	r.Entries[1].Record.Dimensions[0].Findings = []certification.Finding{{Reason: "not_verified", Count: 8}}
	r.Entries[1].Record.Warnings = []certification.Finding{{Reason: "model_alias", Count: 1}}
	g.Expect(texts(all(all(rendered(t, r).root, "tbody")[0], "td"))[:2]).To(Equal([]string{
		"certifiedstructure 40/40 ≥ 0.928, 0.90 asked, not judged", "certifiedstructure 40/40 ≥ 0.928, 0.90 asked2 remarks",
	}), "what is not seen to the end, and what there is to know of what is certified, stands where people look")
}

// What the page leaves out it says, and one is one.
func TestHTMLCountsWhatItLeavesOut(t *testing.T) {
	g := NewWithT(t)
	e := entry(`{}`, slices.Repeat([]evidence.Finding{finding("r")}, 21)...)
	e.Evidence.Samples[0].Before = make([]evidence.Exchange, 1)
	for range 5 {
		e.Evidence.Samples = append(e.Evidence.Samples, evidence.Sample{Case: "חשבונית", Index: 1, Kind: certification.Answered, Structure: []evidence.Finding{finding("r")}})
	}
	said := textOf(rendered(t, report.Report{Entries: []report.Entry{e}}).root)
	g.Expect(said).To(ContainSubstring("1 further finding is in the evidence."))
	g.Expect(said).To(ContainSubstring("2 further samples are in the evidence."))
	g.Expect(said).To(ContainSubstring("tried 1 time before"))
}

// The chart says in words what it draws, and draws what the figures are.
func TestHTMLChart(t *testing.T) {
	g := NewWithT(t)
	f := rendered(t, report.Report{Entries: []report.Entry{entry(`{}`)}})
	charts := all(f.root, "svg")
	g.Expect(charts).To(HaveLen(3))
	for _, c := range charts {
		g.Expect(attribute(c, "role")).To(Equal("img"))
		g.Expect(attribute(c, "aria-label")).To(Equal(textOf(all(c, "title")[0])))
	}
	g.Expect(attribute(charts[1], "aria-label")).To(Equal("business: failed, 30 of 40, at least 0.614 with 95 % confidence; 0.90 is asked"))
	g.Expect(attribute(charts[0], "aria-label")).To(Equal("prompt: passed, 20 of 20, exactly 1.000; 1.00 is asked"))
	g.Expect(attribute(charts[2], "aria-label")).To(Equal("round trip: not judged, nothing that could be judged was seen"))
	bound := within(charts[1], "rect", "failed")[0]
	g.Expect(attribute(bound, "width")).To(Equal("135.1"), "0.614 of 220")
	g.Expect(attribute(within(charts[1], "line", "asked")[0], "x1")).To(Equal("198.0"), "0.9 of 220")
}

// The file needs nothing but itself: no element fetches, and the policy would not let it.
func TestHTMLRefersToNothingOutside(t *testing.T) {
	g := NewWithT(t)
	f := rendered(t, whole())
	for _, e := range all(f.root, "*") {
		g.Expect([]string{"script", "link", "img", "iframe", "object", "embed", "base", "form", "input", "video", "audio", "source", "use", "image", "foreignobject"}).NotTo(ContainElement(e.Data))
		for _, a := range e.Attr {
			g.Expect(a.Key).NotTo(HavePrefix("on"))
			g.Expect([]string{"src", "srcset", "style", "action", "background", "poster", "data", "xlink:href"}).NotTo(ContainElement(a.Key))
			if a.Key == "href" {
				g.Expect(a.Val).To(MatchRegexp(`^#record-\d+$`))
			}
		}
	}
	styles := textOf(all(f.root, "style")[0])
	g.Expect(styles).NotTo(Or(ContainSubstring("url("), ContainSubstring("@import"), ContainSubstring("ZgotmplZ")))
	g.Expect(styles).To(ContainSubstring("prefers-color-scheme: dark"))
	g.Expect(f.source).NotTo(ContainSubstring("http://"))
	g.Expect(f.source).NotTo(ContainSubstring("https://"))
	g.Expect(f.source).To(ContainSubstring(`content="default-src 'none'; style-src 'unsafe-inline'"`))
}

// Whatever stands in a record, its evidence or a name is text.
func TestHTMLEscapesEverything(t *testing.T) {
	g := NewWithT(t)
	const evil = `</pre></details><script>alert(1)</script><img src=x onerror=alert(1)>"'&{{.}}` + "`javascript:"
	clean := rendered(t, whole())
	r := whole()
	r.Title, r.Notes = evil, []string{evil}
	e := &r.Entries[2]
	e.Lapse, e.Remark = evil, evil
	rec := &e.Record
	rec.ID, rec.RunName, rec.Contract, rec.RunBy, rec.Verdict = evil, evil, evil, evil, evil
	rec.Target.Provider, rec.Target.Model = evil, evil
	rec.ServedModels, rec.Fingerprints, rec.Enforcement = []string{evil}, []string{evil}, evil
	rec.Dimensions[1].Name, rec.Dimensions[1].Status = evil, evil
	for _, list := range [][]certification.Finding{rec.Dimensions[1].Findings, rec.Warnings, rec.Cases[0].Findings} {
		for i := range list {
			list[i] = certification.Finding{Reason: evil, Case: evil, Detail: evil}
		}
	}
	rec.Cases[0].Case = evil
	d := e.Evidence
	d.Cases[0] = evidence.Case{Name: evil, Messages: []evidence.Message{{Role: evil, Content: evil}}, Expected: []byte(evil), Unrenderable: evil}
	wrong := []evidence.Finding{{Reason: evil, Detail: evil, Pointers: []string{evil, ""}}}
	d.Samples = []evidence.Sample{
		{Case: evil, Kind: certification.Answered, Content: evil, Structure: wrong, Exchange: evidence.Exchange{Error: evil, AttemptID: evil}},
		{Case: evil, Kind: certification.Unusable, Reason: evil, Detail: evil, Exchange: evidence.Exchange{Answer: evil}},
		{Case: evil, Kind: evil, Exchange: evidence.Exchange{AnswerBinary: []byte(evil)}},
	}
	f := rendered(t, r)
	g.Expect(f.source).NotTo(ContainSubstring("ZgotmplZ"))
	g.Expect(all(f.root, "script")).To(BeEmpty())
	g.Expect(all(f.root, "img")).To(BeEmpty())
	names := func(f file) []string {
		seen := map[string]bool{}
		for _, e := range all(f.root, "*") {
			seen[e.Data] = true
			for _, a := range e.Attr {
				seen[e.Data+" "+a.Key] = true
			}
		}
		var sorted []string
		for name := range seen {
			sorted = append(sorted, name)
		}
		slices.Sort(sorted)
		return sorted
	}
	for _, name := range names(f) {
		g.Expect(append(names(clean), "p class", "p dir", "sup")).To(ContainElement(name), "an element or attribute that was not there before")
	}
	g.Expect(strings.Count(textOf(f.root), "<script>alert(1)</script>")).To(BeNumerically(">=", 25), "it is all there, as text")
}

// Right-to-left text is shown in its own direction and moves nothing around it.
func TestHTMLRightToLeft(t *testing.T) {
	g := NewWithT(t)
	named := report.Report{Title: "run שם", Notes: []string{"שם 1"}, Entries: []report.Entry{certified("c", "m")}}
	named.Entries[0].Lapse, named.Entries[0].Remark = "שם 2", "שם 3"
	for _, n := range all(rendered(t, named).root, "*") {
		if text := textOf(n); n.Data != "title" && strings.Contains(text, "שם") && len(all(n, "*")) == 0 {
			g.Expect(n.Data == "bdi" || attribute(n, "dir") == "auto").To(BeTrue(), text)
		}
	}
	f := rendered(t, report.Report{Entries: []report.Entry{entry("{\"a\": \"אבג\", \"b\": \"דהו\u202eevil\"}", finding("r", "/b"))}})
	for _, prompt := range within(f.root, "pre", "prompt") {
		g.Expect(attribute(prompt, "dir")).To(Equal("auto"))
		g.Expect(all(prompt, "bdi")).To(BeEmpty(), "a quotation mark within a word begins nothing")
	}
	answer := within(f.root, "pre", "answer")[0]
	g.Expect(attribute(answer, "dir")).To(Equal("ltr"), "JSON is read from left to right …")
	isolated := texts(all(answer, "bdi"))
	g.Expect(isolated).To(ContainElements(`"a"`, `"אבג"`), "… and each text in it by itself")
	refusal := rendered(t, report.Report{Entries: []report.Entry{entry("מצטער, לא אוכל")}})
	g.Expect(attribute(within(refusal.root, "pre", "answer")[0], "dir")).To(Equal("auto"), "an answer that is no JSON is read as it is written")
	g.Expect(f.source).NotTo(ContainSubstring("\u202e"), "what would turn the line is named instead")
	g.Expect(texts(within(answer, "span", "control"))).To(Equal([]string{"U+202E"}))
	turning := report.Report{Title: "run\u202e", Notes: []string{"note\u202e"}, Entries: []report.Entry{certified("c\u202e", "m\u202e"), entry(`{}`, finding("r\u202e", "/b\u202e"))}}
	turning.Entries[0].Lapse, turning.Entries[0].Remark = "lapse\u202e", "remark\u202e"
	turning.Entries[1].Record.Dimensions[0].Findings = []certification.Finding{{Reason: "reason\u202e", Case: "case\u202e", Detail: "detail\u202e"}}
	g.Expect(rendered(t, turning).source).NotTo(ContainSubstring("\u202e"), "neither in names, reasons and details")
	for _, n := range all(f.root, "bdi") {
		if strings.Contains(textOf(n), "חשבונית") {
			return
		}
	}
	t.Error("the case's name is not isolated")
}

func TestHTMLIsBounded(t *testing.T) {
	g := NewWithT(t)
	f := rendered(t, many(100))
	g.Expect(len(f.source)).To(BeNumerically("<", 20<<20))
	g.Expect(f.source).To(ContainSubstring("Prompt and answers are left out, the file would become too large"))
	g.Expect(f.source).To(ContainSubstring("… 43616 bytes are left out …"))
}

func TestFailing(t *testing.T) {
	g := NewWithT(t)
	r := whole()
	r.Entries[1].Lapse = "revoked"
	failing := r.Failing()
	g.Expect(failing.Entries).To(HaveLen(2))
	g.Expect(r.Entries).To(HaveLen(3), "the report that was given is not touched")
	f := rendered(t, failing)
	g.Expect(textOf(f.root)).To(ContainSubstring("1 rejected, 1 no longer certified, 1 certified not shown"))
	g.Expect(within(f.root, "details", "record")).To(HaveLen(2))
	g.Expect(rendered(t, report.Report{Title: "t"}).source).To(ContainSubstring("no record"))
}

// What shows nothing of itself is named wherever foreign text stands; what is seen stays as it is.
func TestUnseenCharactersAreNamed(t *testing.T) {
	unseen := []rune{
		'\u00ad', '\u034f', '\u061c', '\u115f', '\u180e', '\u200b', '\u200d', '\u200e', '\u2028', '\u2029', '\u202e', '\u2060', '\u2066',
		'\u3164', '\ufe0f', '\ufeff', '\uffa0', '\U000e0041', '\U000e0100',
	}
	const seen = "é ä שָׁ ي ー ❤ 🇮🇱 \u0600 €"
	g := NewWithT(t)
	for _, r := range unseen {
		text, name := "a"+string(r)+"b", fmt.Sprintf("U+%04X", r)
		e := entry(text, finding(text))
		e.Evidence.Cases[0].Messages[0].Content, e.Record.Dimensions[1].Findings = text, []certification.Finding{{Reason: text, Count: 1, Detail: text}}
		for _, shown := range []string{textOf(rendered(t, report.Report{Entries: []report.Entry{e}}).root), markdown(t, report.Report{Entries: []report.Entry{e}}), report.Plain(text)} {
			g.Expect(shown).NotTo(ContainSubstring(string(r)), name)
			g.Expect(shown).To(ContainSubstring(name))
		}
	}
	g.Expect(report.Plain(seen)).To(Equal(seen))
}

// A case whose prompt is at fault went wrong, however good its answers are: both reports show it.
func TestACaseWithAFaultyPromptWentWrong(t *testing.T) {
	g := NewWithT(t)
	e := entry(`{}`)
	e.Record.Cases = []certification.CaseFigures{{Case: "חשבונית", Samples: 1, Usable: 1, Structure: 1, Business: 1, Prompt: 2, Findings: []certification.Finding{{Reason: "double_bos", Count: 2}}}}
	text := textOf(within(rendered(t, report.Report{Entries: []report.Entry{e}}).root, "details", "case")[0])
	g.Expect(text).To(ContainSubstring("failed 1 sample, 1 usable, 1 meet the schema, 1 pass every check; 2 faults of its prompt"))
	g.Expect(markdown(t, report.Report{Entries: []report.Entry{e}})).To(And(ContainSubstring("2 × `double_bos`"), ContainSubstring("Answer with one object.")))
}
