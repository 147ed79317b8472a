package dispatch

import (
	"context"

	"github.com/fallproof/fallproof/service/store"
)

// AnswerDoorbell is what a River worker does.
func (d *Dispatcher) AnswerDoorbell(ctx context.Context, args store.TurnArgs) error {
	return d.answerDoorbell(ctx, args)
}
