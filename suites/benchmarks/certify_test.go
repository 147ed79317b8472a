package benchmarks

import (
	"testing"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/suites/certify"
)

// callsBeside are the calls of a run that are no samples: the canary and the two probes of the schema.
const callsBeside = 3

// BenchmarkCertification: the contracts of one target, eight cases with five samples each and the calls beside
// them, judged. The records are judged and not written: a process writes one run's.
func BenchmarkCertification(b *testing.B) {
	d := deploy(b, engines["sqlite"])
	pairs, release, err := certify.Pairs(d.config, certify.Selection{})
	if err != nil {
		b.Fatal(err)
	}
	defer release()
	calls := 0
	for b.Loop() {
		for _, pair := range pairs {
			evidence, err := certify.Collect(b.Context(), pair, certify.Options{Store: d.store, Samples: 5})
			if err != nil {
				b.Fatal(err)
			}
			record, err := certify.Judge(evidence)
			if err != nil {
				b.Fatal(err)
			}
			if record.Verdict != certification.Certified {
				b.Fatalf("%s: %s", pair, record.Verdict)
			}
			calls += record.Taken + callsBeside
		}
	}
	b.ReportMetric(float64(calls)/b.Elapsed().Seconds(), "calls/s")
}
