package simulator

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzReaders feeds the readers what no table thought of: whatever arrives is answered, by JSON
// that is valid.
func FuzzReaders(f *testing.F) {
	for _, contract := range []string{"invoice-extraction", "support-triage"} {
		for _, c := range catalogCases(f, contract) {
			f.Add(c.Input["document"] + c.Input["message"])
		}
	}
	f.Add("1 2 350,00 2 350,00\nTotal\n€")
	f.Add("99.99.9999 31/02/2026 x 1x1=1 (1) -1- 1,2,3.4.5 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, answer := range []*object{readInvoice(text).fields(), readTriage(text).fields()} {
			if encoded := encode(answer); !jsontext.Value(encoded).IsValid(jsontext.AllowInvalidUTF8(true)) {
				t.Fatalf("not JSON: %s", encoded)
			}
		}
	})
}
