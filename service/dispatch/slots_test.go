package dispatch

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
)

// queued waits until n are waiting; they then stand in line in the order in which they were seen.
func queued(g *gomega.WithT, s *slots, n int) {
	g.Eventually(func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.waiting)
	}).Should(gomega.Equal(n))
}

func TestSlotsGoToWhoeverCameFirst(t *testing.T) {
	g := gomega.NewWithT(t)
	s := newSlots(1)
	held, ok := s.try()
	g.Expect(ok).To(gomega.BeTrue())
	_, ok = s.try()
	g.Expect(ok).To(gomega.BeFalse())

	const waiters = 5
	served := make(chan int, waiters)
	next := make([]*slot, waiters)
	for i := range waiters {
		go func() {
			taken, err := s.take(t.Context())
			if err != nil {
				t.Error(err)
			}
			next[i] = taken
			served <- i
		}()
		queued(g, s, i+1)
	}
	for i := range waiters {
		held.giveBack()
		held.giveBack() // once is enough
		g.Eventually(served).Should(gomega.Receive(gomega.Equal(i)))
		_, ok := s.try()
		g.Expect(ok).To(gomega.BeFalse(), "nobody passes those who wait")
		held = next[i]
	}
	held.giveBack()
	_, ok = s.try()
	g.Expect(ok).To(gomega.BeTrue())
}

func TestWhoeverLeavesTheLineTakesNoSlotAlong(t *testing.T) {
	g := gomega.NewWithT(t)
	s := newSlots(1)
	held, _ := s.try()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.take(ctx)
		left <- err
	}()
	queued(g, s, 1)
	leave()
	g.Eventually(left).Should(gomega.Receive(gomega.MatchError(context.Canceled)))
	queued(g, s, 0)
	held.giveBack()

	turn := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, turn)
	s.hand() // handed over just when its waiter leaves
	s.mu.Unlock()
	s.leave(turn)
	again, ok := s.try()
	g.Expect(ok).To(gomega.BeTrue())
	again.giveBack()
	var none *slot
	none.giveBack()
}
