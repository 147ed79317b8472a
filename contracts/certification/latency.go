package certification

import (
	"math"
	"time"
)

// Latency is how long answers took, from the request to the last byte, against the soft deadline by which
// the service calls an attempt unknown. Quantiles are upper bounds within 5 %.
type Latency struct {
	Samples    int   `json:"samples"` // answers that came in time
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
		Samples: l.count, P50MS: l.quantile(0.5), P90MS: l.quantile(0.9), P99MS: l.quantile(0.99),
		MaxMS: milliseconds(l.longest), DeadlineMS: deadline.Milliseconds(),
	}
}
