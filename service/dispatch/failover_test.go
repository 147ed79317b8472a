package dispatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

func TestDefiniteFailureGoesToTheProvenFallback(t *testing.T) {
	for personality, reason := range map[string]string{
		"rate-limited:60s": "rate_limited", "unauthorized": "unauthorized", "redirecting": "redirect", "error-200": "malformed",
		"empty-choices": "malformed", "truncating": "truncated", "extra-key": "contract_violation", "chatty": "contract_violation",
	} {
		t.Run(personality, func(t *testing.T) {
			w := newWorld(t, settings{})
			w.certify(beta)
			w.behave(alpha, personality)
			made := w.submit()
			j := w.outcome(made)
			w.Expect(j.State).To(gomega.Equal(job.JobSucceeded))
			attempts := w.attempts(made)
			w.Expect(attempts).To(gomega.HaveLen(2))
			w.Expect(attempts[0].State).To(gomega.Equal(job.Failed))
			w.Expect(attempts[0].Reason).To(gomega.Equal(reason))
			w.Expect(attempts[1].Target).To(gomega.Equal(beta))
			w.Expect(attempts[1].Role).To(gomega.Equal(job.RoleFallback))
			w.Expect(attempts[1].CertificationID).To(gomega.Equal("cert-beta"))
			w.ledgerMatches(made)
		})
	}
}

func TestWithoutProofThereIsNoFallback(t *testing.T) {
	spoil := map[string]func(*world){
		"no_certification": func(*world) {},
		"revoked": func(w *world) {
			w.certify(beta)
			_, err := w.store.Revoke(w.ctx, "cert-beta", "bad night", "operator")
			w.Expect(err).NotTo(gomega.HaveOccurred())
		},
		"profile_changed": func(w *world) {
			w.certify(beta)
			profile := w.config.Providers["beta"].Models["two"]
			profile.Temperature = "omit"
			w.config.Providers["beta"].Models["two"] = profile
		},
		"source_not_accepted": func(w *world) {
			w.certify(beta)
			w.config.Server.AcceptSources = []providers.Source{providers.SourceReplay}
		},
	}
	for reason, spoil := range spoil {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t, settings{Idle: true})
			spoil(w)
			w.d = w.replica(settings{})
			w.behave(alpha, "unauthorized")
			made := w.submit()
			j := w.outcome(made)
			w.Expect(j.State).To(gomega.Equal(job.JobFailed))
			w.Expect(j.Error).To(gomega.Equal(&job.Failure{
				Reason: "unauthorized", Detail: w.attempts(made)[0].Detail, Attempt: 1,
				Targets: []job.TargetRefusal{{Target: beta, Reasons: []string{reason}}},
			}))
			_, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", beta.String())
			w.Expect(is[*store.NotCertified](w, err).Refusal).To(gomega.Equal(j.Error.Targets[0]))
			w.Expect(w.attempts(made)).To(gomega.HaveLen(1), "a 401 is tried once")
			w.ledgerMatches(made)
		})
	}
}

func TestARefusalIsFinalUnlessTheRouteOptsIn(t *testing.T) {
	for route, state := range map[string]job.JobState{"": job.JobFailed, "    on_refusal: fallback\n": job.JobSucceeded} {
		w := newWorld(t, settings{Route: route})
		w.certify(beta)
		w.behave(alpha, "refusing")
		made := w.submit()
		w.Expect(w.outcome(made).State).To(gomega.Equal(state))
		w.Expect(w.attempts(made)[0].Reason).To(gomega.Equal("refused"))
		w.ledgerMatches(made)
	}
}

// The retry waits on its doorbell, and attempts of every role count towards the one cap.
func TestPassingFailuresAreRetriedUpToTheCap(t *testing.T) {
	w := newWorld(t, settings{Route: "    max_attempts: 2\n"})
	w.behave(alpha, "error-200")
	made := w.submit()
	second := job.Ref{Owner: owner, JobID: made.Job.ID, Number: 2}
	waiting := w.until(second, func(a job.Attempt) bool { return a.ID != "" })
	w.Expect(waiting.Role).To(gomega.Equal(job.RoleRetry))
	w.Expect(waiting.NotBefore.Sub(w.attempts(made)[0].FinishedAt)).To(gomega.BeNumerically(">=", failover.FirstBackOff/2))
	w.becomes(second, job.Failed)
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobFailed))
	w.Expect(w.attempts(made)).To(gomega.HaveLen(2))
	_, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	w.Expect(err).To(gomega.MatchError(store.ErrAttemptsExhausted))
	w.ledgerMatches(made)
}

func TestARetryComesNoSoonerThanTheProviderAsked(t *testing.T) {
	for personality, asked := range map[string]time.Duration{
		"rate-limited:60s": time.Minute, "overloaded:60s": time.Minute, "rate-limited:24h": failover.MaxRetryAfter,
	} {
		w := newWorld(t, settings{})
		w.behave(alpha, personality)
		made := w.submit()
		waiting := w.until(job.Ref{Owner: owner, JobID: made.Job.ID, Number: 2}, func(a job.Attempt) bool { return a.ID != "" })
		w.Expect(waiting.State).To(gomega.Equal(job.Starting))
		w.Expect(waiting.NotBefore.Sub(w.attempts(made)[0].FinishedAt)).To(gomega.Equal(asked))
		w.Expect(w.job(made).State).To(gomega.Equal(job.JobRunning))
		w.ledgerMatches(made)
	}
}

func TestARetryMaySucceed(t *testing.T) {
	w := newWorld(t, settings{})
	w.behave(alpha, "error-200")
	made := w.submit()
	w.becomes(made.Attempt.Ref, job.Failed)
	w.behave(alpha, "faithful")
	w.Expect(w.outcome(made).CompletedBy).To(gomega.Equal(2))
	retry := w.attempts(made)[1]
	w.Expect(retry.StartedAt).To(gomega.BeTemporally(">=", retry.NotBefore), "its doorbell may ring early")
	w.ledgerMatches(made)
}

// scripted is a provider's client that says what it is told to.
type scripted struct {
	sends atomic.Int64
	send  func(ctx context.Context, n int64, request providers.Request) providers.Exchange
}

func (s *scripted) Send(ctx context.Context, request providers.Request) providers.Exchange {
	return s.send(ctx, s.sends.Add(1), request)
}

func (s *scripted) options() dispatch.Options {
	return dispatch.Options{Client: func(string) providers.Provider { return s }}
}

// A local fault is no reason to ask anybody else, or anybody twice.
func TestARequestThatCannotBeBuiltIsSentNowhere(t *testing.T) {
	client := &scripted{send: func(context.Context, int64, providers.Request) providers.Exchange {
		return providers.Exchange{Unbuildable: true, Err: errors.New("no such role")}
	}}
	w := newWorld(t, settings{Options: client.options()})
	made := w.submit()
	j := w.outcome(made)
	w.Expect(j.State).To(gomega.Equal(job.JobFailed))
	w.Expect(j.Error.Reason).To(gomega.Equal("unmappable"))
	w.Expect(w.attempts(made)).To(gomega.HaveLen(1))
	w.Expect(w.attempts(made)[0].Sends).To(gomega.BeZero())
	w.ledgerMatches(made)
}

// A variant that this input does not fit is found out before the fallback is called.
func TestAFallbackThatCannotRenderTheInputIsNotCalled(t *testing.T) {
	w := newWorld(t, settings{Idle: true})
	w.serve(`variants:
  beta/two: {messages: [{role: user, content: "{{ .message }} {{ .mood }}"}]}`)
	w.certify(beta)
	w.d = w.replica(settings{})
	w.behave(alpha, "unauthorized")
	made := w.submit()
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobFailed))
	attempts := w.attempts(made)
	w.Expect(attempts).To(gomega.HaveLen(2))
	w.Expect(attempts[1].Reason).To(gomega.Equal("unmappable"))
	w.Expect(attempts[1].Detail).To(gomega.ContainSubstring("mood"))
	w.ledgerMatches(made)
}

// serve replaces the contract by one of its own, with more lines.
func (w *world) serve(more string) {
	w.t.Helper()
	catalog, err := contracts.LoadCatalog(fstest.MapFS{
		contract + "/contract.yaml": {Data: []byte("name: " + contract + `
messages: [{role: user, content: "OLD {{ .message }}"}]
schema: schema.json
sampling: {temperature: 0, samples: 1}
thresholds: {prompt: 1.0, structure: 0.01, business: 0.01, round_trip: 0.01}
valid_for: 1h
cases: cases/
` + more)},
		contract + "/schema.json":   {Data: []byte(`{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}`)},
		contract + "/cases/01.yaml": {Data: []byte("name: one\ninput: {message: hello, mood: good}\n")},
	})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.config.Catalog = catalog
}

func TestAJobEndsUnderTheContractItWasCreatedWith(t *testing.T) {
	w := newWorld(t, settings{Idle: true})
	w.serve("")
	first := w.replica(settings{})
	w.d = first
	w.behave(alpha, "unauthorized")
	made := w.submit()
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobFailed))

	w.config = w.configure(settings{}) // a deploy: the shipped contract has the name now
	w.certify(beta)
	w.d = w.replica(settings{})
	_, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "at beta", beta.String())
	w.Expect(is[*store.NotCertified](w, err).Refusal.Reasons).To(gomega.Equal([]string{"contract_changed"}))
	w.behave(alpha, "faithful")
	added, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.becomes(added.Attempt.Ref, job.Succeeded)
	w.Expect(w.heard(alpha, 2)[1].Request).To(gomega.ContainSubstring("OLD"))
	w.ledgerMatches(made)
}

func TestExplicitAttempts(t *testing.T) {
	w := newWorld(t, settings{})
	w.behave(alpha, "unauthorized")
	made := w.submit()
	w.outcome(made)
	w.certify(beta)

	_, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "k", "beta/nope")
	is[*dispatch.UnknownTarget](w, err)
	_, err = w.d.AddAttempt(w.ctx, owner, made.Job.ID, "k", gamma.String())
	w.Expect(is[*store.NotCertified](w, err).Refusal.Reasons).To(gomega.Equal([]string{"not_in_route"}))
	_, err = w.d.AddAttempt(w.ctx, "rival", made.Job.ID, "k", "")
	w.Expect(err).To(gomega.MatchError(store.ErrNotFound))

	added, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "k", beta.String())
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(added.Created).To(gomega.BeTrue())
	w.Expect(added.Attempt.Role).To(gomega.Equal(job.RoleManual))
	w.becomes(added.Attempt.Ref, job.Succeeded)

	delete(w.config.Providers, "beta")
	w.d = w.replica(settings{Idle: true})
	again, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "k", beta.String())
	w.Expect(err).NotTo(gomega.HaveOccurred(), "its key names it also where its target is gone")
	w.Expect(again.Created).To(gomega.BeFalse())
	w.Expect(again.Attempt.ID).To(gomega.Equal(added.Attempt.ID))
	_, err = w.d.AddAttempt(w.ctx, owner, made.Job.ID, "k", "beta/other")
	w.Expect(is[*store.KeyConflict](w, err).Pointers).To(gomega.Equal([]string{"/target"}))
	w.ledgerMatches(made)
}

func TestARouteMayDemandProofOfItsPrimary(t *testing.T) {
	w := newWorld(t, settings{Route: "    require_certified_primary: true\n"})
	made := w.submit()
	w.Expect(made.Job.State).To(gomega.Equal(job.JobFailed))
	w.Expect(made.Job.Error.Reason).To(gomega.Equal(failover.NoEligibleTarget))
	_, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	w.Expect(is[*store.NotCertified](w, err).Refusal.Reasons).To(gomega.Equal([]string{"no_certification"}))
	w.ledgerMatches(made)

	w.certify(alpha)
	w.Expect(w.outcome(w.submit()).State).To(gomega.Equal(job.JobSucceeded))
	_, err = w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded))
}

func TestTargetsSayWhyNot(t *testing.T) {
	w := newWorld(t, settings{})
	w.certify(beta)
	targets, err := w.d.Targets(w.ctx, contract)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(targets[1].ExpiresAt).To(gomega.BeTemporally(">", time.Now()))
	targets[1].ExpiresAt = time.Time{}
	w.Expect(targets).To(gomega.Equal([]failover.TargetStatus{
		{Target: alpha, Role: "primary", Reasons: []certification.Reason{"no_certification"}},
		{Target: beta, Role: "fallback", Eligible: true, CertificationID: "cert-beta"},
		{Target: gamma, Role: "other", Reasons: []certification.Reason{"no_certification", "not_in_route"}},
	}))
	_, err = w.d.Targets(w.ctx, "nope")
	is[*dispatch.UnknownContract](w, err)
}
