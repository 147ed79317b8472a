package failover

import (
	"math"
	"time"

	"github.com/fallproof/fallproof/service/job"
)

// Spent is what attempts count against the cap of their job: one each, sent or not, and one more for
// each time that one was sent again.
func Spent(attempts []job.Attempt) int {
	spent := 0
	for _, a := range attempts {
		spent += max(1, a.Sends)
	}
	return spent
}

// Remaining is how much of a job's overall deadline is left at a moment by the database's clock: what
// begins then may wait and be waited for no longer. It is never negative, and longer than anything where
// the job's plan has no deadline.
func Remaining(j job.Job, at time.Time) time.Duration {
	if j.Plan.Deadline <= 0 {
		return math.MaxInt64
	}
	return max(0, j.CreatedAt.Add(j.Plan.Deadline).Sub(at))
}
