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
		b.Expect(b.waits(alpha)).To(gomega.Equal(time.Millisecond), "whoever comes a hair too early does not come back in a loop")
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
