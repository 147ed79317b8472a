package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/providers"
)

//go:embed report.html.tmpl
var source string

var page = template.Must(template.New("report").Funcs(template.FuncMap{"plain": Plain}).Parse(source))

// Bounds of the HTML file.
const (
	maxWrong    = 4        // samples of a case that went wrong
	maxDrilled  = 12 << 20 // bytes of prompts and answers, all together
	maxFindings = 20       // of a sample
)

// HTML writes the report as one file that refers to nothing outside itself.
func HTML(w io.Writer, r Report) error {
	if err := page.Execute(w, view(r)); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// The views hold text alone: the template decides what is markup, and html/template escapes the rest.
type pageView struct {
	Title, Tally string
	Notes        []string
	Contracts    []string
	Rows         []rowView
	Entries      []entryView
}

type rowView struct {
	Target string
	Cells  [][]cellView // by contract; empty where the pair is not in the report
}

type cellView struct {
	Anchor, Verdict, Class string
	Source                 string // where it is not live
	Figures                []string
}

type entryView struct {
	Anchor, Contract, Target, Verdict, Class string
	Lapse, Remark                            string
	Open                                     bool
	Charts                                   []chartView
	Facts                                    []fact
	Warnings                                 []certification.Finding
	Cases                                    []caseView
	NoEvidence                               bool
}

type chartView struct {
	chart
	Findings []certification.Finding
}

type fact struct{ Name, Text string }

type caseView struct {
	Name, Outcome, Class, Figures string
	Open                          bool
	Findings                      []certification.Finding
	Messages                      []messageView
	Rendered                      []segment
	Unrenderable                  string
	Expected                      []segment
	Samples                       []sampleView
	More                          string // samples that are not shown
	Dropped                       bool   // prompt and answers were left out for the size of the file
}

type messageView struct {
	Role string
	Text []segment
}

type sampleView struct {
	Index               int
	Title, Class, About string
	Findings            []findingView
	Content             []segment
	Raw                 []segment // the answer as received, where no content could be read out of it
	Direction           string    // ltr | auto
	More                string    // findings that are not shown
	Omitted             bool
}

type findingView struct {
	Number         int
	Reason, Detail string
	Places         string
}

func view(r Report) pageView {
	m := r.matrix()
	v := pageView{Title: r.Title, Tally: r.tally(), Notes: r.Notes, Contracts: m.contracts}
	for _, target := range m.targets {
		row := rowView{Target: target}
		for _, contract := range m.contracts {
			var cells []cellView
			for _, i := range m.entries[[2]string{target, contract}] {
				cells = append(cells, cellOf(i, r.Entries[i]))
			}
			row.Cells = append(row.Cells, cells)
		}
		v.Rows = append(v.Rows, row)
	}
	left := maxDrilled
	for i, e := range r.Entries {
		v.Entries = append(v.Entries, entryOf(i, e, &left))
	}
	return v
}

func anchorOf(i int) string { return "record-" + number(i+1) }

// classOf is one of a fixed few: nothing from elsewhere becomes a class.
func classOf(e Entry) string {
	switch {
	case e.Good():
		return "good"
	case e.Record.Verdict == certification.Rejected:
		return "bad"
	}
	return "doubt"
}

func cellOf(i int, e Entry) cellView {
	c := cellView{Anchor: anchorOf(i), Verdict: e.Verdict(), Class: classOf(e)}
	if s := e.Record.Source; s == providers.SourceReplay || s == providers.SourceSimulated { // worth less, and says so where people look
		c.Source = string(e.Record.Source)
	}
	notes := len(e.Record.Warnings)
	for _, d := range e.Record.Dimensions {
		c.Figures = append(c.Figures, words(d.Name)+" "+figure(d)+lacking(d.Unseen()))
		notes += len(unverified(d))
	}
	if notes > 0 { // they stand in a part that is closed where the verdict is good
		c.Figures = append(c.Figures, counted(notes, "remark", "remarks"))
	}
	return c
}

func entryOf(i int, e Entry, left *int) entryView {
	r := e.Record
	v := entryView{
		Anchor: anchorOf(i), Contract: r.Contract, Target: r.Target.String(), Verdict: e.Verdict(), Class: classOf(e),
		Lapse: e.Lapse, Remark: e.Remark, Open: !e.Good(), Facts: factsOf(r), Warnings: r.Warnings, NoEvidence: e.Evidence == nil,
	}
	for _, d := range r.Dimensions {
		v.Charts = append(v.Charts, chartView{chartOf(d), d.Findings})
	}
	for _, c := range r.Cases {
		v.Cases = append(v.Cases, caseOf(c, e.Evidence, left))
	}
	return v
}

func caseOf(c certification.CaseFigures, d *evidence.Document, left *int) caseView {
	outcome := c.Outcome()
	v := caseView{
		Name: c.Case, Outcome: words(string(outcome)), Class: map[certification.CaseOutcome]string{
			certification.CasePassed: "good", certification.CaseFailed: "bad", certification.CaseNotSeen: "doubt",
		}[outcome],
		Figures:  caseFigures(c),
		Findings: c.Findings,
	}
	if d == nil {
		return v
	}
	if *left <= 0 {
		v.Dropped = true
		return v
	}
	for _, asked := range d.Cases {
		if asked.Name != c.Case {
			continue
		}
		v.Unrenderable = asked.Unrenderable
		for _, m := range asked.Messages {
			v.Messages = append(v.Messages, messageView{m.Role, spend(left, prose(m.Content))})
		}
		if asked.Rendered != "" {
			v.Rendered = spend(left, prose(asked.Rendered))
		}
		if len(asked.Expected) > 0 && string(asked.Expected) != "null" {
			v.Expected = spend(left, segments(laidOut(asked.Expected), nil))
		}
	}
	samples, more := chosen(d, c.Case, maxWrong)
	for _, s := range samples {
		v.Samples = append(v.Samples, sampleOf(s, left))
	}
	if more > 0 {
		v.More = counted(more, "further sample is", "further samples are")
	}
	return v
}

// laidOut is JSON with each member on a line of its own; its numbers and texts stay as they are written.
func laidOut(text jsontext.Value) string {
	lines := jsontext.Value(bytes.Clone(text))
	if err := lines.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(text)
	}
	return string(lines)
}

func caseFigures(c certification.CaseFigures) string {
	text := fmt.Sprintf("%s, %d usable, %d meet the schema, %d pass every check", counted(c.Samples, "sample", "samples"), c.Usable, c.Structure, c.Business)
	if c.Trouble > 0 {
		text += fmt.Sprintf("; %d lost to trouble of the provider", c.Trouble)
	}
	if c.Prompt > 0 {
		text += "; " + counted(c.Prompt, "fault", "faults") + " of its prompt"
	}
	return text
}

// spend takes what is shown off what is left to be shown.
func spend(left *int, shown []segment) []segment {
	for _, s := range shown {
		*left -= len(s.Text) + 32
	}
	return shown
}

func sampleOf(s evidence.Sample, left *int) sampleView {
	v := sampleView{Index: s.Index, Title: "good", Class: "good", Direction: "ltr", Omitted: s.Omitted}
	switch {
	case s.Good():
	case s.Reason != "":
		v.Title, v.Class = words(string(s.Kind))+": "+words(s.Reason), "doubt"
	default:
		v.Title, v.Class = "wrong", "bad"
	}
	v.About = aboutOf(s)
	findings := append(append([]evidence.Finding{}, s.Structure...), s.Business...)
	if more := len(findings) - maxFindings; more > 0 {
		findings, v.More = findings[:maxFindings], counted(more, "further finding is", "further findings are")
	}
	for i, f := range findings {
		v.Findings = append(v.Findings, findingView{i + 1, f.Reason, f.Detail, strings.Join(f.Pointers, ", ")})
	}
	switch {
	case s.Content != "":
		v.Direction = direction(s.Content)
		v.Content = spend(left, segments(s.Content, findings))
	case s.Exchange.Answer != "":
		v.Raw = spend(left, segments(s.Exchange.Answer, nil))
	case len(s.Exchange.AnswerBinary) > 0:
		v.Raw = spend(left, segments(strings.ToValidUTF8(string(s.Exchange.AnswerBinary), "\uFFFD"), nil))
	}
	return v
}

// aboutOf is what is known of a sample's call, in one line.
func aboutOf(s evidence.Sample) string {
	var parts []string
	if s.Exchange.Status != 0 {
		parts = append(parts, "status "+number(s.Exchange.Status))
	}
	if took := s.Exchange.Finished.Sub(s.Exchange.Started); took > 0 {
		parts = append(parts, fmt.Sprintf("%d ms", took.Milliseconds()))
	}
	if n := len(s.Before); n > 0 {
		parts = append(parts, "tried "+counted(n, "time", "times")+" before")
	}
	parts = append(parts, nonEmpty(s.Detail, s.Exchange.Error)...)
	if s.Exchange.AttemptID != "" {
		parts = append(parts, "attempt "+s.Exchange.AttemptID)
	}
	return strings.Join(parts, "; ")
}
