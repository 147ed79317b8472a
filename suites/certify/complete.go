package certify

import (
	"fmt"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/fallproof/fallproof/contracts/certification"
)

// whyIncomplete reads Ginkgo's report and says why the run may not certify, or "" where it may.
// SuiteSucceeded is not asked: Ginkgo says so of a suite without specs, with skipped ones, and of a dry
// run. What counts is that every spec that had to run did, once, and came out as its judgement says.
func whyIncomplete(report types.Report, all []judged) string {
	if why := whyFiltered(report); why != "" {
		return why
	}
	if len(report.SpecialSuiteFailureReasons) > 0 {
		return report.SpecialSuiteFailureReasons[0]
	}
	specs := report.SpecReports.WithLeafNodeType(types.NodeTypeIt)
	if want := len(all) * len(dimensions); len(specs) != want {
		return fmt.Sprintf("%d specs were declared and %d are needed", len(specs), want)
	}
	ran := map[string]specEntry{}
	for _, spec := range specs {
		entry, why := whatRan(spec)
		if why != "" {
			return fmt.Sprintf("spec %q %s", spec.FullText(), why)
		}
		ran[entry.key()] = entry
	}
	for _, j := range all {
		for _, name := range dimensions {
			want := specEntry{Contract: j.record.Contract, Target: j.record.Target.String(), Dimension: name}
			if _, ok := ran[want.key()]; !ok {
				return fmt.Sprintf("%s at %s: %s was not judged by any spec", want.Contract, want.Target, name)
			}
		}
	}
	return ""
}

func (e specEntry) key() string { return e.Contract + "\x00" + e.Target + "\x00" + e.Dimension }

func whyFiltered(report types.Report) string {
	c := report.SuiteConfig
	switch {
	case c.DryRun:
		return "it was a dry run"
	case c.FlakeAttempts > 0:
		return "failing specs were to be repeated (flake attempts)"
	case len(c.FocusStrings)+len(c.SkipStrings)+len(c.FocusFiles)+len(c.SkipFiles) > 0, c.LabelFilter != "", c.SemVerFilter != "":
		return "specs were filtered by focus, skip or label"
	case report.SuiteHasProgrammaticFocus:
		return "specs were focused in code"
	case !c.FailOnEmpty:
		return "an empty suite would have passed"
	}
	return ""
}

// whatRan is the entry of a spec that ran exactly once and came out as judged, or why it is no such spec.
func whatRan(spec types.SpecReport) (specEntry, string) {
	switch {
	case !spec.State.Is(types.SpecStatePassed | types.SpecStateFailed):
		return specEntry{}, "is " + spec.State.String()
	case spec.NumAttempts != 1 || spec.MaxFlakeAttempts > 1:
		return specEntry{}, "was repeated"
	}
	var entries []specEntry
	for _, reported := range spec.ReportEntries {
		if entry, ok := reported.GetRawValue().(specEntry); ok && reported.Name == entryName {
			entries = append(entries, entry)
		}
	}
	if len(entries) != 1 {
		return specEntry{}, "did not run its body once"
	}
	passed := spec.State == types.SpecStatePassed
	if passed != (entries[0].Status == certification.StatusPassed) {
		return specEntry{}, fmt.Sprintf("is %s, its judgement is %s", spec.State, entries[0].Status)
	}
	return entries[0], ""
}
