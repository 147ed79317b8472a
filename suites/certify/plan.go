package certify

import (
	"context"
	"fmt"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

// slot is one call's place in the run.
type slot struct {
	name  string // of the case; noCase for the others
	index int
}

// isSample says whether a call is a sample of a case, which counts in rates.
func (s slot) isSample() bool { return s.name != noCase }

// stored is the call's place in the store.
func (s slot) stored() store.Place { return store.Place{Case: s.name, Index: s.index} }

// plan lists what is no sample, then the first sample of every case, then the second …, so that a target
// that fails every time is seen with every input before money is spent on repetitions.
func (c *collector) plan() []slot {
	if c.planned == nil {
		c.planned = planOf(c.pair, c.options)
	}
	return c.planned
}

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

// samples are finished calls of a run by their place.
type samples map[slot]Sample

// pageSize is how many samples are read of the store at once.
const pageSize = 64

// each hands over the finished samples of the run, by case and index, and never holds more than a page of them.
func (c *collector) each(ctx context.Context, take func(slot, Sample) error) error {
	return eachSample(ctx, c.options.Store, c.run.ID, func(slot) bool { return true }, take)
}

// eachSample hands over those finished samples of a run that are wanted.
func eachSample(ctx context.Context, kept store.Certifications, runID string, wanted func(slot) bool, take func(slot, Sample) error) error {
	for after := store.FirstPlace; ; {
		rows, err := kept.Samples(ctx, runID, after, pageSize)
		if err != nil {
			return err
		}
		for _, row := range rows {
			where := slot{row.Case, row.Index}
			if !wanted(where) {
				continue
			}
			sample, err := decodeSample(row)
			if err != nil {
				return fmt.Errorf("stored sample %d of case %q: %w", row.Index, row.Case, err)
			}
			if err := take(where, sample); err != nil {
				return err
			}
		}
		if len(rows) < pageSize {
			return nil
		}
		after = rows[len(rows)-1].Place
	}
}
