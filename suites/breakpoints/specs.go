package breakpoints

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
)

// Specs declares the scenarios that need nothing but the deployment's URL, key and simulator. It is
// called while Ginkgo builds its tree; the deployment is looked at when the scenarios run.
func Specs(deployment *Deployment) {
	s := &scene{Deployment: deployment}
	BeforeEach(s.begin)
	BeforeEach(func(ctx context.Context) { // whatever the deployment was used for before
		s.behaves(ctx, s.Primary, "faithful")
		s.behaves(ctx, s.Fallback, "faithful")
		s.closeCircuits(ctx)
	})
	AfterEach(s.expectOneWinner)
	AfterEach(s.expectLedgerEqualsAttempts)
	Describe("one intent is one job", s.identity)
	Describe("a refused request changes nothing", s.refusals)
	Describe("waiting and leaving", s.waiting)
	Describe("doubt", s.doubt)
	Describe("races", s.races)
	Describe("failover", s.failover)
	Describe("keys", s.access)
}
