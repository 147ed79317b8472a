package certify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
	"unique"

	"github.com/google/uuid"

	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

// errSpent ends the work on a pair whose trouble budget is spent; what is in flight is called off.
var errSpent = errors.New("the provider's trouble spent the budget")

// work makes the missing calls that no other runner holds, until the run is over, and returns how many it
// finished.
func (c *collector) work(ctx context.Context, missing []slot, follow *follower) (taken int, err error) {
	if c.replays() {
		return c.play(ctx, missing)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan slot, len(missing))
	for _, where := range missing {
		queue <- where
	}
	close(queue)

	var mu sync.Mutex
	finish := func(where slot, sample Sample) {
		mu.Lock()
		defer mu.Unlock()
		taken++
		c.progress.sample(c.pair)
		follow.add(where, sample)
		if follow.spent() {
			cancel(errSpent)
		}
	}
	over := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return follow.over()
	}
	var workers sync.WaitGroup
	for range min(cap(c.slots), len(missing)) {
		workers.Go(func() {
			for where := range queue {
				if over() { // what is under way is paid for and counts
					return
				}
				sample, done, err := c.take(ctx, where)
				switch {
				case err != nil:
					cancel(err)
					return
				case done:
					finish(where, sample)
				}
			}
		})
	}
	workers.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSpent) {
		return taken, cause
	}
	return taken, nil
}

// take claims one sample, calls the target until it answers or the tries are used up, and stores what
// was seen. done is false where another runner has the sample, or had it first.
func (c *collector) take(ctx context.Context, where slot) (Sample, bool, error) {
	sample := Sample{Case: where.name, Index: where.index, DeadlineMS: c.pair.Timeout.Milliseconds()}
	request, err := c.request(where, &sample)
	if err != nil {
		sample.Unrenderable = err.Error()
	}
	for try := 0; ; try++ {
		claimed, err := c.once(ctx, where, &sample, request)
		if err != nil || !claimed {
			return sample, false, err
		}
		read := sample.reading(c.pair)
		if !read.trouble || !read.retryable || try >= c.options.Retry.Extra {
			break
		}
		if err := sleep(ctx, c.options.Retry.pause(try, read.outcome.RetryAfter)); err != nil {
			return sample, false, err
		}
		failed := sample.Seen
		failed.Request = "" // the next try sends the same
		sample.Before = append(sample.Before, failed)
	}
	return c.store(ctx, where, sample)
}

// once takes a slot of the provider, then the claim (so that no claim runs out while it waits for a
// slot), then makes one call. The claim is taken anew for each try, which renews it.
func (c *collector) once(ctx context.Context, where slot, sample *Sample, request providers.Request) (claimed bool, err error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if ctx.Err() != nil {
		return false, ctx.Err() // no claim that nobody would work on
	}
	claimed, err = c.options.Store.ClaimSample(ctx, store.SampleClaim{
		RunID: c.run.ID, Case: where.name, Index: where.index, By: c.by,
		Lease: c.lease(),
	})
	if err != nil || !claimed || sample.Unrenderable != "" {
		return claimed, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return false, err
	}
	request.AttemptID = id.String()
	calling, hangUp := context.WithTimeout(ctx, c.pair.Timeout)
	defer hangUp()
	exchange := c.pair.Client.Send(calling, request)
	if ctx.Err() != nil && !exchange.Complete {
		return false, ctx.Err() // we hung up, not the provider: this shows nothing
	}
	sample.Seen = seen(request.AttemptID, exchange)
	sample.Seen.Request = unique.Make(sample.Seen.Request).Value()
	return true, nil
}

// lease is how long a claim holds that its runner does not renew.
func (c *collector) lease() time.Duration {
	return c.pair.Timeout + c.options.Retry.Max + c.options.Retry.Slack
}

// store keeps what was seen, also where the run was called off meanwhile: it has been paid for.
func (c *collector) store(ctx context.Context, where slot, sample Sample) (Sample, bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	text, err := sample.encode()
	if err != nil {
		return sample, false, err
	}
	done, err := c.options.Store.FinishSample(ctx, store.Sample{
		RunID: c.run.ID, Case: where.name, Index: where.index, By: c.by, Evidence: text,
	})
	return sample, done, err
}

// request builds what a sample sends.
func (c *collector) request(where slot, sample *Sample) (providers.Request, error) {
	if !where.isSample() && where.index < controlCall {
		if sample.Nonce == "" { // a replay brings it along
			nonce := make([]byte, 8)
			_, _ = rand.Read(nonce) // never fails, by its own promise
			sample.Nonce = hex.EncodeToString(nonce)
		}
	}
	return requestAt(c.binding, where, sample.Nonce)
}

func requestAt(b *binding.Binding, where slot, nonce string) (providers.Request, error) {
	switch {
	case !where.isSample() && where.index == canaryCall:
		return b.CanaryRequest(nonce)
	case !where.isSample() && where.index >= controlCall:
		return asideRequest(b, where.index)
	case !where.isSample():
		return b.ProbeRequest(nonce, where.index == probeCall)
	}
	each, ok := b.Contract().CaseNamed(where.name)
	if !ok { // unreachable: the plan is made of the contract's cases
		return providers.Request{}, fmt.Errorf("no case %q", where.name)
	}
	return b.Request(each.Input)
}
