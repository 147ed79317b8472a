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
	// waiting is called at every look that finds all that is left claimed by another runner.
	waiting(pair Pair, samples int, atMost time.Duration)
	// interrupted is called where calls that are under way are waited for, and no other is made.
	interrupted(pair Pair)
	end(pair Pair)
	close()
}

func newProgress(o Options) progress {
	if o.Terminal {
		return newBar(o.Out)
	}
	verb := "collecting"
	if o.Replay != "" {
		verb = "replaying"
	}
	return &lineProgress{out: o.Out, verb: verb, pairs: len(o.Pairs), left: map[string]int{}, waits: map[string]bool{}, began: time.Now()}
}

// waitingText tells why nothing seems to happen, and how long that can last.
func waitingText(pair Pair, samples int, atMost time.Duration) string {
	noun, verb, claims := "samples", "are", "its claims run out"
	if samples == 1 {
		noun, verb, claims = "sample", "is", "its claim runs out"
	}
	return fmt.Sprintf("%d %s of %s %s claimed by another runner; waiting for it, at most until %s (about %s)",
		samples, noun, pair, verb, claims, atMost.Round(time.Second))
}

// interruptedText tells why it does not end at once.
const interruptedText = "interrupted: waiting for the calls that are under way, which are paid for; interrupt again to hang up"

type silentProgress struct{}

func (silentProgress) start(Pair, int, int)             {}
func (silentProgress) sample(Pair)                      {}
func (silentProgress) waiting(Pair, int, time.Duration) {}
func (silentProgress) interrupted(Pair)                 {}
func (silentProgress) end(Pair)                         {}
func (silentProgress) close()                           {}

// lineProgress writes lines that a log keeps well: what is about to be called, and every tenth of it.
type lineProgress struct {
	mu    sync.Mutex
	out   io.Writer
	verb  string
	pairs int // that have not started yet
	began time.Time
	total int // calls of the pairs that have started
	done  int
	told  int             // tenths
	left  map[string]int  // calls that a pair has not made yet
	waits map[string]bool // pairs of which a wait was told

	stopped bool // an interrupt was told
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
	fmt.Fprintf(l.out, "%s %s: %d calls%s\n", l.verb, pair, total-done, resumed)
	l.pairs--
}

func (l *lineProgress) sample(pair Pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left[pair.String()]--
	l.done++
	l.tell()
}

// waiting is told once for each pair.
func (l *lineProgress) waiting(pair Pair, samples int, atMost time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits[pair.String()] {
		return
	}
	l.waits[pair.String()] = true
	fmt.Fprintln(l.out, waitingText(pair, samples, atMost))
}

// interrupted is told once for all pairs.
func (l *lineProgress) interrupted(Pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.stopped = true
		fmt.Fprintln(l.out, interruptedText)
	}
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

const collecting = "collecting" // the bar's description while calls are made

// barProgress is one bar with an ETA over all pairs.
type barProgress struct {
	mu    sync.Mutex
	total int64
	bar   *progressbar.ProgressBar
	left  map[string]int64 // calls that a pair has not made yet
	wait  string           // the pair of whose wait the description tells; "" = of none
}

func newBar(out io.Writer) *barProgress {
	return &barProgress{left: map[string]int64{}, bar: progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(collecting),
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
	b.resume(pair)
	_ = b.bar.Add(1) // a bar that cannot be drawn stops nobody
}

// waiting describes the wait anew each time: the bar draws only so often, and would lose a description
// that comes right after a call.
func (b *barProgress) waiting(pair Pair, samples int, atMost time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wait != "" && b.wait != pair.String() {
		return // two that take turns could not be read
	}
	b.wait = pair.String()
	b.bar.Describe(waitingText(pair, samples, atMost))
}

func (b *barProgress) interrupted(Pair) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bar.Describe(interruptedText)
}

// resume ends the description of a pair's wait.
func (b *barProgress) resume(pair Pair) {
	if b.wait == pair.String() {
		b.wait = ""
		b.bar.Describe(collecting)
	}
}

// end takes calls that will not be made out of the total, so that the estimate stays true.
func (b *barProgress) end(pair Pair) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resume(pair)
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
