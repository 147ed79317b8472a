package certify

import (
	"context"
	"fmt"
	"time"

	"github.com/fallproof/fallproof/providers"
)

// SamplesError says that a run has taken other samples than are asked for.
type SamplesError struct {
	Run          string
	Taken, Asked int // per case
	Finished     bool
}

func (e *SamplesError) Error() string {
	so := "already"
	if e.Finished {
		so = "and is finished"
	}
	return fmt.Sprintf("run %q has %d samples a case %s, and %d are asked for; "+
		"ask for as many as it was started with, or use another --run name for a new measurement", e.Run, e.Taken, so, e.Asked)
}

// StaleError says that an unfinished run began so long ago that its record would have expired when it was issued.
type StaleError struct {
	Run       string
	StartedAt time.Time
	ValidFor  time.Duration // of the contract, counted from the run's begin
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("run %q began at %s, longer ago than valid_for %s: what it has would prove nothing any more; use another --run name",
		e.Run, e.StartedAt.UTC().Format(time.RFC3339), e.ValidFor)
}

// prepare opens the pair's run and refuses a plan that the run does not fit. Nothing is called.
func (c *collector) prepare(ctx context.Context) error {
	if err := c.load(); err != nil {
		return err
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	c.idle = c.run.RecordID != ""
	switch {
	case c.idle:
		return c.sameAsBefore(ctx)
	case c.begun:
		return nil
	case time.Since(c.run.StartedAt) >= c.pair.Contract.ValidFor:
		return &StaleError{Run: c.run.Name, StartedAt: c.run.StartedAt, ValidFor: c.pair.Contract.ValidFor}
	}
	planned := map[slot]bool{}
	for _, where := range c.plan() {
		planned[where] = true
	}
	within, perCase := true, 0
	err := c.each(ctx, func(where slot, sample Sample) error {
		within = within && planned[where]
		if where.isSample() {
			perCase = max(perCase, where.index+1)
		}
		return c.unmixed(sample)
	})
	if err != nil || within {
		return err
	}
	return &SamplesError{Run: c.run.Name, Taken: perCase, Asked: samplesPerCase(c.pair, c.options)}
}

// sameAsBefore: the record of a finished run is wanted, however many samples it took, unless another number
// is asked for.
func (c *collector) sameAsBefore(ctx context.Context) error {
	stored, err := c.options.Store.Record(ctx, c.run.RecordID)
	if err != nil {
		return err
	}
	if replayed := stored.Source == providers.SourceReplay; replayed != c.replays() {
		return &MixedError{Run: c.run.Name, Replayed: replayed}
	}
	if c.options.Samples == 0 || stored.SamplesPerCase == c.options.Samples {
		return nil
	}
	return &SamplesError{Run: c.run.Name, Taken: stored.SamplesPerCase, Asked: c.options.Samples, Finished: true}
}
