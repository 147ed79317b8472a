package dispatch

import (
	"context"
	"sync"

	"github.com/fallproof/fallproof/service/circuit"
)

// slots are the concurrent calls that this replica may make to one provider: first come, first served.
type slots struct {
	mu      sync.Mutex
	free    int
	waiting []chan struct{} // closed when its waiter is handed a slot
}

func newSlots(n int) *slots { return &slots{free: max(n, 1)} }

// try takes a slot if one is free. While anybody waits, none is: it was handed over before it was free.
func (s *slots) try() (*slot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		return nil, false
	}
	s.free--
	return &slot{of: s}, true
}

// take waits for its turn, or until ctx ends.
func (s *slots) take(ctx context.Context) (*slot, error) {
	if taken, ok := s.try(); ok {
		return taken, nil
	}
	turn := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, turn)
	s.hand()
	s.mu.Unlock()
	select {
	case <-turn:
		return &slot{of: s}, nil
	case <-ctx.Done():
		s.leave(turn)
		return nil, ctx.Err()
	}
}

// leave stops waiting. A slot that was handed over in the meantime goes on to the next.
func (s *slots) leave(turn chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, each := range s.waiting {
		if each == turn {
			s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
			return
		}
	}
	s.free++
	s.hand()
}

// hand gives free slots to those who waited longest. The caller holds mu.
func (s *slots) hand() {
	for s.free > 0 && len(s.waiting) > 0 {
		s.free--
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
}

// slot is one taken slot, with the report that the target's circuit waits for. Its zero pointer is no
// slot, and whatever is done to that does nothing.
type slot struct {
	of     *slots
	once   sync.Once
	report func(circuit.Result) // nil = nobody waits for one; only its first call counts
}

// tell says how the send went.
func (s *slot) tell(result circuit.Result) {
	if s != nil && s.report != nil {
		s.report(result)
	}
}

// giveBack frees the slot, once. Where nothing was said about a send, there was none.
func (s *slot) giveBack() {
	if s == nil {
		return
	}
	s.tell(circuit.Neither)
	s.once.Do(func() {
		s.of.mu.Lock()
		defer s.of.mu.Unlock()
		s.of.free++
		s.of.hand()
	})
}
