package report

import (
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/providers"
)

// Bounds of the Markdown: code hosts refuse comments of 65,536 characters.
const (
	maxMarkdown = 60_000
	maxExcerpt  = 1_500
)

// Markdown writes the report for a comment: the matrix, then what failed, in details that open. What has no
// room is left out, figures last, and the text says so.
func Markdown(w io.Writer, r Report) error {
	m := markdown{room: maxMarkdown}
	m.must(fmt.Sprintf("## %s: %s\n", plainMD(r.Title), r.tally()))
	if r.Note != "" {
		m.must("\n" + codeSpan(r.Note) + "\n")
	}
	m.matrix(r)
	for _, e := range r.Entries {
		if !e.Good() {
			m.maybe(reasonsMD(e))
		}
	}
	for _, e := range r.Entries {
		if !e.Good() {
			m.details(e)
		}
	}
	if m.left > 0 {
		m.must(fmt.Sprintf("\n%d further parts have no room here; the HTML report has them.\n", m.left))
	}
	_, err := io.WriteString(w, m.text.String())
	return err
}

type markdown struct {
	text strings.Builder
	room int // for what may be left out
	left int // parts that were
}

func (m *markdown) must(text string) {
	m.text.WriteString(text)
	m.room -= len(text)
}

func (m *markdown) maybe(text string) {
	if len(text) > m.room-200 {
		m.left++
		return
	}
	m.must(text)
}

var signs = map[string]string{"good": "✅", "bad": "❌", "doubt": "❔"}

func (m *markdown) matrix(r Report) {
	table := r.matrix()
	if len(table.targets) == 0 {
		return
	}
	head, rule := "\n| target |", "|---|"
	for _, contract := range table.contracts {
		head += " " + cellMD(contract) + " |"
		rule += "---|"
	}
	m.must(head + "\n" + rule + "\n")
	for _, target := range table.targets {
		row := "| " + cellMD(target) + " |"
		for _, contract := range table.contracts {
			var cells []string
			for _, i := range table.entries[[2]string{target, contract}] {
				e := r.Entries[i]
				cell := signs[classOf(e)] + " **" + e.Verdict() + "**"
				if s := e.Record.Source; s == providers.SourceReplay || s == providers.SourceSimulated { // it is worth less, and says so where people look
					cell += " (" + plainMD(string(e.Record.Source)) + ")"
				}
				for _, d := range e.Record.Dimensions {
					cell += "<br>" + plainMD(words(d.Name)) + " " + figure(d)
				}
				cells = append(cells, cell)
			}
			if cells == nil {
				cells = []string{"–"}
			}
			row += " " + strings.Join(cells, "<br>") + " |"
		}
		m.maybe(row + "\n")
	}
}

// reasonsMD says why one pair is not certified.
func reasonsMD(e Entry) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n### %s %s at %s: %s\n\n", signs[classOf(e)], codeSpan(e.Record.Contract), codeSpan(e.Record.Target.String()), e.Verdict())
	if e.Lapse != "" {
		fmt.Fprintf(&text, "- it does not count any longer: %s\n", codeSpan(e.Lapse))
	}
	for _, d := range e.Record.Dimensions {
		if d.Status == certification.StatusPassed {
			continue
		}
		fmt.Fprintf(&text, "- %s\n", plainMD(spoken(d)))
		for _, f := range d.Findings {
			fmt.Fprintf(&text, "  - %d × %s%s\n", f.Count, codeSpan(f.Reason), instanceMD(f))
		}
	}
	for _, f := range e.Record.Warnings {
		fmt.Fprintf(&text, "- worth knowing: %s%s\n", codeSpan(f.Reason), instanceMD(f))
	}
	fmt.Fprintf(&text, "\nRecord %s\n", codeSpan(e.Record.ID))
	return text.String()
}

func instanceMD(f certification.Finding) string {
	text := ""
	if f.Case != "" {
		text = fmt.Sprintf(", e.g. case %s, sample %d", codeSpan(f.Case), f.Sample)
	}
	if f.Detail != "" {
		text += ": " + codeSpan(f.Detail)
	}
	return text
}

// details shows, of each case that went wrong, what was asked and the first answer that is wrong.
func (m *markdown) details(e Entry) {
	for _, c := range e.Record.Cases {
		if c.Outcome() == certification.CasePassed {
			continue
		}
		var text strings.Builder
		fmt.Fprintf(&text, "\n<details><summary>%s at %s: case %s, %d of %d samples good</summary>\n\n",
			htmlText(e.Record.Contract), htmlText(e.Record.Target.String()), htmlText(c.Case), c.Business, c.Samples)
		for _, f := range c.Findings {
			fmt.Fprintf(&text, "- %d × %s%s\n", f.Count, codeSpan(f.Reason), detailMD(f.Detail))
		}
		if e.Evidence != nil {
			exchangeMD(&text, e.Evidence, c.Case)
		}
		text.WriteString("\n</details>\n")
		m.maybe(text.String())
	}
}

func detailMD(detail string) string {
	if detail == "" {
		return ""
	}
	return ": " + codeSpan(detail)
}

func exchangeMD(text *strings.Builder, d *evidence.Document, name string) {
	for _, c := range d.Cases {
		if c.Name != name {
			continue
		}
		for _, message := range c.Messages {
			fmt.Fprintf(text, "\n%s:\n%s", plainMD(message.Role), fenced(message.Content))
		}
	}
	samples, _ := chosen(d, name, 1)
	for _, s := range samples {
		if s.Good() {
			continue
		}
		answer := s.Content
		if answer == "" {
			answer = s.Exchange.Answer
		}
		fmt.Fprintf(text, "\nanswer of sample %d:\n%s", s.Index, fenced(answer))
	}
}

// clean takes out of foreign text what would turn or move what follows; white space becomes plain.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsControl(r), unicode.IsSpace(r):
			return ' '
		}
		return r
	}, text)
}

// codeSpan shows foreign text as it is: no markup, no mention, no link.
func codeSpan(text string) string {
	text = strings.TrimSpace(clean(text))
	if text == "" {
		return "(empty)"
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// cellMD is a code span in a table, where a bar would end the cell even so.
func cellMD(text string) string { return strings.ReplaceAll(codeSpan(text), "|", `\|`) }

// plainMD escapes what Markdown would read. It is for words of ours that may stand beside foreign ones.
func plainMD(text string) string {
	var out strings.Builder
	for _, r := range clean(text) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~@&$", r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// htmlText is foreign text inside an HTML block, where Markdown is not read and mentions still are.
func htmlText(text string) string { return "<code>" + html.EscapeString(clean(text)) + "</code>" }

// fenced is an excerpt in a fence that it cannot end.
func fenced(text string) string {
	if len(text) > maxExcerpt {
		cut := boundary(text, maxExcerpt)
		text = text[:cut] + fmt.Sprintf("\n… %d bytes more", len(text)-cut)
	}
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return '\uFFFD'
		}
		return r
	}, text)
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	return fence + "text\n" + text + "\n" + fence + "\n"
}

// longestRun is the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
