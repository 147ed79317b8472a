package simulator

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// ledger keeps every request. One lock orders arrivals, answers and releases, so that whoever has seen a
// request in the ledger can release it.
type ledger struct {
	mu      sync.Mutex
	seq     int64
	entries []*record
	open    map[*record]struct{} // worked for, or unanswered without any work; survives a reset: what is held can always be released
	changed chan struct{}        // closed and replaced at every change
	now     func() time.Time
}

type record struct {
	entry    Entry
	read     bool // the body was read, or reading it failed: what arrived is all there
	working  bool // the model is at work for it
	released bool
	gate     chan struct{} // closed by a release
}

func newLedger(now func() time.Time) *ledger {
	return &ledger{open: map[*record]struct{}{}, changed: make(chan struct{}), now: now}
}

// receive counts a request before anything about it is known or decided.
func (l *ledger) receive(e Entry) *record {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	e.Seq, e.ReceivedAt = l.seq, l.now()
	r := &record{entry: e, gate: make(chan struct{})}
	l.entries = append(l.entries, r)
	l.open[r] = struct{}{}
	return r
}

// identify adds what the body says and announces the request to those who wait for it.
func (l *ledger) identify(r *record, model, key string, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" {
		r.entry.IdempotencyKey = key
	}
	r.entry.Model, r.entry.Request, r.read = model, string(body), true
	l.announce()
}

// answer closes an entry. It is called before the first byte is written, so that a client that has its
// answer finds it in the ledger too.
func (l *ledger) answer(r *record, a Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.At = l.now()
	r.entry.Answered = &a
	if !r.working {
		delete(l.open, r)
	}
	l.announce()
}

// execute notes that the model is at work for a request.
func (l *ledger) execute(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.entry.Executed, r.working = true, true
	l.announce()
}

// settle notes that the work is over, and what came of it.
func (l *ledger) settle(r *record, yield *Product) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if yield != nil {
		yield.At = l.now()
	}
	r.entry.Produced, r.working = yield, false
	delete(l.open, r)
	l.announce()
}

// replays notes whose work answers a request.
func (l *ledger) replays(r, first *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.entry.ReplayOf = first.entry.Seq
	l.announce()
}

// lost notes that the client turned out to have left while it was answered.
func (l *ledger) lost(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.entry.Answered == nil || r.entry.Answered.ClientGone {
		return
	}
	a := *r.entry.Answered
	a.ClientGone = true
	r.entry.Answered = &a
	l.announce()
}

// release opens the gates of the requests that match and are open, and says how many there were.
func (l *ledger) release(f Filter) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for r := range l.open {
		if r.released || !f.matches(&r.entry) {
			continue
		}
		r.released = true
		close(r.gate)
		n++
	}
	return n
}

// snapshot copies the entries that match, in order of arrival.
func (l *ledger) snapshot(f Filter) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, _ := l.collect(f)
	return found
}

func (l *ledger) collect(f Filter) (found []Entry, read int) {
	found = []Entry{}
	for _, r := range l.entries {
		if !f.matches(&r.entry) {
			continue
		}
		found = append(found, r.entry)
		if r.read {
			read++
		}
	}
	return found, read
}

// wait returns once n matching requests were read, or with what is there and an error when ctx ends.
func (l *ledger) wait(ctx context.Context, n int, f Filter) ([]Entry, error) {
	for {
		l.mu.Lock()
		found, read := l.collect(f)
		changed := l.changed
		l.mu.Unlock()
		if read >= n {
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return found, fmt.Errorf("%d of %d requests received: %w", read, n, ctx.Err())
		}
	}
}

func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
	l.announce()
}

func (l *ledger) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}
