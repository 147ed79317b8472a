package certify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/report"
	"github.com/fallproof/fallproof/contracts/statistics"
)

// warnOutOfReach says, before anything is paid for, by which contracts this run cannot certify however good the
// answers are: so few prove less than is asked. They can be rejected all the same, and that may be all that is wanted.
func warnOutOfReach(options Options) {
	told := map[*contracts.Contract]bool{}
	for _, p := range options.Pairs {
		if told[p.Contract] {
			continue
		}
		told[p.Contract] = true
		if why := outOfReach(p, options); why != "" {
			fmt.Fprintf(options.Out, "warning: nothing can be certified by %s in this run: %s\n", report.Plain(p.Contract.Name), why)
		}
	}
}

// outOfReach is the most demanding threshold that perfect answers would not prove, in words; "" where there is none.
func outOfReach(p Pair, options Options) string {
	most := slices.MaxFunc(p.Contract.Thresholds.Sampled(), func(a, b contracts.Threshold) int { return cmp.Compare(a.Rate, b.Rate) })
	cases, samples := len(p.Contract.Cases), samplesPerCase(p, options)
	proven := statistics.LowerBound(cases*samples, cases*samples)
	if proven >= most.Rate {
		return ""
	}
	needed, _ := statistics.SamplesNeeded(most.Rate) // there is a number: else the contract would be unfit
	remedy := fmt.Sprintf("--samples %d would do", statistics.PerCase(needed, cases))
	if own := p.Contract.Sampling.Samples; own*cases >= needed {
		remedy = fmt.Sprintf("the %d of the contract would do", own)
	}
	return fmt.Sprintf("cases × samples, %d × %d, are %d perfect answers at most, which prove %s; %s asks for %v, and that takes %d; %s",
		cases, samples, cases*samples, statistics.Shown(proven), most.Dimension, most.Rate, needed, remedy)
}
