package certification

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fallproof/fallproof/contracts/statistics"
)

// Comparison is what changed from one record to another, usually the one after it. Lists are empty, never
// null, and hold what differs alone.
type Comparison struct {
	Before     Compared          `json:"before"`
	After      Compared          `json:"after"`
	Settings   []Change          `json:"settings"`   // what was asked and how: contract, profile, parameters, source, harness
	Served     []Change          `json:"served"`     // who answered: models, fingerprints, enforcement, the soft deadline, and latency where it doubled or halved
	Dimensions []DimensionChange `json:"dimensions"` // figures
	Came       []Seen            `json:"findings_came"`
	Gone       []Seen            `json:"findings_gone"`
	Flipped    []Flip            `json:"cases_flipped"`
}

// Compared names one of the two records.
type Compared struct {
	ID       string    `json:"id"`
	Verdict  Verdict   `json:"verdict"`
	IssuedAt time.Time `json:"issued_at"`
}

// Change is one thing that is not what it was. "" is absent.
type Change struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// DimensionChange is a dimension whose figure or status moved.
type DimensionChange struct {
	Name   string  `json:"name"`
	Before *Figure `json:"before"` // null where the record does not have the dimension
	After  *Figure `json:"after"`
}

// Figure is what a dimension came to.
type Figure struct {
	Status     string  `json:"status"`
	Successes  int     `json:"successes"`
	Samples    int     `json:"samples"`
	LowerBound float64 `json:"lower_bound"`
	Threshold  float64 `json:"threshold"`
	Census     bool    `json:"census"` // judged exactly: LowerBound is the plain rate
}

// Seen is a finding of one record that the other does not have. Its instance is that record's.
type Seen struct {
	Dimension string  `json:"dimension"`
	Finding   Finding `json:"finding"`
}

// Flip is a case that came out otherwise.
type Flip struct {
	Case   string      `json:"case"`
	Before CaseOutcome `json:"before"`
	After  CaseOutcome `json:"after"`
}

// Empty reports whether nothing changed but the names, times and counts of the runs.
func (c Comparison) Empty() bool {
	return c.Before.Verdict == c.After.Verdict &&
		len(c.Settings)+len(c.Served)+len(c.Dimensions)+len(c.Came)+len(c.Gone)+len(c.Flipped) == 0
}

// Compare says what changed from before to after.
func Compare(before, after Record) Comparison {
	c := Comparison{
		Before:   Compared{before.ID, before.Verdict, before.IssuedAt},
		After:    Compared{after.ID, after.Verdict, after.IssuedAt},
		Settings: append(changes(settingsOf(before), settingsOf(after)), ChangedParts(before.Parts, after.Parts)...),
		Served:   append(changes(servedBy(before), servedBy(after)), changedLatency(before.Latency, after.Latency)...),
		Came:     missingFrom(before, after),
		Gone:     missingFrom(after, before),
	}
	c.Dimensions = compareDimensions(before.Dimensions, after.Dimensions)
	c.Flipped = compareCases(before.Cases, after.Cases)
	return c
}

// property is a named text of a record, for comparison.
type property struct{ name, text string }

// settingsOf tells which digest it is that changed: of the two that make the proof's, one is of the contract as far
// as it concerns the target, the other of its profile. [Record.Parts] tell what in them.
func settingsOf(r Record) []property {
	temperature := ""
	if t := r.Parameters.Temperature; t != nil {
		temperature = strconv.FormatFloat(*t, 'g', -1, 64)
	}
	return []property{
		{"contract", r.Contract},
		{"target", r.Target.String()},
		{"contract folder", r.ContractDigest},
		{"contract as far as it concerns the target", r.EffectiveDigest},
		{"profile of the target", r.ProfileDigest},
		{"source", string(r.Source)},
		{"harness", r.HarnessVersion},
		{"wrong answers that the checks refuse", mutationOf(r.Mutation)},
		{"samples a case", number(r.SamplesPerCase)},
		{"temperature", temperature},
		{"limit of the answer", strings.TrimSpace(r.Parameters.MaxTokensField + " " + number(r.Parameters.MaxTokens))},
		{"response format", r.Parameters.ResponseFormat},
		{"system role", r.Parameters.SystemRole},
		{"parameters not available", strings.Join(r.Parameters.Unavailable, ", ")},
		{"token checks", r.Parameters.TokenChecks},
	}
}

// latencyShift is by which factor nine of ten answers must have become faster or slower, and by how many milliseconds
// at least, to be called a change: less differs from one day to the next.
const (
	latencyShift   = 2
	latencyShiftMS = 100
)

func changedLatency(before, after *Latency) []Change {
	if before == nil || after == nil {
		return nil
	}
	var found []Change
	ms := func(name string, before, after int64) {
		found = append(found, Change{name, fmt.Sprintf("%d ms", before), fmt.Sprintf("%d ms", after)})
	}
	if before.DeadlineMS != after.DeadlineMS {
		ms("soft deadline", before.DeadlineMS, after.DeadlineMS)
	}
	less, more := min(before.P90MS, after.P90MS), max(before.P90MS, after.P90MS)
	if more >= latencyShift*less && more-less >= latencyShiftMS {
		ms("nine of ten answers within", before.P90MS, after.P90MS)
	}
	return found
}

func mutationOf(m *Mutation) string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d", m.Killed, m.Total)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func servedBy(r Record) []property {
	return []property{
		{"served models", strings.Join(r.ServedModels, ", ")},
		{"fingerprints", strings.Join(r.Fingerprints, ", ")},
		{"schema", string(r.Enforcement)},
	}
}

func changes(before, after []property) []Change {
	found := []Change{}
	for i, p := range before {
		if p.text != after[i].text {
			found = append(found, Change{p.name, p.text, after[i].text})
		}
	}
	return found
}

// ChangedParts compares what two records' digests are made of, sorted by name; nothing where one of them is from before
// that was kept.
func ChangedParts(before, after map[string]string) []Change {
	found := []Change{}
	if len(before) == 0 || len(after) == 0 {
		return found
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if before[name] != after[name] {
			found = append(found, Change{name, before[name], after[name]})
		}
	}
	return found
}

func compareDimensions(before, after []Dimension) []DimensionChange {
	found := []DimensionChange{}
	for _, name := range []string{DimensionPrompt, DimensionStructure, DimensionBusiness, DimensionRoundTrip} {
		was, is := figureOf(before, name), figureOf(after, name)
		switch {
		case was == nil && is == nil:
		case was == nil || is == nil || *was != *is:
			found = append(found, DimensionChange{name, was, is})
		}
	}
	return found
}

func figureOf(dimensions []Dimension, name string) *Figure {
	for _, d := range dimensions {
		if d.Name == name {
			return &Figure{d.Status, d.Successes, d.Samples, d.LowerBound, d.Threshold, d.Census}
		}
	}
	return nil
}

// missingFrom are the findings of one record, warnings among them, whose reason the other does not have in
// that dimension.
func missingFrom(without, with Record) []Seen {
	known := map[[2]string]bool{}
	for _, s := range allFindings(without) {
		known[[2]string{s.Dimension, s.Finding.Reason}] = true
	}
	return slices.DeleteFunc(allFindings(with), func(s Seen) bool { return known[[2]string{s.Dimension, s.Finding.Reason}] })
}

func allFindings(r Record) []Seen {
	all := []Seen{}
	for _, d := range r.Dimensions {
		for _, f := range d.Findings {
			all = append(all, Seen{d.Name, f})
		}
	}
	for _, f := range r.Warnings {
		all = append(all, Seen{"warning", f})
	}
	return all
}

func compareCases(before, after []CaseFigures) []Flip {
	outcomes := map[string]*Flip{}
	of := func(name string) *Flip {
		if outcomes[name] == nil {
			outcomes[name] = &Flip{name, CaseNotSeen, CaseNotSeen}
		}
		return outcomes[name]
	}
	for _, c := range before {
		of(c.Case).Before = c.Outcome()
	}
	for _, c := range after {
		of(c.Case).After = c.Outcome()
	}
	flipped := []Flip{}
	for _, f := range outcomes {
		if f.Before != f.After {
			flipped = append(flipped, *f)
		}
	}
	slices.SortFunc(flipped, func(a, b Flip) int { return cmp.Compare(a.Case, b.Case) })
	return flipped
}

// String is a figure in a few words.
func (f Figure) String() string {
	bound := "at least"
	if f.Census {
		bound = "exactly"
	}
	return fmt.Sprintf("%s, %d of %d, %s %s of %s", strings.ReplaceAll(f.Status, "_", " "), f.Successes, f.Samples, bound, statistics.Shown(f.LowerBound), Asked(f.Threshold))
}
