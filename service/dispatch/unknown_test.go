package dispatch_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/job"
)

// releasing is a route that releases, with a contract whose silence is short.
func (w *world) releasing() {
	w.t.Helper()
	route := w.config.Routes[contract]
	route.OnUnknown = job.OnUnknownRelease
	w.config.Routes[contract] = route
	w.serve("effects: none\nrelease_after: 300ms\n")
}

// By policy an attempt in doubt is released after a while, and a certified fallback races it.
func TestAPolicyReleasesAndTheLateAnswerLoses(t *testing.T) {
	w := newWorld(t, settings{Timeout: "100ms", Idle: true})
	w.releasing()
	w.certify(beta)
	w.d = w.replica(settings{})
	w.behave(alpha, "hold")
	made := w.submit()
	doubtful := w.becomes(made.Attempt.Ref, job.Unknown)
	w.Expect(doubtful.Due.Step).To(gomega.Equal(job.DueRelease))
	released := w.becomes(made.Attempt.Ref, job.Released)
	w.Expect(released.Due).To(gomega.BeZero())
	w.Eventually(w.ctx, func() job.JobState { return w.job(made).State }).Should(gomega.Equal(job.JobSucceeded))
	w.Expect(w.job(made).CompletedBy).To(gomega.Equal(2))

	w.sim.Release(simulator.Filter{Model: alpha.Model})
	w.becomes(made.Attempt.Ref, job.Superseded)
	w.Expect(w.history(made, job.HistoryRace)).To(gomega.HaveLen(1))
	w.ledgerMatches(made)
}

// Without a certified fallback a release changes who may win, and nothing else.
func TestAReleasedAttemptMayStillWin(t *testing.T) {
	w := newWorld(t, settings{Timeout: "100ms", Idle: true})
	w.releasing()
	w.d = w.replica(settings{})
	w.behave(alpha, "hold")
	made := w.submit()
	w.becomes(made.Attempt.Ref, job.Released)
	w.Expect(w.job(made).State).To(gomega.Equal(job.JobUnknown))
	w.sim.Release(simulator.Filter{Model: alpha.Model})
	w.becomes(made.Attempt.Ref, job.Succeeded)
	w.ledgerMatches(made)
}

// The default: nothing automatic follows silence.
func TestByDefaultNothingFollowsSilence(t *testing.T) {
	w := newWorld(t, settings{Timeout: "100ms"})
	w.certify(beta)
	w.behave(alpha, "silent")
	made := w.submit()
	w.Expect(w.becomes(made.Attempt.Ref, job.Unknown).Due).To(gomega.BeZero())
	w.Expect(w.attempts(made)).To(gomega.HaveLen(1))
}

const idempotent = ", idempotent: X-Request-Key"

func (w *world) honoursKeys(conflict bool) {
	w.sim.SetIdempotency(alpha.Model, simulator.Idempotency{Header: "X-Request-Key", Conflict: conflict})
}

// The same attempt is sent again with its own key: the work is done once, and paid for once.
func TestAnAttemptInDoubtIsSentAgainWithItsOwnKey(t *testing.T) {
	for name, row := range map[string]struct {
		personality string
		timeout     string
	}{
		"after silence":            {"silent:executed", "200ms"},
		"after a lost connection":  {"dropping", "20s"},
		"after half of an answer":  {"half-body", "20s"},
		"after an answer too late": {"late:400ms", "200ms"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, settings{Timeout: row.timeout, Alpha: idempotent, Route: "    on_unknown: resend\n    max_attempts: 5\n"})
			w.certify(beta)
			w.honoursKeys(false)
			w.behave(alpha, row.personality)
			made := w.submit()
			won := w.becomes(made.Attempt.Ref, job.Succeeded)
			w.Expect(won.Sends).To(gomega.BeNumerically(">=", 2))
			w.Expect(w.attempts(made)).To(gomega.HaveLen(1))
			w.ledgerMatches(made)
			w.Expect(w.sim.Select(simulator.Filter{Model: alpha.Model, Executed: true})).To(gomega.HaveLen(1), "done once")
		})
	}
}

// Sends of one attempt count against the one cap of its job; the doubt then stays.
func TestResendsStopAtTheJobsCap(t *testing.T) {
	w := newWorld(t, settings{Timeout: "50ms", Alpha: idempotent, Route: "    on_unknown: resend\n    max_attempts: 2\n"})
	w.certify(beta)
	w.honoursKeys(false)
	w.behave(alpha, "silent:unexecuted")
	made := w.submit()
	still := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.State == job.Unknown && a.Sends == 2 })
	w.Expect(still.Due).To(gomega.BeZero())
	w.Expect(w.attempts(made)).To(gomega.HaveLen(1))
	w.ledgerMatches(made)
}

// A refusal to take the second send says nothing about the first one.
func TestARefusedResendLeavesTheDoubt(t *testing.T) {
	w := newWorld(t, settings{Timeout: "100ms", Alpha: idempotent, Route: "    on_unknown: resend\n    max_attempts: 2\n"})
	w.certify(beta)
	w.honoursKeys(true)
	w.behave(alpha, "hold")
	made := w.submit()
	still := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.State == job.Unknown && a.Sends == 2 })
	w.Expect(still.Reason).To(gomega.Equal("rejected"), "409: the first one is under way")
	w.Expect(still.Detail).To(gomega.HavePrefix("sent again: "))
	w.Expect(w.job(made).State).To(gomega.Equal(job.JobUnknown))
	w.sim.Release(simulator.Filter{Model: alpha.Model})
	w.ledgerMatches(made)
}

// The key that went out is the key that goes out again: a changed configuration sends nothing.
func TestNothingIsSentAgainUnderAnotherKey(t *testing.T) {
	w := newWorld(t, settings{Timeout: "20s", Alpha: idempotent, Route: "    on_unknown: resend\n", Idle: true})
	w.honoursKeys(false)
	w.behave(alpha, "dropping")
	first := w.replica(settings{})
	w.d = first
	made := w.submit()
	w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.State == job.Unknown })
	w.end(first)
	provider := w.config.Providers[alpha.Provider]
	provider.Idempotent = "Another-Key"
	w.config.Providers = map[string]config.Provider{alpha.Provider: provider, beta.Provider: w.config.Providers[beta.Provider], gamma.Provider: w.config.Providers[gamma.Provider]}
	w.d = w.replica(settings{})
	still := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.Asked > 0 })
	w.Expect(still.Finding).To(gomega.ContainSubstring("configuration changed"))
	w.Expect(still.Sends).To(gomega.Equal(1))
	w.ledgerMatches(made)
}
