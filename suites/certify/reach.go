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
	most, needed := hardest(p.Contract)
	cases, samples := len(p.Contract.Cases), samplesPerCase(p, options)
	proven := statistics.LowerBound(cases*samples, cases*samples)
	if proven >= most.Rate {
		return ""
	}
	remedy := fmt.Sprintf("the %d of the contract would do", p.Contract.Sampling.Samples)
	if more := SamplesLacking(p.Contract); more > 0 {
		remedy = fmt.Sprintf("--samples %d would do", more)
	}
	return fmt.Sprintf("cases × samples, %d × %d, are %d perfect answers at most, which prove %s; %s asks for %v, and that takes %d; %s",
		cases, samples, cases*samples, statistics.Shown(proven), most.Dimension, most.Rate, needed, remedy)
}

// SamplesLacking is how many samples of each case it takes to prove what a contract demands, where its own number is too
// small for that, however good the answers are; 0 where it is not, or where no number proves it.
func SamplesLacking(c *contracts.Contract) int {
	_, needed := hardest(c)
	if c.Sampling.Samples*len(c.Cases) >= needed {
		return 0
	}
	return statistics.PerCase(needed, len(c.Cases))
}

// hardest is the threshold that takes the most answers, and how many; 0 where no number proves it, by which a contract is unfit.
func hardest(c *contracts.Contract) (most contracts.Threshold, answers int) {
	most = slices.MaxFunc(c.Thresholds.Sampled(), func(a, b contracts.Threshold) int { return cmp.Compare(a.Rate, b.Rate) })
	answers, _ = statistics.SamplesNeeded(most.Rate)
	return most, answers
}
