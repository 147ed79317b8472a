package failover

import (
	"hash/fnv"
	"time"
)

// The back-off between attempts at one target, and how long a provider's own Retry-After is heeded.
const (
	FirstBackOff  = 500 * time.Millisecond
	MaxBackOff    = 30 * time.Second
	MaxRetryAfter = 10 * time.Minute
)

// BackOff is the pause before retry k (from 0) of a target: it doubles up to [MaxBackOff], and between
// half and all of it is taken. The share follows from the id of the attempt that failed: jobs that
// failed together do not come back together, and a decision that is repeated decides the same.
func BackOff(k int, attemptID string) time.Duration {
	return spread(doubled(FirstBackOff, k, MaxBackOff), attemptID)
}

// doubled is first, doubled k times, but never more than most.
func doubled(first time.Duration, k int, most time.Duration) time.Duration {
	pause := first
	for ; k > 0 && pause < most; k-- {
		pause *= 2
	}
	return min(pause, most)
}

// spread takes between half and all of a pause; the share follows from the id.
func spread(pause time.Duration, id string) time.Duration {
	hash := fnv.New32a()
	hash.Write([]byte(id))
	const shares = 1 << 10
	share := hash.Sum32() % shares
	return pause/2 + time.Duration(int64(pause/2)*int64(share)/shares)
}
