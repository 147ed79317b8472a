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
