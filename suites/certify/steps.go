package certify

import (
	"context"
	"sync"
	"time"

	"github.com/fallproof/fallproof/service/store"
)

// stepTimeout is how long the store may take.
const stepTimeout = 30 * time.Second

// stepper takes the steps of samples that come while others are on their way to the disk in one transaction:
// answers come in bursts, and a transaction each would keep the next calls waiting.
type stepper struct {
	store   store.Certifications
	mu      sync.Mutex
	waiting []*waitingStep
	running bool
}

type waitingStep struct {
	step  store.SampleStep
	taken bool
	err   error
	done  chan struct{}
}

// take waits until the step is in the store or refused, or until ctx ends, after which it may still be taken.
func (s *stepper) take(ctx context.Context, step store.SampleStep) (bool, error) {
	one := &waitingStep{step: step, done: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, one)
	if !s.running {
		s.running = true
		go s.run(context.WithoutCancel(ctx))
	}
	s.mu.Unlock()
	select {
	case <-one.done:
		return one.taken, one.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// run takes steps until none waits.
func (s *stepper) run(ctx context.Context) {
	for {
		s.mu.Lock()
		steps := s.waiting
		s.waiting = nil
		s.running = len(steps) > 0
		s.mu.Unlock()
		if len(steps) == 0 {
			return
		}
		s.together(ctx, steps)
	}
}

func (s *stepper) together(ctx context.Context, steps []*waitingStep) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	list := make([]store.SampleStep, len(steps))
	for i, one := range steps {
		list[i] = one.step
	}
	taken, err := s.store.StepSamples(ctx, list)
	for i, one := range steps {
		if one.err = err; err == nil {
			one.taken = taken[i]
		}
		close(one.done)
	}
}
