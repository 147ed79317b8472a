package certify_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers/simulator"
)

// A model that is wrong in exactly one of twenty answers: at 0.98 it is not certified with 160 samples, which
// would have been enough for a perfect one; at 0.85 it is with 40.
func TestAModelThatIsWrongOnceInTwenty(t *testing.T) {
	for _, row := range []struct {
		threshold float64
		samples   int // a case, of eight
		verdict   certification.Verdict
	}{
		{0.98, 20, certification.Rejected},
		{0.85, 5, certification.Certified},
		{0.85, 20, certification.Certified},
	} {
		g, w := NewWithT(t), newWorld(t)
		pair := w.pair("invoice-extraction", "flaky:20")
		pair.Concurrency = 1 // one after the other, so that the first stumble falls on the canary, which minds none
		lenient := *pair.Contract
		lenient.Thresholds.Business = row.threshold
		pair.Contract = &lenient
		options := w.options()
		options.Samples, options.Complete = row.samples, true
		record, _ := w.certify(pair, options)
		g.Expect(record.Verdict).To(Equal(row.verdict), "%v with %d samples a case: %+v", row.threshold, row.samples, record.Dimensions)
		business := dimension(record, certification.DimensionBusiness)
		g.Expect(business.Samples).To(Equal(8 * row.samples))
		g.Expect(business.Samples - business.Successes).To(Equal(business.Samples / 20))
	}
}

// A number that doubles do not hold reaches the checks exactly and the record as a remark.
func TestNumbersThatDoublesDoNotHold(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	pair := w.pair("support-triage", "bank")
	w.simulator.SetPersonality("bank", simulator.Personality{Kind: simulator.Faithful})
	ledger := *pair.Contract
	ledger.Schema = []byte(`{"type": "object", "properties": {"account": {"type": "integer", "const": 9007199254740993}, "share": {"type": "number", "const": 1e-400}},
		"required": ["account", "share"], "additionalProperties": false}`)
	ledger.Checks = []contracts.Check{
		{Name: "exact", Expr: `output.account == 9007199254740993`},
		{Name: "not its neighbour", Expr: `output.account != 9007199254740992`},
	}
	ledger.Cases = nil
	for _, each := range pair.Contract.Cases {
		each.Expected = map[string]any{"account": value.Number("9007199254740993"), "share": value.Number("1e-400")}
		ledger.Cases = append(ledger.Cases, each)
	}
	pair.Contract = &ledger
	record, _ := w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
	g.Expect(record.Warnings).To(ContainElements(And(
		HaveField("Reason", "unsafe_integer"), HaveField("Count", 40),
		HaveField("Detail", ContainSubstring("/account: 9007199254740993 is beyond 2^53")),
	), And(
		HaveField("Reason", "beyond_double"), HaveField("Count", 40),
		HaveField("Detail", "/share: 1e-400 is beyond what a double can hold: readers that use doubles read 0"),
	)))
}
