package circuit_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/circuit"
)

func TestReportsThatAreLateDoubleOrMissing(t *testing.T) {
	t.Run("a result counts once", func(t *testing.T) {
		underClock(t, settings, func(b bench) {
			done := b.passes(alpha)
			for range 10 {
				done(circuit.Failure)
			}
			b.Expect(b.Cooling(alpha)).To(gomega.BeZero())
		})
	})
	t.Run("silence at the soft deadline, and then an answer", func(t *testing.T) {
		underClock(t, settings, func(b bench) {
			b.opened(alpha)
			after(b.Cooling(alpha))
			probe := b.passes(alpha)
			probe(circuit.Failure)
			probe(circuit.Success)
			b.waits(alpha)
		})
	})
	t.Run("one that began before the circuit opened neither closes nor prolongs it", func(t *testing.T) {
		underClock(t, settings, func(b bench) {
			late, later := b.passes(alpha), b.passes(alpha)
			b.opened(alpha)
			left := b.Cooling(alpha)
			late(circuit.Success)
			b.Expect(b.Cooling(alpha)).To(gomega.Equal(left))
			after(left)
			probe := b.passes(alpha)
			later(circuit.Success)
			b.Expect(b.waits(alpha)).To(gomega.Equal(circuit.ProbePause), "it is not the one that is waited for")
			probe(circuit.Success)
			b.passes(alpha)
		})
	})
	t.Run("those that were never reported on do not wear a closed circuit out", func(t *testing.T) {
		underClock(t, settings, func(b bench) {
			for range 1000 {
				b.passes(alpha)
			}
			b.opened(alpha)
		})
	})
	t.Run("a half-open circuit forgets the send that nobody reports on", func(t *testing.T) {
		underClock(t, settings, func(b bench) {
			b.opened(alpha)
			after(b.Cooling(alpha))
			lost := b.passes(alpha)
			after(settings.Silence - time.Millisecond)
			b.Expect(b.waits(alpha)).To(gomega.Equal(time.Millisecond))
			after(time.Millisecond)
			b.Expect(b.Cooling(alpha)).To(gomega.BeZero())
			probe := b.passes(alpha)
			b.waits(alpha)
			lost(circuit.Success)
			b.Expect(b.waits(alpha)).To(gomega.Equal(circuit.ProbePause))
			probe(circuit.Success)
			b.passes(alpha)
		})
	})
}
