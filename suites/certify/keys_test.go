package certify_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

// A request that cannot be built says nothing about the target: nobody was called.
func TestWhatCannotBeSentRejectsNobody(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	pair := w.pair("support-triage", "faithful")
	client := openai.New(openai.Config{BaseURL: w.baseURL, APIKey: "sk-hunter2\nhunter3"})
	t.Cleanup(client.Close)
	pair.Client = client
	record, _ := w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Inconclusive), "%+v", record.Dimensions)
	g.Expect(reasonsOf(dimension(record, certification.DimensionRoundTrip))).To(ContainElement(string(providers.ReasonUnmappable)))
	g.Expect(string(jsonOf(t, record))).NotTo(ContainSubstring("hunter"))
	g.Expect(w.simulator.Ledger()).To(BeEmpty())
}
