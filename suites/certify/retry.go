package certify

import (
	"context"
	"time"
)

// Retry bounds what provider trouble may cost. Zero fields have defaults.
type Retry struct {
	Extra int           // further tries of one sample; default 2, negative = none
	Base  time.Duration // first pause, doubled for each further one; default 500 ms
	Max   time.Duration // longest pause, also where the provider asks for more; default 30 s
	Slack time.Duration // how long beyond deadline and pause a claim on a sample holds; default 15 s
	Poll  time.Duration // longest pause between looks at what another runner has done; default 1 s
}

// pause is how long to wait before the next try of a sample: as long as the provider asks, at least
// the doubling base, at most the longest pause.
func (r Retry) pause(try int, asked time.Duration) time.Duration {
	doubled := r.Base << min(try, 20)
	return min(max(doubled, asked), r.Max)
}

// backoff waits between looks at the store: shortly at first and after progress, longer while nothing
// happens.
type backoff struct {
	longest time.Duration
	current time.Duration
}

func (b *backoff) next(ctx context.Context, progressed bool) error {
	if progressed {
		b.current = 0
		return ctx.Err()
	}
	b.current = min(max(2*b.current, 20*time.Millisecond), b.longest)
	return sleep(ctx, b.current)
}

// sleep waits, or returns ctx's error as soon as it ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
