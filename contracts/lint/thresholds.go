package lint

import (
	"github.com/fallproof/fallproof/contracts/statistics"
)

// thresholds asks whether perfect answers would prove what the contract demands. Prompt checks are a
// census, judged exactly, so there any threshold can be reached.
func (l *linter) thresholds() {
	for _, dimension := range []struct {
		name string
		want float64
	}{
		{"structure", l.c.Thresholds.Structure},
		{"business", l.c.Thresholds.Business},
		{"round_trip", l.c.Thresholds.RoundTrip},
	} {
		l.threshold(dimension.name, dimension.want)
	}
}

func (l *linter) threshold(name string, want float64) {
	path := "$.thresholds." + name
	cases, samples := len(l.c.Cases), l.c.Sampling.Samples
	needed, ok := statistics.SamplesNeeded(want)
	if !ok {
		l.at(path, Error, "%s %v cannot be proven by any number of samples: only prompt can be 1.0", name, want)
		return
	}
	proven := statistics.LowerBound(cases*samples, cases*samples)
	if proven >= want {
		return
	}
	perCase := (needed + cases - 1) / cases
	l.at(path, Error, "%s %v is out of reach: %d cases × %d samples = %d perfect answers prove %.3f; it takes %d answers, so samples: %d",
		name, want, cases, samples, cases*samples, proven, needed, perCase)
}
