package certification

import (
	"cmp"
	"slices"
)

// maxFindings bounds a record: beyond so many different reasons nobody reads on.
const maxFindings = 20

// findings counts reasons and keeps the first instance of each: that of the lowest sample, and of its cases
// the first by name, in whatever order they come.
type findings struct{ list []Finding }

func (f *findings) add(one Finding, count int) {
	for i, known := range f.list {
		if known.Reason != one.Reason {
			continue
		}
		count += known.Count
		if cmp.Or(cmp.Compare(one.Sample, known.Sample), cmp.Compare(one.Case, known.Case)) >= 0 {
			one = known
		}
		one.Count = count
		f.list[i] = one
		return
	}
	one.Count = count
	f.list = append(f.list, one)
}

// addSample counts each reason once a sample, however often it occurs in the answer.
func (f *findings) addSample(o Observation, wrong []Finding) {
	seen := map[string]bool{}
	for _, w := range wrong {
		if seen[w.Reason] {
			continue
		}
		seen[w.Reason] = true
		f.add(Finding{Reason: w.Reason, Case: o.Case, Sample: o.Index, Detail: w.Detail}, 1)
	}
}

// addNote adds a reason that concerns the run and no sample.
func (f *findings) addNote(reason string, count int, detail string) {
	f.add(Finding{Reason: reason, Detail: detail}, count)
}

func (f findings) merged(other findings) findings {
	f.list = slices.Clone(f.list)
	for _, one := range other.list {
		f.add(one, one.Count)
	}
	return f
}

// sorted is most frequent first, then by reason, so that equal evidence gives equal records.
func (f findings) sorted() []Finding {
	sorted := slices.Clone(f.list)
	slices.SortStableFunc(sorted, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	if len(sorted) > maxFindings {
		sorted = sorted[:maxFindings]
	}
	if sorted == nil {
		sorted = []Finding{} // an empty list in JSON, not null
	}
	return sorted
}
