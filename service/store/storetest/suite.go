package storetest

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
)

// behaviour is one promise of the store.
type behaviour struct {
	name string
	test func(*world)
}

// promises are all that the suite asks of an engine.
var promises = [][]behaviour{
	identity, machine, doubt, due, resend, doubts, races, slips, guards, proofs, drifts, renewals, runs, waitingAttempts, watching,
	retention, backups, keys,
}

// Run hands every behaviour a fresh database of the engine.
func Run(t *testing.T, open func(testing.TB) Backend) {
	t.Helper()
	for _, group := range promises {
		for _, promise := range group {
			t.Run(promise.name, func(t *testing.T) {
				backend := open(t)
				promise.test(&world{Gomega: gomega.NewWithT(t), Backend: backend, t: t, ctx: context.WithoutCancel(t.Context())})
			})
		}
	}
	t.Run("transcripts", func(t *testing.T) { runTranscripts(t, open) })
}
