package binding_test

import (
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/fixtures"
)

// TestShippedContractsHoldOnOtherInputs: schema and checks accept the right answer to inputs that they
// were not written for, with and without expected values, as at certification and in the service.
func TestShippedContractsHoldOnOtherInputs(t *testing.T) {
	catalog, err := contracts.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range catalog.All() {
		b := bind(t, c, alpha)
		for _, each := range inputs(t, c.Name) {
			t.Run(c.Name+": "+each["name"].(string), func(t *testing.T) {
				g := NewWithT(t)
				answer := string(value.Encode(each["expected"]))
				g.Expect(b.Judge(each["input"], each["expected"])(answer)).To(BeEmpty())
				g.Expect(b.Judge(each["input"], nil)(answer)).To(BeEmpty())
				_, err := b.Request(each["input"].(map[string]any))
				g.Expect(err).NotTo(HaveOccurred())
			})
		}
	}
}

func inputs(t *testing.T, contract string) []map[string]any {
	t.Helper()
	file, err := parser.ParseBytes(fixtures.Inputs(contract), 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []map[string]any
	for _, node := range file.Docs[0].Body.(*ast.SequenceNode).Values {
		decoded, err := value.FromYAML(node)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, decoded.(map[string]any))
	}
	if len(found) < 10 {
		t.Fatalf("%s has %d inputs", contract, len(found))
	}
	return found
}
