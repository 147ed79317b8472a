package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// DefaultNet is how often a waiter looks for himself: the word that a job has changed may get lost.
const DefaultNet = time.Second

// Wait returns the job once it is succeeded, failed, cancelled or unknown, or as it is when ctx ends.
// ErrNotFound.
func (d *Dispatcher) Wait(ctx context.Context, owner, jobID string) (job.Job, error) {
	return await(ctx, d, jobID, func(ctx context.Context) (job.Job, bool, error) {
		current, err := d.store.Job(ctx, owner, jobID)
		return current, current.State != job.JobPending && current.State != job.JobRunning, err
	})
}

// Follow returns what happened to a job behind the event with the number after, as soon as there is
// something or the history is over; or nothing when ctx ends. ErrNotFound.
func (d *Dispatcher) Follow(ctx context.Context, owner, jobID string, after int64) (store.History, error) {
	return await(ctx, d, jobID, func(ctx context.Context) (store.History, bool, error) {
		history, err := d.store.Events(ctx, owner, jobID, after)
		return history, len(history.Events) > 0 || history.Over, err
	})
}

// await looks whenever the job may have changed, until it sees what it waits for. A last look is for a
// caller whose patience has just ended.
func await[T any](ctx context.Context, d *Dispatcher, jobID string, look func(context.Context) (seen T, enough bool, err error)) (T, error) {
	for {
		rung, leave := d.bells.listen(jobID)
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
		seen, enough, err := look(reading)
		cancel()
		if err != nil || enough || ctx.Err() != nil {
			leave()
			return seen, err
		}
		timer := time.NewTimer(d.options.Net)
		select {
		case <-rung:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		leave()
	}
}

// errNotWatching is what is known before the store has said whether changes are told.
var errNotWatching = errors.New("listening has not begun")

// watch rings for what other replicas change, until the dispatcher's life ends.
func (d *Dispatcher) watch() {
	defer close(d.watched)
	d.store.Watch(d.life, store.Watcher{
		Changed: func(jobID string) {
			if jobID == "" {
				d.bells.ringAll()
				return
			}
			d.bells.ring(jobID)
		},
		State: d.noteWatching,
	})
}

// noteWatching logs when watching is lost, and when it is back.
func (d *Dispatcher) noteWatching(err error) {
	d.watching.Lock()
	defer d.watching.Unlock()
	before := d.watching.err
	d.watching.err = err
	switch {
	case err == nil && before != nil:
		d.log.Info("changes of other replicas are told")
	case err != nil && (before == nil || errors.Is(before, errNotWatching)):
		d.log.Warn("changes of other replicas are not told, whoever waits looks for himself", "every", d.options.Net, "error", err)
	}
}

// Watching is nil while this replica is told what others change. Otherwise it says why not: whoever waits
// learns of it within Options.Net.
func (d *Dispatcher) Watching() error {
	d.watching.Lock()
	defer d.watching.Unlock()
	return d.watching.err
}

type watching struct {
	sync.Mutex
	err error
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

// ringAll is for when it is not known what moved.
func (b *bells) ringAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, found := range b.jobs {
		close(found.rung)
	}
	clear(b.jobs)
}
