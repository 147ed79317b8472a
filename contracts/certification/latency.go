package certification

import (
	"fmt"
	"math"
	"time"
)

// Latency is how long answers took, from the request to the last byte, against the soft deadline by which
// the service calls an attempt unknown. Quantiles are upper bounds within 5 %. A call without a whole answer by the
// deadline counts with the time after which it was given up: its answer would have taken longer still.
type Latency struct {
	Samples    int   `json:"samples"` // calls: answered in time, or late
	Late       int   `json:"late"`    // of them: no whole answer by the deadline
	P50MS      int64 `json:"p50_ms"`
	P90MS      int64 `json:"p90_ms"`
	P99MS      int64 `json:"p99_ms"`
	MaxMS      int64 `json:"max_ms"`
	DeadlineMS int64 `json:"soft_deadline_ms"`
}

// latencyGrowth is by how much one bucket ends after the one before.
const latencyGrowth = 1.05

// latencies counts durations in buckets that grow, so that many take no more memory than few.
type latencies struct {
	buckets map[int]int
	count   int
	late    int
	longest time.Duration
}

func (l *latencies) add(took time.Duration) {
	if l.buckets == nil {
		l.buckets = map[int]int{}
	}
	l.buckets[bucketOf(took)]++
	l.count++
	l.longest = max(l.longest, took)
}

func (l *latencies) addLate(after time.Duration) {
	l.add(after)
	l.late++
}

func bucketOf(took time.Duration) int {
	return int(math.Ceil(math.Log(math.Max(1, float64(took)/float64(time.Millisecond))) / math.Log(latencyGrowth)))
}

// quantile is the end of the bucket in which the share q of the durations is reached.
func (l *latencies) quantile(q float64) int64 {
	seen, last := 0, bucketOf(l.longest)
	for bucket := 0; bucket <= last; bucket++ {
		if seen += l.buckets[bucket]; float64(seen) >= q*float64(l.count) {
			return min(int64(math.Ceil(math.Pow(latencyGrowth, float64(bucket)))), milliseconds(l.longest))
		}
	}
	return milliseconds(l.longest)
}

func milliseconds(d time.Duration) int64 {
	return int64(math.Ceil(float64(d) / float64(time.Millisecond)))
}

func (l *latencies) figures(deadline time.Duration) *Latency {
	if l.count == 0 {
		return nil
	}
	return &Latency{
		Samples: l.count, Late: l.late, P50MS: l.quantile(0.5), P90MS: l.quantile(0.9), P99MS: l.quantile(0.99),
		MaxMS: milliseconds(l.longest), DeadlineMS: deadline.Milliseconds(),
	}
}

// String is the distribution in a line, for people.
func (l Latency) String() string {
	line := fmt.Sprintf("p50 %d ms, p90 %d ms, p99 %d ms, longest %d ms of %d calls; the soft deadline is %d ms",
		l.P50MS, l.P90MS, l.P99MS, l.MaxMS, l.Samples, l.DeadlineMS)
	if l.Late > 0 {
		line += fmt.Sprintf(", and %d had no answer by then", l.Late)
	}
	return line
}
