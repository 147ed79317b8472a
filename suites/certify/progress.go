package certify

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress tells people how far the collecting is. Its methods are called concurrently.
type progress interface {
	start(pair Pair, total, done int)
	sample(pair Pair)
	end(pair Pair)
	close()
}

func newProgress(o Options) progress {
	if o.Terminal {
		return newBar(o.Out)
	}
	return &lineProgress{out: o.Out, pairs: map[string]*pairProgress{}}
}

type silentProgress struct{}

func (silentProgress) start(Pair, int, int) {}
func (silentProgress) sample(Pair)          {}
func (silentProgress) end(Pair)             {}
func (silentProgress) close()               {}

// lineProgress writes lines that a log keeps well: each pair's start and end, and every tenth of it.
type lineProgress struct {
	mu    sync.Mutex
	out   io.Writer
	pairs map[string]*pairProgress
}

type pairProgress struct {
	total, done, told int
	began             time.Time
}

func (l *lineProgress) start(pair Pair, total, done int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pairs[pair.String()] = &pairProgress{total: total, done: done, told: done * 10 / total, began: time.Now()}
	resumed := ""
	if done > 0 {
		resumed = fmt.Sprintf(", %d of them are there already", done)
	}
	fmt.Fprintf(l.out, "collecting %s: %d calls%s\n", pair, total, resumed)
}

func (l *lineProgress) sample(pair Pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pairs[pair.String()]
	p.done++
	if tenth := p.done * 10 / p.total; tenth > p.told && p.done < p.total {
		p.told = tenth
		fmt.Fprintf(l.out, "collecting %s: %d of %d (%d %%)\n", pair, p.done, p.total, p.done*100/p.total)
	}
}

func (l *lineProgress) end(pair Pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pairs[pair.String()]
	fmt.Fprintf(l.out, "collected %s in %s\n", pair, time.Since(p.began).Round(time.Millisecond))
}

func (l *lineProgress) close() {}

// barProgress is one bar with an ETA over all pairs.
type barProgress struct {
	mu    sync.Mutex
	total int64
	bar   *progressbar.ProgressBar
	left  map[string]int64 // calls that a pair has not made yet
}

func newBar(out io.Writer) *barProgress {
	return &barProgress{left: map[string]int64{}, bar: progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription("collecting"),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionThrottle(65*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

func (b *barProgress) start(pair Pair, total, done int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left[pair.String()] = int64(total - done)
	b.grow(int64(total - done))
}

func (b *barProgress) sample(pair Pair) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left[pair.String()]--
	_ = b.bar.Add(1) // a bar that cannot be drawn stops nobody
}

// end takes calls that will not be made out of the total, so that the estimate stays true.
func (b *barProgress) end(pair Pair) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grow(-b.left[pair.String()])
}

func (b *barProgress) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.bar.Finish()
}

func (b *barProgress) grow(by int64) {
	b.total += by
	b.bar.ChangeMax64(max(1, b.total))
}
