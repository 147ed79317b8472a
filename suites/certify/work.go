package certify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

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
	claims *claims
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
	s := &shift{c: c, follow: follow, claims: &claims{c: c, open: missing}}
	s.calls, s.hangUp = context.WithCancelCause(context.WithoutCancel(ctx))
	defer s.hangUp(nil)
	defer context.AfterFunc(c.caller, func() { c.progress.interrupted(c.pair) })()
	var workers sync.WaitGroup
	for range min(cap(c.slots), len(missing)) {
		workers.Go(func() {
			for s.one(ctx) {
			}
		})
	}
	workers.Wait()
	s.claims.release()
	s.kept.Wait()
	if cause := context.Cause(s.calls); cause != nil && !errors.Is(cause, errSpent) {
		return s.taken, cause
	}
	return s.taken, context.Cause(ctx)
}

// one takes one sample; false ends the work.
func (s *shift) one(ctx context.Context) bool {
	if err := s.c.slot(ctx, s.calls); err != nil {
		return false
	}
	free := sync.OnceFunc(func() { <-s.c.slots })
	defer free()
	if ctx.Err() != nil || s.calls.Err() != nil || s.over() { // what is under way counts all the same
		return false
	}
	where, ok, err := s.claims.next(ctx)
	if err != nil || !ok {
		return s.failed(ctx, err)
	}
	sample, read, err := s.take(ctx, where, free)
	switch {
	case err != nil:
		s.claims.giveBack(where)
		return s.failed(ctx, err)
	case read != nil:
		s.finish(where, sample, *read)
	}
	return true
}

// failed ends the work: that of all, unless it is only that ctx has ended, or that nothing is left.
func (s *shift) failed(ctx context.Context, err error) bool {
	if err != nil && ctx.Err() == nil {
		s.hangUp(err)
	}
	return false
}

func (s *shift) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow.over()
}

// finish counts a sample and has it stored meanwhile. Where every sample is taken whatever it shows, the next
// call does not wait for what this one shows.
func (s *shift) finish(where slot, sample Sample, read reading) {
	text, err := sample.encode()
	if err != nil {
		s.hangUp(err)
		return
	}
	step := s.c.steps.later(store.SampleStep{RunID: s.c.run.ID, Place: where.stored(), By: s.c.by, Evidence: text})
	s.kept.Go(func() { s.keep(step) })
	if s.c.options.Complete {
		s.kept.Go(func() { s.count(where, sample, read) })
		return
	}
	s.count(where, sample, read)
}

// keep waits until a sample is in the store.
func (s *shift) keep(step *waitingStep) {
	<-step.done
	if step.err != nil {
		s.hangUp(step.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if step.taken {
		s.taken++
	}
	s.follow.foreign = s.follow.foreign || !step.taken // another runner's is in the store
}

func (s *shift) count(where slot, sample Sample, read reading) {
	look := s.follow.look(where, sample, read)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.progress.sample(s.c.pair)
	s.follow.add(look)
	if s.follow.spent() {
		s.hangUp(errSpent)
	}
}

// take calls the target until it answers or the tries are used up. The first call is made under a slot of the
// provider that is freed after it; read is nil where another runner took the sample over meanwhile.
func (s *shift) take(ctx context.Context, where slot, free func()) (sample Sample, read *reading, err error) {
	c := s.c
	sample = Sample{Case: where.name, Index: where.index, DeadlineMS: c.pair.Timeout.Milliseconds()}
	request, ok := c.rendered(where, &sample)
	if !ok { // which is what there is to be seen of it
		read := sample.reading(c.pair)
		return sample, &read, nil
	}
	for try := 0; ; try++ {
		err := c.call(s.calls, &sample, request)
		free()
		if err != nil {
			return sample, nil, err
		}
		read := sample.reading(c.pair)
		if !read.trouble || !read.retryable || try >= c.options.Retry.Extra {
			return sample, &read, nil
		}
		if err := sleep(ctx, c.options.Retry.pause(try, read.outcome.RetryAfter)); err != nil {
			return sample, nil, err
		}
		failed := sample.Seen
		failed.Request = "" // the next try sends the same
		sample.Before = append(sample.Before, failed)
		// First the slot, so that no claim runs out while it waits for one.
		if err := c.slot(ctx, s.calls); err != nil {
			return sample, nil, err
		}
		free = sync.OnceFunc(func() { <-c.slots })
		if ours, err := s.claims.renew(ctx, where); err != nil || !ours {
			free()
			return sample, nil, err
		}
	}
}

// call makes one call. It errs where it was not the provider that ended it.
func (c *collector) call(calls context.Context, sample *Sample, request providers.Request) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	request.AttemptID = id.String()
	calling, hangUp := context.WithTimeout(calls, c.pair.Timeout)
	defer hangUp()
	exchange := c.pair.Client.Send(calling, request)
	if calls.Err() != nil && !exchange.Complete {
		return calls.Err() // we hung up: this shows nothing
	}
	sample.Seen = seen(request.AttemptID, exchange)
	return nil
}

// slot waits for one of the provider's.
func (c *collector) slot(ctx, calls context.Context) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-calls.Done():
		return calls.Err()
	}
}

// rendered is the request of a sample, which else says why there can be none.
func (c *collector) rendered(where slot, sample *Sample) (providers.Request, bool) {
	request, err := c.request(where, sample)
	if err != nil {
		sample.Unrenderable = c.pair.Scrub.Text(err.Error())
	}
	return request, err == nil
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
