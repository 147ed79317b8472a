package certify_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/lint"
	"github.com/fallproof/fallproof/providers/simulator"
)

// A record says what the checks were worth that the target passed, as lint says it.
func TestRecordSaysWhatTheChecksAreWorth(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("invoice-extraction", "faithful")
	options := w.options()
	options.Samples = 1
	record, _ := w.certify(pair, options)
	report := lint.Examine(pair.Contract).Mutation
	g.Expect(record.Mutation).To(Equal(&certification.Mutation{
		Killed: report.Killed, Total: report.Total, Score: report.Score, Floor: 0.8,
	}))
	g.Expect(report.Killed).To(BeNumerically("<", report.Total), "the checks do not look at descriptions")
	g.Expect(string(jsonOf(t, record))).To(ContainSubstring(`"mutation":{"killed":`))
}

// What makes the business figure prove less than it seems to stands in the record.
func TestRecordSaysWhatTheChecksWereNotHeldAgainst(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("invoice-extraction", "faithful")
	options := w.options()
	options.Samples = 2
	record, _ := w.certify(pair, options)
	reasons := HaveField("Reason", BeElementOf("judged_by_rules_alone", "mutation_floor_off"))
	g.Expect(record.Warnings).NotTo(ContainElement(reasons))

	loose := *w.changed("invoice-extraction", `sampling: `, `mutation_floor: 0\nsampling: `)
	loose.Cases = slices.Clone(loose.Cases)
	loose.Cases[1].Expected, loose.Cases[2].Expected = nil, nil
	pair.Contract = &loose
	options.RunName = "loose"
	options.Complete = true
	record, _ = w.certify(pair, options)
	g.Expect(record.Warnings).To(ContainElement(And(
		HaveField("Reason", "judged_by_rules_alone"), HaveField("Count", 4), HaveField("Case", loose.Cases[1].Name))))
	g.Expect(record.Warnings).To(ContainElement(HaveField("Reason", "mutation_floor_off")))
}

// Calls that were made again are a figure of the record, and an answer that never came is no fast one.
func TestRecordCountsTheCallsThatWereMadeAgain(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("invoice-extraction", "hesitating:30")
	pair.Timeout = 2 * time.Second
	options := w.options()
	options.Complete = true
	record, _ := w.certify(pair, options)
	late := 0
	for _, entry := range w.simulator.Ledger() {
		if entry.Answered.Outcome == simulator.OutcomeUnanswered {
			late++
		}
	}
	counted := record.Latency.Late // of samples; the canary or a probe may have met the other one
	g.Expect(late).To(Equal(2), "the first call and the thirtieth")
	g.Expect(counted).To(BeElementOf(1, 2))
	g.Expect(record.Latency.Samples).To(Equal(record.Planned + counted))
	g.Expect(record.Retried).To(HaveExactElements(And(HaveField("Reason", "timeout"), HaveField("Count", counted))))
	g.Expect(record.Latency.MaxMS).To(BeNumerically(">=", 2000))
	g.Expect(string(jsonOf(t, record))).To(ContainSubstring(`"retried":[{"reason":"timeout","count":`))
}
