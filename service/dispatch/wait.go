package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/fallproof/fallproof/service/job"
)

// netInterval is how often a waiter looks for itself: another replica may have moved the job.
const netInterval = time.Second

// Wait returns the job once it is succeeded, failed, cancelled or unknown, or as it is when ctx ends.
// ErrNotFound.
func (d *Dispatcher) Wait(ctx context.Context, owner, jobID string) (job.Job, error) {
	for {
		rung, leave := d.bells.listen(jobID)
		current, err := d.current(ctx, owner, jobID)
		if err != nil || (current.State != job.JobPending && current.State != job.JobRunning) || ctx.Err() != nil {
			leave()
			return current, err
		}
		timer := time.NewTimer(netInterval)
		select {
		case <-rung:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		leave()
	}
}

// current reads the job, also for a caller whose patience has just ended.
func (d *Dispatcher) current(ctx context.Context, owner, jobID string) (job.Job, error) {
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	return d.store.Job(reading, owner, jobID)
}

// bells tell waiters of this replica that a job moved.
type bells struct {
	mu   sync.Mutex
	jobs map[string]*bell
}

type bell struct {
	rung      chan struct{}
	listeners int
}

func newBells() *bells { return &bells{jobs: map[string]*bell{}} }

// listen returns a channel that is closed at the next ring. The caller leaves when done.
func (b *bells) listen(jobID string) (rung <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.jobs[jobID]
	if !ok {
		found = &bell{rung: make(chan struct{})}
		b.jobs[jobID] = found
	}
	found.listeners++
	return found.rung, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if found.listeners--; found.listeners == 0 && b.jobs[jobID] == found {
			delete(b.jobs, jobID)
		}
	}
}

func (b *bells) ring(jobID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found, ok := b.jobs[jobID]; ok {
		close(found.rung)
		delete(b.jobs, jobID)
	}
}
