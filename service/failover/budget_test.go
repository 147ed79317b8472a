package failover_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

func TestNothingBeginsAtOrPastTheDeadline(t *testing.T) {
	const bad = providers.ReasonMalformed
	overdue := map[providers.Target][]string{beta: {"deadline_exceeded"}, gamma: {"deadline_exceeded"}}
	rows := []struct {
		name     string
		attempts []job.Attempt
		age      time.Duration // of the job, which has a minute
		cooling  cooling
		change   func(*store.View)
		want     expectation
	}{
		{name: "there is time left", attempts: []job.Attempt{failed(alpha, bad, true)}, age: time.Minute - 1,
			want: expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "there is none", attempts: []job.Attempt{failed(alpha, bad, true)}, age: time.Minute,
			want: expectation{reason: "deadline_exceeded", attempt: 1, why: overdue}},
		{name: "long since", attempts: []job.Attempt{failed(alpha, bad, true)}, age: time.Hour,
			want: expectation{reason: "deadline_exceeded", attempt: 1, why: overdue}},
		{name: "no deadline", attempts: []job.Attempt{failed(alpha, bad, true)}, age: 1000 * time.Hour,
			change: func(v *store.View) { v.Job.Plan.Deadline = 0 },
			want:   expectation{target: beta, role: job.RoleFallback, proof: "cert-beta"}},
		{name: "a wait that ends just before it", age: 30 * time.Second,
			cooling: cooling{alpha: 30*time.Second - 1, beta: time.Hour, gamma: time.Hour},
			want:    expectation{target: alpha, role: job.RolePrimary, proof: "cert-alpha", in: 30*time.Second - 1}},
		{name: "a wait that ends at it", age: 30 * time.Second,
			cooling: cooling{alpha: 30 * time.Second, beta: time.Hour, gamma: time.Hour},
			want: expectation{reason: "deadline_exceeded", why: map[providers.Target][]string{
				alpha: {"deadline_exceeded", "circuit_open"}, beta: {"deadline_exceeded", "circuit_open"},
				gamma: {"deadline_exceeded", "circuit_open"}}}},
		{name: "a retry that its provider put off past it", attempts: []job.Attempt{failed(alpha, bad, true)},
			change: func(v *store.View) {
				v.Attempts[0].RetryAt = now.Add(time.Hour)
				unproven(v, beta, gamma)
			},
			want: expectation{reason: "deadline_exceeded", attempt: 1, why: map[providers.Target][]string{
				beta: {"no_certification"}, gamma: {"no_certification"}}}},
		{name: "what would have ended anyway ends for its own reason", age: time.Hour,
			attempts: []job.Attempt{failed(alpha, providers.ReasonUnauthorized, false)},
			change:   func(v *store.View) { unproven(v, beta, gamma) },
			want: expectation{reason: "unauthorized", attempt: 1, why: map[providers.Target][]string{
				beta: {"no_certification"}, gamma: {"no_certification"}}}},
		{name: "an attempt in doubt blocks past it", age: time.Hour, attempts: []job.Attempt{inState(alpha, job.Unknown)}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			v, r := view(row.attempts...), rules()
			v.Job.Plan.Deadline, v.Job.CreatedAt = time.Minute, now.Add(-row.age)
			r.Cooling = row.cooling.of
			if row.change != nil {
				row.change(&v)
			}
			row.want.check(gomega.NewWithT(t), failover.Next(v, r))
		})
	}
}

func TestALateJobStillSaysWhatItsLastAttemptSaw(t *testing.T) {
	g := gomega.NewWithT(t)
	v := view(failed(alpha, providers.ReasonServerError, true))
	v.Attempts[0].Detail = "status 500"
	v.Job.Plan.Deadline, v.Job.CreatedAt = time.Minute, now.Add(-time.Minute)
	g.Expect(failover.Next(v, rules()).Failure.Detail).To(
		gomega.Equal("nothing more could begin within 1m0s of the job's creation; attempt 1: server_error, status 500"))
	v.Attempts = nil
	g.Expect(failover.Next(v, rules()).Failure.Detail).To(gomega.Equal("nothing more could begin within 1m0s of the job's creation"))
}

func TestRemaining(t *testing.T) {
	g := gomega.NewWithT(t)
	j := job.Job{CreatedAt: now}
	g.Expect(min(failover.Remaining(j, now.Add(1000*time.Hour)), time.Minute)).To(gomega.Equal(time.Minute), "no deadline limits nothing")
	j.Plan.Deadline = time.Minute
	for after, left := range map[time.Duration]time.Duration{
		0: time.Minute, time.Second: 59 * time.Second, time.Minute: 0, time.Hour: 0, -time.Second: 61 * time.Second,
	} {
		g.Expect(failover.Remaining(j, now.Add(after))).To(gomega.Equal(left), "after %s", after)
	}
}

func TestSendingAgainCountsAgainstTheCap(t *testing.T) {
	g := gomega.NewWithT(t)
	twice := failed(alpha, providers.ReasonTimeout, true)
	twice.Sends = 3
	v := view(twice, failed(beta, providers.ReasonNotSent, true)) // 3 and 1, though the latter sent nothing
	g.Expect(failover.Spent(v.Attempts)).To(gomega.Equal(4))
	expectation{reason: "not_sent", attempt: 2, why: map[providers.Target][]string{
		alpha: {"attempts_exhausted"}, gamma: {"attempts_exhausted"}}}.check(g, failover.Next(v, rules()))

	v.Attempts[0].Sends = 2
	expectation{target: gamma, role: job.RoleFallback, proof: "cert-gamma"}.check(g, failover.Next(v, rules()))
}
