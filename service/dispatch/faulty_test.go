package dispatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var errWire = errors.New("the connection broke")

// faulty is a store whose answers get lost: away, nothing reaches it; lost, the transaction commits and
// its answer does not arrive. Both are asked before each call, by the method's name.
type faulty struct {
	store.Store
	mu    sync.Mutex
	away  func(call string, change store.Change) bool
	lost  func(call string, change store.Change) bool
	after func(call string) // once the transaction has committed
	again bool              // every decision is made twice, as in a transaction that had to be repeated
}

func (f *faulty) wrap(real store.Store) store.Store {
	f.Store = real
	return f
}

func (f *faulty) asks(which *func(string, store.Change) bool, call string, change store.Change) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *which != nil && (*which)(call, change)
}

func (f *faulty) set(away, lost func(string, store.Change) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away, f.lost = away, lost
}

func through[T any](f *faulty, call string, change store.Change, do func() (T, error)) (T, error) {
	var none T
	if f.asks(&f.away, call, change) {
		return none, errWire
	}
	out, err := do()
	if f.after != nil {
		f.after(call)
	}
	if f.asks(&f.lost, call, change) {
		return none, errWire
	}
	return out, err
}

func (f *faulty) CreateJob(ctx context.Context, create store.CreateJob) (store.Made, error) {
	create.Decision.Decide = f.repeated(create.Decision.Decide)
	return through(f, "create", store.Change{}, func() (store.Made, error) { return f.Store.CreateJob(ctx, create) })
}

func (f *faulty) AddAttempt(ctx context.Context, add store.AddAttempt) (store.Made, error) {
	return through(f, "add", store.Change{}, func() (store.Made, error) { return f.Store.AddAttempt(ctx, add) })
}

func (f *faulty) Apply(ctx context.Context, change store.Change) (store.Applied, error) {
	change.Decision.Decide = f.repeated(change.Decision.Decide)
	return through(f, "apply", change, func() (store.Applied, error) { return f.Store.Apply(ctx, change) })
}

func (f *faulty) RenewLeases(ctx context.Context, bootID string, lease time.Duration) ([]job.Ref, error) {
	return through(f, "renew", store.Change{}, func() ([]job.Ref, error) { return f.Store.RenewLeases(ctx, bootID, lease) })
}

func (f *faulty) repeated(decide store.Decide) store.Decide {
	if !f.again || decide == nil {
		return decide
	}
	return func(view store.View) store.Step {
		decide(view)
		return decide(view)
	}
}

// first answers yes n times to calls of a kind.
func first(n int, call string, events ...job.Event) func(string, store.Change) bool {
	return func(asked string, change store.Change) bool {
		matches := asked == call && (len(events) == 0 || change.Event == events[0])
		if !matches || n == 0 {
			return false
		}
		n--
		return true
	}
}

func always(call string) func(string, store.Change) bool {
	return func(asked string, _ store.Change) bool { return asked == call }
}

func TestALostAnswerToACreateIsOneJobAndOneCall(t *testing.T) {
	f := &faulty{lost: first(2, "create")}
	w := newWorld(t, settings{Wrap: f.wrap})
	made := w.submit()
	w.Expect(made.Created).To(gomega.BeTrue())
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded))
	w.Expect(w.attempts(made)).To(gomega.HaveLen(1))
	w.ledgerMatches(made)
	w.Expect(w.outcome(w.submit()).State).To(gomega.Equal(job.JobSucceeded), "the only slot came back")
}

// A transaction that is repeated decides again; the slots of the first decision are not lost, and the
// provider's only slot is still one.
func TestADecisionMayBeMadeTwice(t *testing.T) {
	w := newWorld(t, settings{Wrap: (&faulty{again: true}).wrap})
	w.certify(beta)
	w.behave(alpha, "unauthorized")
	for range 2 {
		made := w.submit()
		w.Expect(made.Attempt.State).To(gomega.Equal(job.Running))
		w.Expect(w.outcome(made).CompletedBy).To(gomega.Equal(2))
		w.Expect(w.attempts(made)[1].StartBy.IsZero()).To(gomega.BeTrue(), "neither attempt had to wait")
		w.lands()
	}
}

// lands waits until nothing is heard any more, so that every slot is back.
func (w *world) lands() {
	w.t.Helper()
	w.Eventually(func() int { return w.d.Flying() }).WithTimeout(20 * time.Second).Should(gomega.BeZero())
}

func TestAStoreThatIsAwayForAMomentRefusesNobody(t *testing.T) {
	f := &faulty{away: first(2, "create")}
	w := newWorld(t, settings{Wrap: f.wrap})
	w.Expect(w.outcome(w.submit()).State).To(gomega.Equal(job.JobSucceeded))
}

func TestAStoreThatIsAwayIsAnErrorThatMayBeRepeated(t *testing.T) {
	f := &faulty{away: always("create")}
	w := newWorld(t, settings{Wrap: f.wrap})
	submission := w.submission()
	_, err := w.d.Submit(w.ctx, submission)
	w.Expect(err).To(gomega.MatchError(errWire))
	f.set(nil, nil)
	made, err := w.d.Submit(w.ctx, submission)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded), "the only slot came back")
	w.ledgerMatches(made)
}

func TestALostAnswerToAnExplicitAttemptIsOneAttempt(t *testing.T) {
	f := &faulty{lost: first(2, "add")}
	w := newWorld(t, settings{Wrap: f.wrap})
	w.behave(alpha, "unauthorized")
	made := w.submit()
	w.outcome(made)
	w.behave(alpha, "faithful")
	added, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "k", "")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.becomes(added.Attempt.Ref, job.Succeeded)
	w.Expect(w.attempts(made)).To(gomega.HaveLen(2))
	w.ledgerMatches(made)
}

// The outcome and the next attempt are stored once, and the next attempt runs, whether the store was
// away or only its answer was lost.
func TestAnAnswerInHandReachesTheStore(t *testing.T) {
	faults := map[string]*faulty{
		"away":           {away: first(4, "apply", job.EventAnswer)},
		"lost":           {lost: first(4, "apply", job.EventAnswer)},
		"away a failure": {away: first(4, "apply", job.EventFailure)},
		"lost a failure": {lost: first(1, "apply", job.EventFailure)},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, settings{Wrap: f.wrap})
			w.certify(beta)
			w.behave(alpha, "unauthorized")
			made := w.submit()
			w.Eventually(func() job.JobState { return w.job(made).State }).WithTimeout(20 * time.Second).Should(gomega.Equal(job.JobSucceeded))
			w.Expect(w.attempts(made)).To(gomega.HaveLen(2))
			w.Expect(w.history(made, job.HistoryJobSucceeded)).To(gomega.HaveLen(1))
			w.ledgerMatches(made)
		})
	}
}

// An answer in hand outlasts a database that is away for twice the hard deadline, and its own lease, which
// another replica finds to be over.
func TestAnAnswerInHandOutlastsItsDeadlines(t *testing.T) {
	const giveUp = 1500 * time.Millisecond
	f := &faulty{away: func(call string, _ store.Change) bool { return call == "renew" || call == "apply" }}
	w := newWorld(t, settings{
		Timeout: "1400ms", GiveUp: giveUp.String(), Wrap: f.wrap,
		Options: dispatch.Options{Lease: time.Second, Renew: 100 * time.Millisecond},
	})
	w.certify(beta)
	made := w.submit()
	w.Eventually(w.ctx, func() ([]job.Attempt, error) { return w.store.Overdue(w.ctx, 10) }).WithTimeout(20 * time.Second).Should(gomega.HaveLen(1))
	swept, err := w.store.Apply(w.ctx, store.Change{Ref: made.Attempt.Ref, Event: job.EventDoubt, Reason: "worker_lost", OnlyIfOverdue: true})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(swept.Job.State).To(gomega.Equal(job.JobUnknown))
	<-time.After(2*giveUp - time.Second) // the time is what is tested; its lease took the first second
	f.set(nil, nil)
	won := w.becomes(made.Attempt.Ref, job.Succeeded)
	w.Expect(won.Usage).NotTo(gomega.BeNil(), "it is the answer that was in hand")
	w.Expect(w.attempts(made)).To(gomega.HaveLen(1))
	w.ledgerMatches(made)
}

// An attempt that is stored as running here and that nobody here knows of was never sent: it is ended
// as such, and does not block its job for ever.
func TestAStrayAttemptIsEndedUnsent(t *testing.T) {
	f := &faulty{lost: always("create")}
	w := newWorld(t, settings{Wrap: f.wrap, Options: dispatch.Options{Renew: 20 * time.Millisecond}})
	submission := w.submission()
	_, err := w.d.Submit(w.ctx, submission)
	w.Expect(err).To(gomega.MatchError(errWire))
	f.set(nil, nil)
	made, err := w.d.Submit(w.ctx, submission)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	stray := w.becomes(job.Ref{Owner: owner, JobID: made.Job.ID, Number: 1}, job.Failed)
	w.Expect(stray.Reason).To(gomega.Equal("not_sent"))
	w.Expect(stray.Sends).To(gomega.BeZero())
	w.Expect(w.outcome(made).CompletedBy).To(gomega.Equal(2), "its retry runs")
	w.ledgerMatches(made)
}

// However often leases are renewed, an attempt that runs here is no stray.
func TestRenewalsLeaveRunningAttemptsAlone(t *testing.T) {
	w := newWorld(t, settings{Timeout: "100ms", Options: dispatch.Options{Lease: 200 * time.Millisecond, Renew: 2 * time.Millisecond, Sweep: 10 * time.Millisecond}})
	made := w.inDoubt()
	before := w.attempts(made)[0]
	w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.LeaseUntil.Sub(before.LeaseUntil) > time.Second })
	w.Expect(w.attempts(made)[0].State).To(gomega.Equal(job.Unknown))
	w.Expect(w.attempts(made)[0].Reason).To(gomega.Equal("timeout"))
	w.Expect(w.attempts(made)[0].Heard).To(gomega.BeTrue())
	w.release(alpha)
	w.becomes(made.Attempt.Ref, job.Succeeded)
	w.ledgerMatches(made)
}

// A replica that was held up past its lease, and cannot renew it, writes nothing to a provider.
func TestWithoutALeaseNothingIsSent(t *testing.T) {
	const lease = 100 * time.Millisecond
	f := &faulty{away: always("renew")}
	f.after = func(call string) {
		if call == "create" { // the time is what is tested: the lease must be over
			<-time.After(2 * lease)
		}
	}
	client := &scripted{send: func(context.Context, int64, providers.Request) providers.Exchange { return providers.Exchange{} }}
	options := client.options()
	options.Lease, options.Renew = lease, time.Minute
	w := newWorld(t, settings{Wrap: f.wrap, Options: options, Route: "    max_attempts: 1\n"})
	made := w.submit()
	j := w.outcome(made)
	w.Expect(j.State).To(gomega.Equal(job.JobFailed))
	w.Expect(w.attempts(made)[0].Reason).To(gomega.Equal("not_sent"))
	w.Expect(w.attempts(made)[0].Sends).To(gomega.BeZero())
	w.Expect(client.sends.Load()).To(gomega.BeZero())
}

// One that was held up and can renew goes on.
func TestALeaseIsRenewedBeforeALateSend(t *testing.T) {
	const lease = time.Second
	f := &faulty{}
	f.after = func(call string) {
		if call == "create" {
			<-time.After(lease)
		}
	}
	w := newWorld(t, settings{Wrap: f.wrap, Options: dispatch.Options{Lease: lease, Renew: time.Minute, Sweep: time.Minute}})
	w.Expect(w.outcome(w.submit()).CompletedBy).To(gomega.Equal(1))
}

// A client that does not return when its context ends is not waited for, and its attempt stays in doubt.
func TestAClientThatIgnoresItsDeadlineLeavesDoubt(t *testing.T) {
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	client := &scripted{send: func(context.Context, int64, providers.Request) providers.Exchange {
		<-stuck
		return providers.Exchange{Wrote: true}
	}}
	w := newWorld(t, settings{Timeout: "30ms", GiveUp: "60ms", Options: client.options()})
	w.certify(beta)
	made := w.submit()
	attempt := w.until(made.Attempt.Ref, func(a job.Attempt) bool { return a.State == job.Unknown && !a.Heard })
	w.Expect(attempt.Reason).To(gomega.Equal("timeout"))
	_, err := w.d.AddAttempt(w.ctx, owner, made.Job.ID, "again", "")
	is[*store.Blocked](w, err)
	w.Expect(client.sends.Load()).To(gomega.BeEquivalentTo(1))
}
