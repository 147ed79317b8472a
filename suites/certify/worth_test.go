package certify_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/mutation"
)

// A record says what the checks were worth that the target passed, as lint says it.
func TestRecordSaysWhatTheChecksAreWorth(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("invoice-extraction", "faithful")
	options := w.options()
	options.Samples = 1
	record, _ := w.certify(pair, options)
	report, err := mutation.Test(pair.Contract)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record.Mutation).To(Equal(&certification.Mutation{
		Killed: report.Killed, Total: report.Total, Score: report.Score, Floor: 0.8,
	}))
	g.Expect(report.Killed).To(BeNumerically("<", report.Total), "the checks do not look at descriptions")
	g.Expect(string(jsonOf(t, record))).To(ContainSubstring(`"mutation":{"killed":`))
}
