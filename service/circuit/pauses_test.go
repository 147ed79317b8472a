package circuit_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/circuit"
)

func TestTheLaterEndOfTwoPausesHolds(t *testing.T) {
	underClock(t, settings, func(b bench) {
		b.CoolDown(alpha, time.Minute)
		b.CoolDown(alpha, time.Second)
		b.CoolDown(alpha, 0)
		b.CoolDown(alpha, -time.Hour)
		b.Expect(b.Cooling(alpha)).To(gomega.Equal(time.Minute))
		b.Expect(b.waits(alpha)).To(gomega.Equal(time.Minute))
		b.Expect(b.Cooling(beta)).To(gomega.BeZero())

		after(59 * time.Second)
		b.CoolDown(alpha, 2*time.Second)
		b.Expect(b.Cooling(alpha)).To(gomega.Equal(2*time.Second), "it is the end that counts")
		after(2 * time.Second)
		b.Expect(b.Cooling(alpha)).To(gomega.BeZero())
		b.passes(alpha)
	})
}

func TestAProvidersPauseAndAnOpenCircuit(t *testing.T) {
	underClock(t, settings, func(b bench) {
		b.opened(alpha)
		b.CoolDown(alpha, 10*time.Second)
		b.Expect(b.Cooling(alpha)).To(gomega.BeNumerically(">", 29*time.Second), "the circuit is open for longer")
		b.CoolDown(alpha, time.Hour)
		b.Expect(b.Cooling(alpha)).To(gomega.Equal(time.Hour), "the provider asked for more")
		after(59 * time.Minute)
		b.waits(alpha)
		after(time.Minute)
		b.passes(alpha)(circuit.Success) // the pause has not used the probe up
		b.passes(alpha)
	})
}

func TestACircuitThatIsOff(t *testing.T) {
	underClock(t, circuit.Settings{}, func(b bench) {
		for range 100 {
			b.passes(alpha)(circuit.Failure)
		}
		b.Expect(b.Cooling(alpha)).To(gomega.BeZero())
		b.CoolDown(alpha, time.Minute)
		b.Expect(b.waits(alpha)).To(gomega.Equal(time.Minute), "what the provider asked for holds all the same")
	})
}

func TestSettingsThatSayLittle(t *testing.T) {
	underClock(t, circuit.Settings{Failures: 1}, func(b bench) {
		b.sends(alpha, circuit.Failure)
		b.Expect(b.Cooling(alpha)).To(gomega.BeNumerically("~", circuit.DefaultCoolDown, time.Microsecond))
		after(b.Cooling(alpha))
		b.passes(alpha)
		after(circuit.DefaultSilence - 1)
		b.waits(alpha)
		after(time.Millisecond)
		b.passes(alpha)
	})
}

func TestSettingsAreAskedOncePerTarget(t *testing.T) {
	g := gomega.NewWithT(t)
	asked := map[providers.Target]int{}
	circuits := circuit.New(func(target providers.Target) circuit.Settings {
		asked[target]++
		return settings
	})
	g.Expect(circuits.Cooling(alpha)).To(gomega.BeZero())
	g.Expect(asked).To(gomega.BeEmpty(), "saying what cools down makes nothing")
	for range 3 {
		circuits.Allow(alpha)
		circuits.CoolDown(beta, time.Nanosecond)
	}
	g.Expect(asked).To(gomega.Equal(map[providers.Target]int{alpha: 1, beta: 1}))
}
