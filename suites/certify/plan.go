package certify

import (
	"context"
	"fmt"

	"github.com/fallproof/fallproof/contracts/certification"
)

// slot is one sample's place in the run.
type slot struct {
	name  string // of the case; canaryCase for the canary
	index int
}

// plan lists the canary, then the first sample of every case, then the second …, so that a target
// that fails every time is seen with every input before money is spent on repetitions.
func (c *collector) plan() []slot {
	plan := []slot{{canaryCase, 0}}
	for index := range samplesPerCase(c.pair, c.options) {
		for _, each := range c.pair.Contract.Cases {
			plan = append(plan, slot{each.Name, index})
		}
	}
	return plan
}

// samples are the finished samples of a run by their place.
type samples map[slot]Sample

func (c *collector) stored(ctx context.Context) (samples, error) {
	rows, err := c.options.Store.Samples(ctx, c.run.ID)
	if err != nil {
		return nil, err
	}
	have := samples{}
	for _, row := range rows {
		sample, err := decodeSample(row)
		if err != nil {
			return nil, fmt.Errorf("stored sample %d of case %q: %w", row.Index, row.Case, err)
		}
		have[slot{row.Case, row.Index}] = sample
	}
	return have, nil
}

func (s samples) missing(plan []slot) []slot {
	var missing []slot
	for _, where := range plan {
		if _, ok := s[where]; !ok {
			missing = append(missing, where)
		}
	}
	return missing
}

func (s samples) trouble(p Pair) int {
	count := 0
	for where, sample := range s {
		if where.name != canaryCase && sample.reading(p).trouble {
			count++
		}
	}
	return count
}

func (s samples) spent(p Pair, planned int) bool {
	return certification.TroubleBudgetSpent(s.trouble(p), planned)
}
