package circuit_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/circuit"
)

var (
	alpha = providers.Target{Provider: "alpha", Model: "large"}
	beta  = providers.Target{Provider: "beta", Model: "medium"}
)

// settings of every circuit in these tests.
var settings = circuit.Settings{Failures: 3, CoolDown: 30 * time.Second, Silence: 5 * time.Minute}

// bench is one replica's circuits under a clock that moves only when everybody waits.
type bench struct {
	*gomega.WithT
	*circuit.Circuits
}

func underClock(t *testing.T, settings circuit.Settings, test func(bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(bench{gomega.NewWithT(t), circuit.New(func(providers.Target) circuit.Settings { return settings })})
	})
}

// passes is a send that is let through and not reported on yet.
func (b bench) passes(target providers.Target) func(circuit.Result) {
	done, wait, ok := b.Allow(target)
	b.Expect(ok).To(gomega.BeTrue(), "is to be let through")
	b.Expect(wait).To(gomega.BeZero())
	return done
}

// waits is a send that is not let through.
func (b bench) waits(target providers.Target) time.Duration {
	done, wait, ok := b.Allow(target)
	b.Expect(ok).To(gomega.BeFalse(), "is not to be let through")
	b.Expect(done).To(gomega.BeNil())
	b.Expect(wait).To(gomega.BeNumerically(">", 0))
	return wait
}

func (b bench) sends(target providers.Target, results ...circuit.Result) {
	for _, result := range results {
		b.passes(target)(result)
	}
}

// opened is a circuit that has just opened.
func (b bench) opened(target providers.Target) {
	b.sends(target, circuit.Failure, circuit.Failure, circuit.Failure)
	b.waits(target)
}

// after lets time pass.
func after(d time.Duration) { <-time.After(d) }

func TestFailuresInARowOpenTheCircuit(t *testing.T) {
	rows := []struct {
		name    string
		results []circuit.Result
		open    bool
	}{
		{"too few", []circuit.Result{circuit.Failure, circuit.Failure}, false},
		{"enough, however fast", []circuit.Result{circuit.Failure, circuit.Failure, circuit.Failure}, true},
		{"a success between them", []circuit.Result{circuit.Failure, circuit.Failure, circuit.Success, circuit.Failure, circuit.Failure}, false},
		{"what says nothing does not interrupt them",
			[]circuit.Result{circuit.Failure, circuit.Neither, circuit.Failure, circuit.Neither, circuit.Failure}, true},
		{"what says nothing, ever so often", []circuit.Result{circuit.Neither, circuit.Neither, circuit.Neither, circuit.Neither}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			underClock(t, settings, func(b bench) {
				b.sends(alpha, row.results...)
				if !row.open {
					b.Expect(b.Cooling(alpha)).To(gomega.BeZero())
					b.passes(alpha)
					return
				}
				b.Expect(b.Cooling(alpha)).To(gomega.BeNumerically("~", 30*time.Second, time.Microsecond))
				b.Expect(b.waits(alpha)).To(gomega.Equal(b.Cooling(alpha)))
				b.Expect(b.Cooling(beta)).To(gomega.BeZero(), "another target's is its own")
				b.passes(beta)
			})
		})
	}
}

// A target that answers 503 at once looks fast. A thousand jobs that ask it whenever they may reach it
// three times, and once for every cool-down.
func TestInstantFailuresDoNotAttractTraffic(t *testing.T) {
	underClock(t, settings, func(b bench) {
		reached := 0
		for range 1000 { // 100 ms apart: a hundred seconds
			if done, _, ok := b.Allow(alpha); ok {
				reached++
				done(circuit.ResultOf(providers.Outcome{Verdict: providers.InDoubt, Reason: providers.ReasonServerError}))
			}
			after(100 * time.Millisecond)
		}
		b.Expect(reached).To(gomega.Equal(3 + 3))
	})
}

func TestAfterTheCoolDownOneSendFindsOut(t *testing.T) {
	underClock(t, settings, func(b bench) {
		b.opened(alpha)
		after(b.Cooling(alpha) - 1)
		b.Expect(b.Cooling(alpha)).To(gomega.Equal(time.Duration(1)))
		b.waits(alpha)
		after(1)
		b.Expect(b.Cooling(alpha)).To(gomega.BeZero(), "when its time is over it may be asked, to the very moment")
		b.Expect(b.Cooling(alpha)).To(gomega.BeZero(), "which saying so does not use up")

		probe := b.passes(alpha)
		b.Expect(b.waits(alpha)).To(gomega.Equal(circuit.ProbePause))
		b.Expect(b.Cooling(alpha)).To(gomega.Equal(circuit.ProbePause))
		probe(circuit.Failure)
		b.Expect(b.Cooling(alpha)).To(gomega.BeNumerically("~", 30*time.Second, time.Microsecond), "open again, in full")

		after(b.waits(alpha))
		b.passes(alpha)(circuit.Neither)
		b.Expect(b.Cooling(alpha)).To(gomega.BeZero(), "nothing was found out")
		probe = b.passes(alpha)
		b.waits(alpha)
		probe(circuit.Success)
		b.Expect(b.Cooling(alpha)).To(gomega.BeZero())
		b.passes(alpha)
		b.passes(alpha) // closed: as many as want to
		b.sends(alpha, circuit.Failure, circuit.Failure)
		b.Expect(b.Cooling(alpha)).To(gomega.BeZero(), "old failures are forgotten")
	})
}

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
			b.waits(alpha)
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
			b.waits(alpha)
			probe(circuit.Success)
			b.passes(alpha)
		})
	})
}

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

// However many ask at once, a half-open circuit lets one through at a time.
func TestOneAtATimeUnderARace(t *testing.T) {
	underClock(t, circuit.Settings{Failures: 1, CoolDown: time.Second}, func(b bench) {
		b.sends(alpha, circuit.Failure)
		after(b.Cooling(alpha))
		var out, most, reached atomic.Int32
		var everybody sync.WaitGroup
		for range 200 {
			everybody.Go(func() {
				for {
					done, wait, ok := b.Allow(alpha)
					if !ok {
						after(wait)
						continue
					}
					reached.Add(1)
					for n := out.Add(1); n > most.Load(); {
						most.Store(n)
					}
					after(10 * time.Millisecond)
					out.Add(-1)
					done(circuit.Neither)
					return
				}
			})
		}
		everybody.Wait()
		b.Expect(reached.Load()).To(gomega.BeNumerically("==", 200))
		b.Expect(most.Load()).To(gomega.BeNumerically("==", 1))
	})
}
