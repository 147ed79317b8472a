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
	return &lineProgress{out: o.Out, pairs: len(o.Pairs), left: map[string]int{}, began: time.Now()}
}

type silentProgress struct{}

func (silentProgress) start(Pair, int, int) {}
func (silentProgress) sample(Pair)          {}
func (silentProgress) end(Pair)             {}
func (silentProgress) close()               {}

// lineProgress writes lines that a log keeps well: what is about to be called, and every tenth of it.
type lineProgress struct {
	mu    sync.Mutex
	out   io.Writer
	pairs int // that have not started yet
	began time.Time
	total int // calls of the pairs that have started
	done  int
	told  int            // tenths
	left  map[string]int // calls that a pair has not made yet
}

func (l *lineProgress) start(pair Pair, total, done int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left[pair.String()] = total - done
	l.total += total - done
	resumed := ""
	if done > 0 {
		resumed = fmt.Sprintf(" of %d, the others are there already", total)
	}
	fmt.Fprintf(l.out, "collecting %s: %d calls%s\n", pair, total-done, resumed)
	l.pairs--
}

func (l *lineProgress) sample(pair Pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left[pair.String()]--
	l.done++
	l.tell()
}

// end takes calls that will not be made out of the total, so that the estimate stays true.
func (l *lineProgress) end(pair Pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total -= l.left[pair.String()]
	l.left[pair.String()] = 0
}

// tell waits until every pair has started: before that a share of the whole means nothing.
func (l *lineProgress) tell() {
	if l.pairs > 0 || l.total == 0 || l.done*10/l.total <= l.told {
		return
	}
	l.told = l.done * 10 / l.total
	elapsed := time.Since(l.began)
	left := time.Duration(float64(elapsed) / float64(l.done) * float64(l.total-l.done))
	fmt.Fprintf(l.out, "collected %d of %d calls (%d %%) in %s, about %s left\n", l.done, l.total, l.done*100/l.total,
		elapsed.Round(100*time.Millisecond), left.Round(100*time.Millisecond))
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
