package lint_test

import (
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/lint"
)

// The shipped contracts are what authors copy: not even a warning.
func TestShippedContractsHaveNoProblems(t *testing.T) {
	catalog, err := contracts.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range catalog.All() {
		for _, p := range lint.Examine(c).Problems {
			t.Errorf("%s/%s", c.Name, p)
		}
	}
}
