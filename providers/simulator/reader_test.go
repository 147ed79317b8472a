package simulator

import (
	"os"
	"testing"

	"github.com/goccy/go-yaml"
	. "github.com/onsi/gomega"
)

// unseen reads inputs that the catalogue does not hold.
func unseen(t *testing.T, file string) []catalogCase {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []catalogCase
	if err := yaml.UnmarshalWithOptions(text, &cases, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("%s holds %d inputs, want at least 10", file, len(cases))
	}
	return cases
}

func TestInvoiceReaderOnUnseenInputs(t *testing.T) {
	for _, c := range unseen(t, "testdata/invoices.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			NewWithT(t).Expect(plain(readInvoice(c.Input["document"]).fields())).To(Equal(plain(c.Expected)))
		})
	}
}

func TestTriageReaderOnUnseenInputs(t *testing.T) {
	for _, c := range unseen(t, "testdata/messages.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			NewWithT(t).Expect(plain(readTriage(c.Input["message"]).fields())).To(Equal(plain(c.Expected)))
		})
	}
}
