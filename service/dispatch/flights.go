package dispatch

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/fallproof/fallproof/service/job"
)

// flight is an attempt that this replica runs: from the transaction that granted its lease until the
// store has heard how it ended.
type flight struct {
	job     job.Job
	attempt job.Attempt
	slot    *slot

	mu      sync.Mutex
	granted time.Time // the lease counts from here, by this machine's monotonic clock
}

// renewed notes a later grant of the lease.
func (f *flight) renewed(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at.After(f.granted) {
		f.granted = at
	}
}

// leased says whether the lease surely lasts for another margin.
func (f *flight) leased(lease, margin time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.granted) < lease-margin
}

// flights are the attempts that this replica runs, and the jobs for which it is about to have one.
// Whoever may cause an attempt to be stored as running here is registered before the transaction.
type flights struct {
	mu      sync.Mutex
	open    map[job.Ref]*flight
	pending map[string]int // by job id
	closed  bool           // nothing new is taken in
	landed  chan struct{}  // closed and replaced whenever something ends
}

func newFlights() *flights {
	return &flights{open: map[job.Ref]*flight{}, pending: map[string]int{}, landed: make(chan struct{})}
}

// takeIn registers new work on a job; ok is false where nothing new is taken in. The work ends with leave.
func (f *flights) takeIn(jobID string) (leave func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false
	}
	return f.register(jobID), true
}

// enter registers work on a job that was taken in before.
func (f *flights) enter(jobID string) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.register(jobID)
}

func (f *flights) register(jobID string) (leave func()) {
	f.pending[jobID]++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.pending[jobID]--; f.pending[jobID] == 0 {
			delete(f.pending, jobID)
		}
		f.announce()
	}
}

// add registers a flight; false where the same attempt flies already.
func (f *flights) add(each *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[each.attempt.Ref] != nil {
		return false
	}
	f.open[each.attempt.Ref] = each
	return true
}

func (f *flights) remove(each *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, each.attempt.Ref)
	f.announce()
}

func (f *flights) announce() {
	close(f.landed)
	f.landed = make(chan struct{})
}

func (f *flights) all() map[job.Ref]*flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.open)
}

// accountedFor says whether this replica knows why the attempt is stored as its own.
func (f *flights) accountedFor(ref job.Ref) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[ref] != nil || f.pending[ref.JobID] > 0
}

// close takes nothing in any more; closing again changes nothing.
func (f *flights) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

func (f *flights) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// wait returns when nothing is left, or when ctx ends.
func (f *flights) wait(ctx context.Context) error {
	for {
		f.mu.Lock()
		left, landed := len(f.open)+len(f.pending), f.landed
		f.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-landed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
