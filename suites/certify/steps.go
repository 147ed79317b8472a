package certify

import (
	"context"
	"sync"
	"time"

	"github.com/fallproof/fallproof/service/store"
)

const (
	// stepTimeout is how long the store may take.
	stepTimeout = 30 * time.Second
	// moment is how long answers of one burst may be apart.
	moment = 20 * time.Millisecond
)

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
	done  chan struct{} // closed when the step is in the store or refused
}

// take takes a step, and what came before it, and returns when it is in the store or refused; or when ctx ends,
// after which it may still be taken.
func (s *stepper) take(ctx context.Context, step store.SampleStep) (bool, error) {
	one := s.later(step)
	s.flush()
	select {
	case <-one.done:
		return one.taken, one.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// later takes a step with the next one, at the next flush, or after a moment.
func (s *stepper) later(step store.SampleStep) *waitingStep {
	one := &waitingStep{step: step, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting = append(s.waiting, one); len(s.waiting) == 1 {
		time.AfterFunc(moment, s.flush)
	}
	return one
}

// flush sees to it that what waits is taken.
func (s *stepper) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 && !s.running {
		s.running = true
		go s.run()
	}
}

// run takes steps until none waits.
func (s *stepper) run() {
	for {
		s.mu.Lock()
		steps := s.waiting
		s.waiting = nil
		s.running = len(steps) > 0
		s.mu.Unlock()
		if len(steps) == 0 {
			return
		}
		s.together(steps)
	}
}

// together is not called off with anybody's work: what was answered is paid for.
func (s *stepper) together(steps []*waitingStep) {
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
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
