package dispatch

import (
	"context"

	"github.com/fallproof/fallproof/service/store"
)

// AnswerDoorbell is what a River worker does.
func (d *Dispatcher) AnswerDoorbell(ctx context.Context, args store.TurnArgs) error {
	return d.answerDoorbell(ctx, args)
}

// Flying is how many attempts this replica runs.
func (d *Dispatcher) Flying() int { return len(d.flights.all()) }

// Waiting is how many callers wait here for a job to move.
func (d *Dispatcher) Waiting(jobID string) int {
	d.bells.mu.Lock()
	defer d.bells.mu.Unlock()
	if found, ok := d.bells.jobs[jobID]; ok {
		return found.listeners
	}
	return 0
}
