package failover_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
)

func TestBackOffDoublesUpToItsCap(t *testing.T) {
	g := gomega.NewWithT(t)
	for k, full := range map[int]time.Duration{
		0: 500 * time.Millisecond, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second,
		6: failover.MaxBackOff, 7: failover.MaxBackOff, 1000: failover.MaxBackOff,
	} {
		shares := map[time.Duration]bool{}
		for i := range 200 {
			pause := failover.BackOff(k, strconv.Itoa(i))
			g.Expect(pause).To(gomega.And(gomega.BeNumerically(">=", full/2), gomega.BeNumerically("<=", full)))
			g.Expect(failover.BackOff(k, strconv.Itoa(i))).To(gomega.Equal(pause))
			shares[pause] = true
		}
		g.Expect(len(shares)).To(gomega.BeNumerically(">", 100), "attempts that failed together are spread")
	}
}

func TestRetryWaitsForTheLaterOfBackOffAndProvider(t *testing.T) {
	rows := []struct {
		name    string
		retryAt []time.Duration // of each attempt at alpha, from now
		want    func(backOff time.Duration) time.Duration
	}{
		{"nothing asked", []time.Duration{0}, func(b time.Duration) time.Duration { return b }},
		{"asked for less", []time.Duration{time.Millisecond}, func(b time.Duration) time.Duration { return b }},
		{"asked for more", []time.Duration{time.Minute}, func(time.Duration) time.Duration { return time.Minute }},
		{"a shorter pause does not replace a longer one", []time.Duration{time.Minute, time.Second},
			func(time.Duration) time.Duration { return time.Minute }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var attempts []job.Attempt
			for _, in := range row.retryAt {
				attempt := failed(alpha, providers.ReasonRateLimited, true)
				attempt.RetryAt = now.Add(in)
				attempts = append(attempts, attempt)
			}
			v := view(attempts...)
			v.Job.Plan.Fallbacks = nil
			step := failover.Next(v, rules())
			backOff := failover.BackOff(len(attempts)-1, "attempt-alpha")
			gomega.NewWithT(t).Expect(step.Attempt.NotBefore).To(gomega.Equal(now.Add(row.want(backOff))))
		})
	}
}
