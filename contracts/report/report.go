package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/contracts/statistics"
)

// Report is what is shown.
type Report struct {
	Title   string
	Notes   []string // what has to be said first, e.g. why a run is not complete
	Entries []Entry
	NotRun  int // pairs that the run did without: their contracts can certify nothing
	Hidden  int // entries that [Report.Failing] left out
}

// Entry is one record with what is known beside it.
type Entry struct {
	Record   certification.Record
	Lapse    string             // why a certified record is worth nothing any longer; "" where it stands
	Remark   string             // one line on where the record comes from
	Evidence *evidence.Document // nil where none is kept
}

// Good reports whether the entry is certified and stands.
func (e Entry) Good() bool { return e.Record.Verdict == certification.Certified && e.Lapse == "" }

// Verdict is what the entry says in the matrix.
func (e Entry) Verdict() string {
	if e.Record.Verdict == certification.Certified && e.Lapse != "" {
		return "no longer certified"
	}
	return string(e.Record.Verdict)
}

// Failing is the report with only what is not certified.
func (r Report) Failing() Report {
	bad := slices.DeleteFunc(slices.Clone(r.Entries), Entry.Good)
	r.Hidden += len(r.Entries) - len(bad)
	r.Entries = bad
	return r
}

// tally is how many entries there are of each verdict, in words.
func (r Report) tally() string {
	counts := map[string]int{}
	for _, e := range r.Entries {
		counts[e.Verdict()]++
	}
	var parts []string
	for _, verdict := range []string{"certified", "rejected", "inconclusive", "no longer certified"} {
		if counts[verdict] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[verdict], verdict))
		}
	}
	if r.NotRun > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", r.NotRun))
	}
	if r.Hidden > 0 {
		parts = append(parts, fmt.Sprintf("%d certified not shown", r.Hidden))
	}
	if len(parts) == 0 {
		return "no record"
	}
	return strings.Join(parts, ", ")
}

// matrix is contracts × targets. A place may hold several records of one pair, newest last as they came.
type matrix struct {
	contracts, targets []string
	entries            map[[2]string][]int // by target and contract: positions in the report
}

func (r Report) matrix() matrix {
	m := matrix{entries: map[[2]string][]int{}}
	for i, e := range r.Entries {
		contract, target := e.Record.Contract, e.Record.Target.String()
		if !slices.Contains(m.contracts, contract) {
			m.contracts = append(m.contracts, contract)
		}
		if !slices.Contains(m.targets, target) {
			m.targets = append(m.targets, target)
		}
		place := [2]string{target, contract}
		m.entries[place] = append(m.entries[place], i)
	}
	return m
}

// figure is a dimension in a few words.
func figure(d certification.Dimension) string {
	text := "nothing seen"
	if d.Samples > 0 {
		least := "≥"
		if d.Census {
			least = "="
		}
		text = fmt.Sprintf("%d/%d %s %s, %s asked", d.Successes, d.Samples, least, statistics.Shown(d.LowerBound), certification.Asked(d.Threshold))
	}
	status := statusClass(d.Status)
	if status == certification.StatusFailed || d.Samples > 0 && status != certification.StatusPassed { // the figure may look well all the same
		text += ", " + words(status)
	}
	if vetoed := d.Vetoed(); vetoed != "" {
		text += ": " + vetoed
	}
	return text
}

// borne is what stands behind a figure that neither proves nor refutes.
func borne(d certification.Dimension) string {
	if said := d.Borne(); said != "" {
		return "; " + said
	}
	return ""
}

// lacking is what stands behind a figure that would do and is not judged all the same.
func lacking(unseen string) string {
	if unseen == "" {
		return ""
	}
	return "; could not be seen: " + unseen
}

func vetoed(d certification.Dimension) string {
	if words := d.Vetoed(); words != "" {
		return "; " + words
	}
	return ""
}

// spoken is the same as a sentence, for who cannot see a chart.
func spoken(d certification.Dimension) string {
	name, status := words(d.Name), words(d.Status)
	if d.Samples == 0 {
		return fmt.Sprintf("%s: %s, nothing that could be judged was seen", name, status)
	}
	return fmt.Sprintf("%s: %s, %d of %d, %s; %s is asked", name, status, d.Successes, d.Samples, d.Bound(), certification.Asked(d.Threshold)) + vetoed(d) + borne(d) + lacking(d.Unseen())
}

// words writes a stable word as people read it.
func words(word string) string { return strings.ReplaceAll(word, "_", " ") }

// counted is a number of things.
func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + several
}

// unverified are the findings that say which checks of a dimension could not be made, though it passed.
func unverified(d certification.Dimension) []certification.Finding {
	if d.Status != certification.StatusPassed {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.Findings), func(f certification.Finding) bool { return f.Reason != string(prompt.NotVerified) })
}

// chosen are the samples of a case that a report shows: those that went wrong, and a good one to compare
// them with.
func chosen(d *evidence.Document, name string, wrong int) (shown []evidence.Sample, more int) {
	good := -1
	for i, s := range d.Samples {
		switch {
		case s.Case != name:
		case !s.Good() && len(shown) < wrong:
			shown = append(shown, s)
		case s.Good() && good < 0:
			good = i
		default:
			more++
		}
	}
	if good >= 0 {
		shown = append(shown, d.Samples[good])
	}
	return shown, more
}
