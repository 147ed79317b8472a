package certify

import (
	"context"
	"net/netip"

	"github.com/fallproof/fallproof/service/store"
)

// Conclude is Run without Ginkgo, which runs once in a process: it collects, judges, writes records and
// prints the summary.
func Conclude(ctx context.Context, options Options) (Result, error) {
	options, result, err := options.prepared()
	if err != nil {
		return result, err
	}
	all, err := gather(ctx, options, false)
	if err != nil {
		return result, err
	}
	if err := finish(ctx, options, all, &result); err != nil {
		return result, err
	}
	if err := writeFiles(ctx, options, result); err != nil {
		return result, err
	}
	return result, writeSummary(options, result)
}

// Samples are the samples of cases on which evidence rests, read from the store.
func Samples(ctx context.Context, e Evidence) ([]Sample, error) {
	var all []Sample
	err := eachSample(ctx, e.Options.Store, e.Run.ID, slot.isSample, func(_ slot, sample Sample) error {
		all = append(all, sample)
		return nil
	})
	return all, err
}

// Resting is the same evidence, resting on other samples.
func (e Evidence) Resting(samples []Sample) Evidence {
	e.account = newAccount(e.Pair, e.Options, e.binding)
	for _, sample := range samples {
		e.account.count(e.account.look(sample, sample.reading(e.Pair)))
	}
	return e
}

// Differ says whether a provider's count of a prompt is too far from ours.
var Differ = differ

// SimulatedBy says by what one can see in a sample that no live provider answered, on a machine that has these
// addresses.
func SimulatedBy(sample Sample, own ...netip.Addr) string {
	before := ownAddresses
	defer func() { ownAddresses = before }()
	ownAddresses = func() []netip.Addr { return own }
	return simulatedBy(Pair{}, sample)
}

// Decode reads a sample as it is stored.
func Decode(stored store.Sample) (Sample, error) { return decodeSample(stored) }
