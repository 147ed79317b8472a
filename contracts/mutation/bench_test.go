package mutation_test

import (
	"testing"

	"github.com/fallproof/fallproof/contracts"
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
				run(b, c)
			}
		})
	}
}
