package lint

import (
	"github.com/fallproof/fallproof/contracts/statistics"
)

// thresholds asks whether perfect answers would prove what the contract demands. Prompt checks are a
// census, judged exactly, so there any threshold can be reached.
func (l *linter) thresholds() {
	if want := l.c.Thresholds.Prompt; want < 1 {
		l.at("$.thresholds.prompt", Warning, "prompt %v tolerates faults that are certain and come back with every call, such as a doubled BOS or a prompt that does not fit; ask for 1.0", want)
	}
	l.unprovable()
	for _, t := range l.proven() {
		l.threshold(t.name, t.want)
	}
}

// threshold is what a dimension asks for.
type threshold struct {
	name string
	want float64
}

// proven are the thresholds that samples have to prove.
func (l *linter) proven() []threshold {
	of := l.c.Thresholds
	return []threshold{{"structure", of.Structure}, {"business", of.Business}, {"round_trip", of.RoundTrip}}
}

// unprovable names those that none do, however many.
func (l *linter) unprovable() {
	for _, t := range l.proven() {
		if _, ok := statistics.SamplesNeeded(t.want); !ok {
			l.at("$.thresholds."+t.name, Error, "%s %v cannot be proven by any number of samples: only prompt can be 1.0", t.name, t.want)
		}
	}
}

func (l *linter) threshold(name string, want float64) {
	cases, samples := len(l.c.Cases), l.c.Sampling.Samples
	needed, ok := statistics.SamplesNeeded(want)
	proven := statistics.LowerBound(cases*samples, cases*samples)
	if !ok || proven >= want {
		return
	}
	perCase := (needed + cases - 1) / cases
	l.at("$.thresholds."+name, Error, "%s %v is out of reach: %d cases × %d samples = %d perfect answers prove %.3f; it takes %d answers, so samples: %d",
		name, want, cases, samples, cases*samples, proven, needed, perCase)
}
