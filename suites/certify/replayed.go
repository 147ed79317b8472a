package certify

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
)

// sayReplayed marks a record as what it is. One recorded answer is enough, and no configuration is asked: not
// the provider's source, and not who runs this.
func (e Evidence) sayReplayed(record *certification.Record) {
	from, ok := e.recordedFrom()
	if !ok && e.Options.Replay == "" {
		return
	}
	record.Source = providers.SourceReplay
	detail := "no recorded answer was played"
	if ok {
		first, last := e.span()
		detail = fmt.Sprintf("the answers, and the latencies, were recorded between %s and %s",
			first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))
	}
	record.Warnings = append(record.Warnings, certification.Finding{Reason: warningReplayed, Count: 1, Detail: detail})
	why := e.account.simulated
	if why == "" && ok && from != string(providers.SourceLive) {
		why = "the cassette says that it was recorded from a provider of source " + from
	}
	if why != "" {
		record.Warnings = append(record.Warnings, certification.Finding{Reason: warningRecordedSimulated, Count: 1, Detail: oneLine(why)})
	}
}

// RecordedSimulated says whether a record is of a replay, and it was no live provider that had been recorded.
func RecordedSimulated(record certification.Record) bool {
	return slices.ContainsFunc(record.Warnings, func(f certification.Finding) bool { return f.Reason == warningRecordedSimulated })
}

// others are the calls that are no samples of cases.
func (e Evidence) others() []Sample {
	var others []Sample
	for _, other := range []*Sample{e.Canary, e.Probe, e.Free} {
		if other != nil {
			others = append(others, *other)
		}
	}
	for _, index := range slices.Sorted(maps.Keys(e.Aside)) {
		others = append(others, e.Aside[index])
	}
	return others
}

// recordedFrom is the source that the cassette claims; ok is false where nothing was played.
func (e Evidence) recordedFrom() (from string, ok bool) {
	if e.account.recorded != nil {
		return *e.account.recorded, true
	}
	for _, sample := range e.others() {
		if sample.Replayed != "" {
			return sample.Replayed, true
		}
	}
	return "", false
}

// span is from when to when the answers came.
func (e Evidence) span() (first, last time.Time) {
	calls := e.account.calls
	for _, sample := range e.others() {
		calls = calls.with(sample)
	}
	return calls.first, calls.last
}

// unplayed takes every figure out of a judgement that rests on a recording of other requests.
func (e Evidence) unplayed(judgement certification.Judgement) certification.Judgement {
	if len(e.Unplayed) == 0 {
		return judgement
	}
	for i, d := range judgement.Dimensions {
		judgement.Dimensions[i] = certification.Dimension{
			Name: d.Name, Status: certification.StatusNotJudged, Threshold: d.Threshold, Census: d.Census, Findings: []certification.Finding{},
		}
		if d.Name == certification.DimensionPrompt {
			judgement.Dimensions[i].Findings = e.Unplayed
		}
	}
	judgement.Verdict, judgement.PassAll, judgement.Latency = certification.Inconclusive, []float64{}, nil
	return judgement
}
