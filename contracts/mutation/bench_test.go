package mutation_test

import (
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/mutation"
)

// BenchmarkShipped is what a run of certification adds once for each contract.
func BenchmarkShipped(b *testing.B) {
	catalog, err := contracts.Shipped()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range catalog.All() {
		b.Run(c.Name, func(b *testing.B) {
			for b.Loop() {
				if _, err := mutation.Test(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
