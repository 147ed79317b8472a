package certify

import (
	"context"
	"sync"
	"time"

	"github.com/fallproof/fallproof/service/store"
)

// claims are a runner's claims on the samples of one pair. They are taken ahead, as many at once as there are
// slots, so that no slot waits for the disk.
type claims struct {
	c *collector

	mu      sync.Mutex
	open    []slot // that nobody was asked for yet
	ahead   []claim
	pending chan struct{} // closed when claims that are on their way are there; nil where none are
	err     error
}

// claim is a sample that is ours, and that nobody works on yet.
type claim struct {
	where slot
	at    time.Time
}

// next is the next sample to be called. ok is false where none is left that another runner does not hold.
func (p *claims) next(ctx context.Context) (where slot, ok bool, err error) {
	for {
		one, pending, err := p.pop()
		switch {
		case err != nil:
			return slot{}, false, err
		case pending != nil:
			select {
			case <-pending:
			case <-ctx.Done():
				return slot{}, false, ctx.Err()
			}
		case one == nil:
			return slot{}, false, nil
		default:
			if ok, err := p.fresh(ctx, *one); ok || err != nil {
				return one.where, ok, err
			}
		}
	}
}

// pop takes the first of the claims, or says what is to be waited for. Both are nil where nothing is left.
func (p *claims) pop() (one *claim, pending <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ahead) <= cap(p.c.slots)/2 && len(p.open) > 0 && p.pending == nil {
		p.pending = make(chan struct{})
		batch := p.open[:min(cap(p.c.slots), len(p.open))]
		p.open = p.open[len(batch):]
		go p.fetch(batch)
	}
	switch {
	case p.err != nil:
		return nil, nil, p.err
	case len(p.ahead) > 0:
		one := p.ahead[0]
		p.ahead = p.ahead[1:]
		return &one, nil, nil
	}
	return nil, p.pending, nil
}

func (p *claims) fetch(batch []slot) {
	at := time.Now()
	steps := make([]*waitingStep, len(batch))
	for i, where := range batch {
		steps[i] = p.c.steps.later(p.step(where, p.c.lease()))
	}
	p.c.steps.flush()
	for _, step := range steps {
		<-step.done
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, step := range steps {
		if p.err = step.err; p.err != nil {
			break
		}
		if step.taken {
			p.ahead = append(p.ahead, claim{batch[i], at})
		}
	}
	close(p.pending)
	p.pending = nil
}

// fresh renews a claim that has waited longer than its lease allows for.
func (p *claims) fresh(ctx context.Context, one claim) (bool, error) {
	if time.Since(one.at) < p.c.pair.Timeout {
		return true, nil
	}
	return p.renew(ctx, one.where)
}

// renew is false where another runner has taken the sample over.
func (p *claims) renew(ctx context.Context, where slot) (bool, error) {
	return p.c.steps.take(ctx, p.step(where, p.c.lease()))
}

// giveBack takes a claim back whose sample was not called to its end.
func (p *claims) giveBack(where slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ahead = append(p.ahead, claim{where: where})
}

// release lets go of what is not worked on, so that nobody waits for it. It returns when that is done.
func (p *claims) release() {
	p.mu.Lock()
	pending := p.pending
	p.mu.Unlock()
	if pending != nil {
		<-pending
	}
	var steps []*waitingStep
	for _, one := range p.ahead {
		steps = append(steps, p.c.steps.later(p.step(one.where, 0)))
	}
	p.c.steps.flush()
	for _, step := range steps {
		<-step.done // where it fails, the lease will run out
	}
}

func (p *claims) step(where slot, lease time.Duration) store.SampleStep {
	return store.SampleStep{RunID: p.c.run.ID, Place: where.stored(), By: p.c.by, Lease: lease}
}

// lease is how long a claim holds that its runner does not renew: it may wait as long as one call takes
// before its own begins.
func (c *collector) lease() time.Duration {
	return 2*c.pair.Timeout + c.options.Retry.Max + c.options.Retry.Slack
}
