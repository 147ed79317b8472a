package circuit

import (
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// ProbePause is how long a target is left alone at a time while one send finds out whether it answers again.
const ProbePause = time.Second

// briefly is the least wait: what is refused by a hair may be asked for again at once, but not in a loop.
const briefly = time.Millisecond

// The breaker takes results as errors.
var (
	errFailure = errors.New("failure")
	errNeither = errors.New("neither")
)

// circuit is one target's. Every call of the breaker is made with mu held, and so are its callbacks.
type circuit struct {
	silence time.Duration

	mu          sync.Mutex
	breaker     *gobreaker.TwoStepCircuitBreaker[struct{}] // nil = it never opens
	state       gobreaker.State                            // as the breaker last said
	openUntil   time.Time
	pausedUntil time.Time // as the provider asked
	probe       *send     // what a half-open circuit let through and was not told about yet
}

// send is one that was allowed.
type send struct {
	began  time.Time
	report func(error)
	told   bool
}

func newCircuit(settings Settings) *circuit {
	c := &circuit{silence: settings.Silence}
	if c.silence <= 0 {
		c.silence = DefaultSilence
	}
	if settings.Failures <= 0 {
		return c
	}
	coolDown := settings.CoolDown
	if coolDown <= 0 {
		coolDown = DefaultCoolDown
	}
	c.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     coolDown,
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return int64(counts.ConsecutiveFailures) >= int64(settings.Failures)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNeither) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			c.state = to
			if to == gobreaker.StateOpen {
				// The breaker is still open at the very moment at which its time is over.
				c.openUntil = time.Now().Add(coolDown + 1)
			}
		},
	})
	return c
}

func (c *circuit) cooling() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wait(time.Now())
}

// wait is how long the target is still to be left alone, as far as is known.
func (c *circuit) wait(now time.Time) time.Duration {
	wait := max(c.pausedUntil.Sub(now), c.openUntil.Sub(now), 0)
	if c.probing(now) {
		wait = max(wait, min(ProbePause, c.probe.began.Add(c.silence).Sub(now)))
	}
	return wait
}

// probing says whether a half-open circuit still waits for the report on its one send.
func (c *circuit) probing(now time.Time) bool {
	return c.probe != nil && now.Sub(c.probe.began) < c.silence
}

func (c *circuit) allow() (done func(Result), wait time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if wait := c.wait(now); wait > 0 {
		return nil, max(wait, briefly), false
	}
	if c.breaker == nil {
		return func(Result) {}, 0, true
	}
	if c.probe != nil { // nobody said what became of it
		c.tell(c.probe, Neither)
	}
	report, err := c.breaker.Allow()
	if err != nil {
		return nil, max(c.wait(time.Now()), briefly), false
	}
	allowed := &send{began: now, report: report}
	if c.state == gobreaker.StateHalfOpen {
		c.probe = allowed
	}
	return func(result Result) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tell(allowed, result)
	}, 0, true
}

// tell brings a send's result to the breaker, which ignores what began under an earlier state.
func (c *circuit) tell(s *send, result Result) {
	if s.told {
		return
	}
	s.told = true
	if c.probe == s {
		c.probe = nil
	}
	switch result {
	case Success:
		s.report(nil)
	case Failure:
		s.report(errFailure)
	default:
		s.report(errNeither)
	}
}

func (c *circuit) pause(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(d); until.After(c.pausedUntil) {
		c.pausedUntil = until
	}
}
