package certify

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

// errSpent ends the work on a pair whose trouble budget is spent; what is in flight is called off.
var errSpent = errors.New("the provider's trouble spent the budget")

// shift is one go at the calls that are missing.
type shift struct {
	c      *collector
	follow *follower
	calls  context.Context // of the calls: an interrupt lets those that are under way come to their end
	hangUp context.CancelCauseFunc

	mu    sync.Mutex
	taken int
	kept  sync.WaitGroup // samples on their way into the store
}

// work makes the missing calls that no other runner holds, until the run is over, and returns how many it
// finished. When ctx ends no further call is made; those that are under way are waited for and kept, since
// they are paid for.
func (c *collector) work(ctx context.Context, missing []slot, follow *follower) (taken int, err error) {
	if c.replays() {
		return c.play(ctx, missing)
	}
	s := &shift{c: c, follow: follow}
	s.calls, s.hangUp = context.WithCancelCause(context.WithoutCancel(ctx))
	defer s.hangUp(nil)
	defer context.AfterFunc(ctx, func() { c.progress.interrupted(c.pair) })()
	queue := make(chan slot, len(missing))
	for _, where := range missing {
		queue <- where
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(cap(c.slots), len(missing)) {
		workers.Go(func() {
			for where := range queue {
				if !s.one(ctx, where) {
					return
				}
			}
		})
	}
	workers.Wait()
	s.kept.Wait()
	if cause := context.Cause(s.calls); cause != nil && !errors.Is(cause, errSpent) {
		return s.taken, cause
	}
	return s.taken, context.Cause(ctx)
}

// one takes one sample; false ends the work.
func (s *shift) one(ctx context.Context, where slot) bool {
	if ctx.Err() != nil || s.calls.Err() != nil || s.over() { // what is under way counts all the same
		return false
	}
	sample, done, err := s.c.take(ctx, s.calls, where)
	switch {
	case err != nil && ctx.Err() != nil:
		return false
	case err != nil:
		s.hangUp(err)
		return false
	case done:
		s.finish(ctx, where, sample)
	}
	return true
}

func (s *shift) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow.over()
}

// finish counts a sample and has it stored meanwhile.
func (s *shift) finish(ctx context.Context, where slot, sample Sample) {
	s.kept.Go(func() {
		ours, err := s.c.keep(context.WithoutCancel(ctx), where, sample)
		if err != nil {
			s.hangUp(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if ours {
			s.taken++
		}
		s.follow.foreign = s.follow.foreign || !ours
	})
	look := s.follow.look(where, sample)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.progress.sample(s.c.pair)
	s.follow.add(look)
	if s.follow.spent() {
		s.hangUp(errSpent)
	}
}

// take claims one sample and calls the target until it answers or the tries are used up. done is false where
// another runner has the sample.
func (c *collector) take(ctx, calls context.Context, where slot) (sample Sample, done bool, err error) {
	sample = Sample{Case: where.name, Index: where.index, DeadlineMS: c.pair.Timeout.Milliseconds()}
	request, err := c.request(where, &sample)
	if err != nil {
		sample.Unrenderable = err.Error()
	}
	for try := 0; ; try++ {
		claimed, err := c.once(ctx, calls, where, &sample, request)
		if err != nil || !claimed {
			return sample, false, err
		}
		read := sample.reading(c.pair)
		if !read.trouble || !read.retryable || try >= c.options.Retry.Extra {
			return sample, true, nil
		}
		if err := sleep(ctx, c.options.Retry.pause(try, read.outcome.RetryAfter)); err != nil {
			return sample, false, err
		}
		failed := sample.Seen
		failed.Request = "" // the next try sends the same
		sample.Before = append(sample.Before, failed)
	}
}

// once takes a slot of the provider, then the claim (so that no claim runs out while it waits for a
// slot), then makes one call. The claim is taken anew for each try, which renews it.
func (c *collector) once(ctx, calls context.Context, where slot, sample *Sample, request providers.Request) (claimed bool, err error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	case <-calls.Done():
		return false, calls.Err()
	}
	if err := cmp.Or(ctx.Err(), calls.Err()); err != nil {
		return false, err // no claim that nobody would work on
	}
	claimed, err = c.steps.take(ctx, store.SampleStep{RunID: c.run.ID, Place: where.stored(), By: c.by, Lease: c.lease()})
	if err != nil || !claimed || sample.Unrenderable != "" {
		return claimed, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return false, err
	}
	request.AttemptID = id.String()
	calling, hangUp := context.WithTimeout(calls, c.pair.Timeout)
	defer hangUp()
	exchange := c.pair.Client.Send(calling, request)
	if calls.Err() != nil && !exchange.Complete {
		return false, calls.Err() // we hung up, not the provider: this shows nothing
	}
	sample.Seen = seen(request.AttemptID, exchange)
	return true, nil
}

// lease is how long a claim holds that its runner does not renew.
func (c *collector) lease() time.Duration {
	return c.pair.Timeout + c.options.Retry.Max + c.options.Retry.Slack
}

// keep stores what was seen. It is false where another runner's sample is in the store already.
func (c *collector) keep(ctx context.Context, where slot, sample Sample) (bool, error) {
	text, err := sample.encode()
	if err != nil {
		return false, err
	}
	return c.steps.take(ctx, store.SampleStep{RunID: c.run.ID, Place: where.stored(), By: c.by, Evidence: text})
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
