package circuit

import (
	"sync"
	"time"

	"github.com/fallproof/fallproof/providers"
)

// DefaultCoolDown is how long a circuit stays open, and DefaultSilence after how long a send that was
// let through to see is taken for lost, where the settings do not say.
const (
	DefaultCoolDown = 30 * time.Second
	DefaultSilence  = 15 * time.Minute
)

// Settings are those of one target's circuit.
type Settings struct {
	Failures int           // so many in a row open it; 0 = it never opens
	CoolDown time.Duration // how long it stays open; 0 = DefaultCoolDown
	// Silence is after how long the send that a half-open circuit let through is taken for lost, and
	// another one goes through: more than any send may take before it is reported on; 0 = DefaultSilence.
	Silence time.Duration
}

// Circuits are those of all targets of a replica. It is safe for concurrent use, and never blocks for
// longer than a few instructions.
type Circuits struct {
	settings func(providers.Target) Settings

	mu       sync.Mutex
	byTarget map[providers.Target]*circuit
}

// New makes closed circuits. settings is asked once for each target, before its first use.
func New(settings func(providers.Target) Settings) *Circuits {
	return &Circuits{settings: settings, byTarget: map[providers.Target]*circuit{}}
}

// Cooling says how long a target is still to be left alone: until its circuit lets a send through, and
// until its provider's own pause is over, whichever is later. 0 = it may be asked. While a half-open
// circuit waits for the report on its one send, it is a guess: at most ProbePause. Nothing changes.
func (c *Circuits) Cooling(target providers.Target) time.Duration {
	c.mu.Lock()
	known, ok := c.byTarget[target]
	c.mu.Unlock()
	if !ok {
		return 0
	}
	return known.cooling()
}

// Allow is asked right before a send. Where it is allowed, done is to be told once how it went: at the
// soft deadline at the latest, and with Neither where nothing was sent after all. Only the first call of
// done counts, and one that belongs to a circuit's past (it has opened or closed since) changes nothing;
// done that is never called costs no more than a half-open circuit's wait for Settings.Silence.
//
// Where it is not allowed, done is nil and wait, which is more than 0, says when to ask again.
func (c *Circuits) Allow(target providers.Target) (done func(Result), wait time.Duration, ok bool) {
	return c.circuit(target).allow()
}

// CoolDown leaves a target alone for d, because its provider asked for it. A pause that ends later holds.
func (c *Circuits) CoolDown(target providers.Target, d time.Duration) {
	if d > 0 {
		c.circuit(target).pause(d)
	}
}

func (c *Circuits) circuit(target providers.Target) *circuit {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.byTarget[target]
	if !ok {
		known = newCircuit(c.settings(target))
		c.byTarget[target] = known
	}
	return known
}
