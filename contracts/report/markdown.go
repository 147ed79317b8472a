package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/providers"
)

// Bound of the Markdown: code hosts refuse comments of 65,536 characters.
const maxMarkdown = 60_000

// Markdown writes the report for a comment: the matrix, then what failed, in details that open. What has no
// room is left out, figures last, and the text says so.
func Markdown(w io.Writer, r Report) error {
	m := markdown{room: maxMarkdown}
	m.must(fmt.Sprintf("## %s: %s\n", wordsMD(r.Title), r.tally()))
	for _, note := range r.Notes {
		m.must("\n" + codeSpan(note) + "\n")
	}
	m.matrix(r)
	for _, e := range r.Entries {
		if !e.Good() {
			m.maybe(reasonsMD(e))
		}
	}
	m.notes(r)
	for _, e := range r.Entries {
		if !e.Good() {
			m.details(e)
		}
	}
	if m.left > 0 {
		m.must("\n" + counted(m.left, "further part has no room here; the HTML report has it", "further parts have no room here; the HTML report has them") + ".\n")
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

func (m *markdown) maybe(text string) bool {
	if len(text) > m.room-200 {
		m.left++
		return false
	}
	m.must(text)
	return true
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
					cell += " (" + wordsMD(string(e.Record.Source)) + ")"
				}
				for _, d := range e.Record.Dimensions {
					cell += "<br>" + wordsMD(words(d.Name)) + " " + figure(d)
					if unseen := d.Unseen(); unseen != "" {
						cell += strings.ReplaceAll(lacking(wordsMD(unseen)), "|", `\|`)
					}
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

// notes say what is worth knowing of the pairs that are certified.
func (m *markdown) notes(r Report) {
	heading := "\n### Worth knowing of what is certified\n\n"
	for _, e := range r.Entries {
		if !e.Good() {
			continue
		}
		pair := fmt.Sprintf("- %s at %s: ", codeSpan(e.Record.Contract), codeSpan(e.Record.Target.String()))
		for _, note := range notesMD(e) {
			if m.maybe(heading + pair + note + "\n") {
				heading = ""
			}
		}
	}
}

// notesMD are what changes no verdict: where the record comes from, which checks could not be made, and the warnings.
func notesMD(e Entry) []string {
	r, notes := e.Record, []string{}
	if e.Remark != "" {
		notes = append(notes, wordsMD(e.Remark))
	}
	for _, d := range r.Dimensions {
		for _, f := range unverified(d) {
			notes = append(notes, fmt.Sprintf("%s, %d × %s%s", wordsMD(words(d.Name)), f.Count, codeSpan(f.Reason), instanceMD(f)))
		}
	}
	for _, f := range r.Warnings {
		note := codeSpan(f.Reason) + instanceMD(f)
		if f.Count > 1 {
			note = fmt.Sprintf("%d × %s", f.Count, note)
		}
		notes = append(notes, note)
	}
	return notes
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
		fmt.Fprintf(&text, "- %s\n", wordsMD(spoken(d)))
		for _, f := range d.Findings {
			fmt.Fprintf(&text, "  - %d × %s%s\n", f.Count, codeSpan(f.Reason), instanceMD(f))
		}
	}
	for _, note := range notesMD(e) {
		fmt.Fprintf(&text, "- worth knowing: %s\n", note)
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
		faults := ""
		if c.Prompt > 0 {
			faults = ", " + counted(c.Prompt, "fault", "faults") + " of its prompt"
		}
		fmt.Fprintf(&text, "\n<details><summary>%s at %s: case %s, %d of %s good%s</summary>\n\n",
			htmlText(e.Record.Contract), htmlText(e.Record.Target.String()), htmlText(c.Case), c.Business, counted(c.Samples, "sample", "samples"), faults)
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
	expected := ""
	for _, c := range d.Cases {
		if c.Name != name {
			continue
		}
		for _, message := range c.Messages {
			fmt.Fprintf(text, "\n%s:\n%s", wordsMD(message.Role), excerpt(message.Content))
		}
		if len(c.Expected) > 0 && string(c.Expected) != "null" {
			expected = "\nexpected answer:\n" + excerpt(string(c.Expected))
		}
	}
	samples, _ := chosen(d, name, 1)
	for _, s := range samples {
		if s.Good() {
			continue
		}
		answer := cmp.Or(s.Content, s.Exchange.Answer, strings.ToValidUTF8(string(s.Exchange.AnswerBinary), "\uFFFD"))
		switch {
		case s.Omitted:
			fmt.Fprintf(text, "\nThe answer of sample %d was left out of the evidence for its size.\n", s.Index)
		case answer == "":
			fmt.Fprintf(text, "\nNo answer came to sample %d.\n", s.Index)
		default:
			fmt.Fprintf(text, "%s\nanswer of sample %d:\n%s", expected, s.Index, excerpt(answer))
		}
	}
}
