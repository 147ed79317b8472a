package simulator

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	. "github.com/onsi/gomega"
)

// catalogCase is a case of a shipped contract, read without the contract engine: that package stands
// below this one.
type catalogCase struct {
	Name     string            `yaml:"name"`
	Input    map[string]string `yaml:"input"`
	Expected map[string]any    `yaml:"expected"`
}

func catalogCases(t testing.TB, contract string) []catalogCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "contracts", "catalog", contract, "cases", "*.yaml"))
	if err != nil || len(files) != 8 {
		t.Fatalf("want the eight cases of %s, found %d (%v)", contract, len(files), err)
	}
	var cases []catalogCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var one catalogCase
		if err := yaml.UnmarshalWithOptions(text, &one, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		cases = append(cases, one)
	}
	return cases
}

// plain turns an answer into the values that the YAML reader yields, with numbers as exact text.
func plain(value any) any {
	switch v := value.(type) {
	case *object:
		members := map[string]any{}
		for _, m := range v.members {
			members[m.name] = plain(m.value)
		}
		return members
	case map[string]any:
		members := map[string]any{}
		for name, one := range v {
			members[name] = plain(one)
		}
		return members
	case []any:
		values := []any{}
		for _, one := range v {
			values = append(values, plain(one))
		}
		return values
	case *big.Rat:
		return decimal(v)
	case jsontext.Value:
		return plain(jsonNumber(v))
	case int, int64, uint64, float64:
		n, ok := new(big.Rat).SetString(fmt.Sprint(v))
		if !ok {
			panic(fmt.Sprintf("%v is no number", v))
		}
		return decimal(n)
	}
	return value
}

func jsonNumber(digits jsontext.Value) *big.Rat {
	n, ok := new(big.Rat).SetString(string(digits))
	if !ok {
		panic(fmt.Sprintf("%s is no number", digits))
	}
	return n
}

func TestInvoiceReaderOnTheCatalogue(t *testing.T) {
	for _, c := range catalogCases(t, "invoice-extraction") {
		t.Run(c.Name, func(t *testing.T) {
			NewWithT(t).Expect(plain(readInvoice(c.Input["document"]).fields())).To(Equal(plain(c.Expected)))
		})
	}
}

func TestTriageReaderOnTheCatalogue(t *testing.T) {
	for _, c := range catalogCases(t, "support-triage") {
		t.Run(c.Name, func(t *testing.T) {
			NewWithT(t).Expect(plain(readTriage(c.Input["message"]).fields())).To(Equal(plain(c.Expected)))
		})
	}
}

// TestNothingIsCanned makes sure that the readers know no case by its text: another amount, another
// answer.
func TestNothingIsCanned(t *testing.T) {
	g := NewWithT(t)
	for _, c := range catalogCases(t, "invoice-extraction") {
		number := c.Expected["invoice_number"].(string)
		changed := strings.ReplaceAll(c.Input["document"], number, "ZX-901")
		g.Expect(readInvoice(changed).number).To(Equal("ZX-901"), c.Name)
	}
}
