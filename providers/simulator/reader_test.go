package simulator

import (
	"testing"

	"github.com/goccy/go-yaml"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/fixtures"
)

// unseen reads inputs that the catalogue does not hold.
func unseen(t *testing.T, contract string) []catalogCase {
	t.Helper()
	var cases []catalogCase
	if err := yaml.UnmarshalWithOptions(fixtures.Inputs(contract), &cases, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("%s has %d inputs, want at least 10", contract, len(cases))
	}
	return cases
}

func TestInvoiceReaderOnUnseenInputs(t *testing.T) {
	for _, c := range unseen(t, "invoice-extraction") {
		t.Run(c.Name, func(t *testing.T) {
			NewWithT(t).Expect(plain(readInvoice(c.Input["document"]).fields())).To(Equal(plain(c.Expected)))
		})
	}
}

func TestTriageReaderOnUnseenInputs(t *testing.T) {
	for _, c := range unseen(t, "support-triage") {
		t.Run(c.Name, func(t *testing.T) {
			NewWithT(t).Expect(plain(readTriage(c.Input["message"]).fields())).To(Equal(plain(c.Expected)))
		})
	}
}
