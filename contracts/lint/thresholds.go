package lint

import (
	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/statistics"
)

// thresholds asks whether perfect answers would prove what the contract demands. Prompt checks are a
// census, judged exactly, so there any threshold can be reached.
func (l *linter) thresholds() {
	if want := l.c.Thresholds.Prompt; want < 1 {
		l.at("$.thresholds.prompt", Warning, "prompt %v tolerates faults that are certain and come back with every call, such as a doubled BOS or a prompt that does not fit; ask for 1.0", want)
	}
	l.unprovable()
	for _, t := range l.c.Thresholds.Sampled() {
		l.threshold(t)
	}
}

// unprovable names those that none do, however many.
func (l *linter) unprovable() {
	for _, t := range l.c.Thresholds.Sampled() {
		if _, ok := statistics.SamplesNeeded(t.Rate); !ok {
			l.at("$.thresholds."+t.Dimension, Error, "%s %v cannot be proven by any number of samples: only prompt can be 1.0", t.Dimension, t.Rate)
		}
	}
}

func (l *linter) threshold(t contracts.Threshold) {
	cases, samples := len(l.c.Cases), l.c.Sampling.Samples
	needed, ok := statistics.SamplesNeeded(t.Rate)
	proven := statistics.LowerBound(cases*samples, cases*samples)
	if !ok || proven >= t.Rate {
		return
	}
	l.at("$.thresholds."+t.Dimension, Error, "%s %v is out of reach: %d cases × %d samples = %d perfect answers prove %s; it takes %d answers, so samples: %d",
		t.Dimension, t.Rate, cases, samples, cases*samples, statistics.Shown(proven), needed, statistics.PerCase(needed, cases))
}
