package postgres

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/sqlcore"
)

// Hasty opens a store that tests its ears often and does not wait long for anything.
func Hasty(ctx context.Context, url string) (store.Store, error) {
	pool, insert, err := prepare(ctx, url)
	if err != nil {
		return nil, err
	}
	e := newEngine(pool, insert)
	e.ears.every, e.ears.within = 20*time.Millisecond, 500*time.Millisecond
	e.ears.pause, e.ears.pauses = 10*time.Millisecond, 50*time.Millisecond
	return sqlcore.New(e), nil
}
