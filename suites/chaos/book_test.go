package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
)

// book is what was done to the replicas, their connections and their jobs.
type book struct {
	began time.Time

	mu       sync.Mutex
	counts   map[string]int
	troubles []trouble
	results  map[string][]string // by attempt: what operators said that its result was
	acks     map[string]time.Time
	broken   []string // what the script itself could not do
}

// trouble is the time over which something was disturbed.
type trouble struct {
	what, where string
	from, to    time.Time
}

func newBook() *book {
	return &book{began: time.Now(), counts: map[string]int{}, results: map[string][]string{}, acks: map[string]time.Time{}}
}

func (b *book) count(what string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[what] += n
}

// during notes what is disturbed where, from before do begins until after it has ended.
func (b *book) during(what, where string, do func() error) {
	from := time.Now()
	err := do()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[what]++
	b.troubles = append(b.troubles, trouble{what, where, from, time.Now()})
	if err != nil {
		b.broken = append(b.broken, fmt.Sprintf("%s of %s: %s", what, where, err))
	}
}

// answered counts how a request went that will be repeated.
func (b *book) answered(got answer, err error) {
	if err != nil {
		b.count("requests without an answer, repeated", 1)
		return
	}
	b.count(fmt.Sprintf("answers %d, repeated", got.status), 1)
}

// troubled says whether any of the places was disturbed between two moments.
func (b *book) troubled(from, to time.Time, where ...string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.troubles, func(t trouble) bool {
		return slices.Contains(where, t.where) && t.from.Before(to) && from.Before(t.to)
	})
}

// print is the table of figures. p may be nil.
func (b *book) print(again string, p *past) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s\n\n| figure | |\n|---|---|\n", again)
	line := func(what string, figure any) { fmt.Fprintf(&text, "| %s | %v |\n", what, figure) }
	if p != nil {
		for _, f := range p.figures() {
			line(f.what, f.figure)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(b.counts)) {
		line(what, b.counts[what])
	}
	line("duration", time.Since(b.began).Round(time.Second))
	AddReportEntry("figures", ReportEntryVisibilityAlways, text.String())
}

func (b *book) counted(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts[what]
}
