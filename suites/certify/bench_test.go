package certify_test

import (
	"testing"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/suites/certify"
)

// Both contracts at one target with five samples: collecting over loopback and judging.
func BenchmarkCertify(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		for _, contract := range []string{"invoice-extraction", "support-triage"} {
			if record, _ := w.certify(w.pair(contract, "faithful"), w.options()); record.Verdict != certification.Certified {
				b.Fatalf("%s: %s", contract, record.Verdict)
			}
		}
	}
}

// Judging alone.
func BenchmarkJudge(b *testing.B) {
	w := newWorld(b)
	_, evidence := w.certify(w.pair("invoice-extraction", "faithful"), w.options())
	for b.Loop() {
		if _, err := certify.Judge(evidence); err != nil {
			b.Fatal(err)
		}
	}
}
