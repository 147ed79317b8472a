package certify

import (
	"context"
	"fmt"
	"unique"

	"github.com/fallproof/fallproof/providers"
)

// slot is one call's place in the run.
type slot struct {
	name  string // of the case; noCase for the others
	index int
}

// isSample says whether a call is a sample of a case, which counts in rates.
func (s slot) isSample() bool { return s.name != noCase }

// plan lists what is no sample, then the first sample of every case, then the second …, so that a target
// that fails every time is seen with every input before money is spent on repetitions.
func (c *collector) plan() []slot { return planOf(c.pair, c.options) }

func planOf(p Pair, o Options) []slot {
	plan := []slot{{noCase, canaryCall}}
	if p.Profile.StructuredOutput == providers.StructuredJSONSchema {
		plan = append(plan, slot{noCase, probeCall}, slot{noCase, freeProbeCall})
	}
	plan = append(plan, asideOf(p)...)
	for index := range samplesPerCase(p, o) {
		for _, each := range p.Contract.Cases {
			plan = append(plan, slot{each.Name, index})
		}
	}
	return plan
}

// samples are the finished calls of a run by their place.
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
		sample.Seen.Request = unique.Make(sample.Seen.Request).Value() // all samples of a case share it
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
