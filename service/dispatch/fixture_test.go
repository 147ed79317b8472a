package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"go.uber.org/goleak"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	owner    = "acme"
	contract = "support-triage"
	message  = "you charged me twice for order #SO-48213?? can you refund one of them please"
	input    = `{"message": "` + message + `"}`
)

var (
	alpha = providers.Target{Provider: "alpha", Model: "one"}
	beta  = providers.Target{Provider: "beta", Model: "two"}
	gamma = providers.Target{Provider: "gamma", Model: "three"}
)

// settings of one world; the zero value is a patient one.
type settings struct {
	Timeout, GiveUp, QueueTimeout string // of alpha
	Concurrency                   int    // of every provider
	Route                         string // more lines of the route
	Alpha, Beta                   string // more of these providers, as ", key: value"
	Window                        int    // of beta's model, in tokens
	URL                           string // of alpha; "" = the simulator's
	Env                           map[string]string

	Wrap    func(store.Store) store.Store
	Options dispatch.Options // Lease, Renew, Sweep, Client
	Idle    bool             // not started
}

// world is one replica over a store of its own, with three providers behind one simulator.
type world struct {
	*gomega.WithT
	t      *testing.T
	ctx    context.Context
	sim    *simulator.Server
	file   string
	store  store.Store
	config *config.Config
	d      *dispatch.Dispatcher
	clicks atomic.Int64
}

func newWorld(t *testing.T, s settings) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	w := &world{WithT: gomega.NewWithT(t), t: t, ctx: ctx, file: filepath.Join(t.TempDir(), "jobs.db")}
	var err error
	w.sim, err = simulator.Listen("127.0.0.1:0", simulator.Config{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { _ = w.sim.Close() })
	w.store, err = sqlite.Open(ctx, "sqlite:"+w.file)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { w.Expect(w.store.Close()).To(gomega.Succeed()) })
	for _, target := range []providers.Target{alpha, beta, gamma} {
		w.behave(target, "faithful")
	}
	w.config = w.configure(s)
	w.d = w.replica(s)
	return w
}

func (w *world) configure(s settings) *config.Config {
	w.t.Helper()
	or := func(text, otherwise string) string {
		if text == "" {
			return otherwise
		}
		return text
	}
	text := "server: {accept_sources: [live]}\nproviders:\n"
	more := map[string]string{"alpha": s.Alpha, "beta": s.Beta}
	models, environment := map[string]string{}, s.Env
	if s.Window > 0 {
		models["beta"] = fmt.Sprintf("tokenizer: o200k_base, context_window: %d", s.Window)
	}
	for _, target := range []providers.Target{alpha, beta, gamma} {
		text += fmt.Sprintf("  %s: {base_url: %q, timeout: %s, give_up: %s, queue_timeout: %s, concurrency: %d%s, models: {%s: {%s}}}\n",
			target.Provider, or(s.URL, w.sim.BaseURL()), or(s.Timeout, "20s"), or(s.GiveUp, "25s"), or(s.QueueTimeout, "20s"),
			max(s.Concurrency, 1), more[target.Provider], target.Model, models[target.Provider])
		s = settings{Concurrency: s.Concurrency, Route: s.Route} // the others have all the time they need
	}
	text += fmt.Sprintf("routes:\n  %s:\n    primary: %s\n    fallbacks: [%s]\n%s", contract, alpha, beta, s.Route)
	parsed, err := config.Parse("fallproof.yaml", []byte(text), func(name string) string { return environment[name] })
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return parsed
}

// replica is another dispatcher over the same file, as its own process would have it.
func (w *world) replica(s settings) *dispatch.Dispatcher {
	w.t.Helper()
	options := s.Options
	options.Store, options.Config, options.Logger = w.store, w.config, slog.New(slog.NewTextHandler(logged{w.t}, nil))
	if s.Wrap != nil {
		options.Store = s.Wrap(w.store)
	}
	d, err := dispatch.New(options)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	if !s.Idle {
		w.Expect(d.Start(w.ctx)).To(gomega.Succeed())
		w.t.Cleanup(func() { w.end(d) })
	}
	return d
}

// end shuts a replica down without patience: whatever still runs stays in doubt.
func (w *world) end(d *dispatch.Dispatcher) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = d.Shutdown(over)
}

type logged struct{ t *testing.T }

func (l logged) Write(line []byte) (int, error) {
	l.t.Log(string(line))
	return len(line), nil
}

func (w *world) behave(target providers.Target, personality string) {
	w.t.Helper()
	p, err := simulator.ParsePersonality(personality)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.sim.SetPersonality(target.Model, p)
}

func (w *world) submission() dispatch.Submission {
	return dispatch.Submission{
		Owner: owner, IdempotencyKey: fmt.Sprint("click-", w.clicks.Add(1)), Contract: contract,
		Input: map[string]any{"message": message}, InputText: input,
	}
}

func (w *world) submit() store.Made {
	w.t.Helper()
	made, err := w.d.Submit(w.ctx, w.submission())
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return made
}

// outcome waits until nothing moves by itself any more.
func (w *world) outcome(made store.Made) job.Job {
	w.t.Helper()
	j, err := w.d.Wait(w.ctx, made.Job.Owner, made.Job.ID)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.Expect(w.ctx.Err()).NotTo(gomega.HaveOccurred(), "job is %s", j.State)
	return j
}

func (w *world) job(made store.Made) job.Job {
	w.t.Helper()
	j, err := w.store.Job(w.ctx, made.Job.Owner, made.Job.ID)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return j
}

func (w *world) attempts(made store.Made) []job.Attempt {
	w.t.Helper()
	attempts, err := w.store.Attempts(w.ctx, made.Job.Owner, made.Job.ID)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return attempts
}

// becomes waits until an attempt is in a state.
func (w *world) becomes(ref job.Ref, state job.State) job.Attempt {
	w.t.Helper()
	return w.until(ref, func(a job.Attempt) bool { return a.State == state })
}

func (w *world) until(ref job.Ref, holds func(job.Attempt) bool) job.Attempt {
	w.t.Helper()
	var found job.Attempt
	w.Eventually(w.ctx, func() bool {
		var err error
		found, err = w.store.Attempt(w.ctx, ref)
		return err == nil && holds(found)
	}).WithTimeout(20*time.Second).WithPolling(2*time.Millisecond).Should(gomega.BeTrue(), func() string { return fmt.Sprintf("attempt is %+v", found) })
	return found
}

// heard waits until a provider has received n requests, and returns all that it has.
func (w *world) heard(target providers.Target, n int) []simulator.Entry {
	w.t.Helper()
	entries, err := w.sim.WaitForRequests(w.ctx, n, simulator.Filter{Model: target.Model})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return entries
}

// ledgerMatches compares, call for call, what providers saw with what the store says was sent.
func (w *world) ledgerMatches(jobs ...store.Made) {
	w.t.Helper()
	sent, seen := map[string]int{}, map[string]int{}
	for _, made := range jobs {
		for _, attempt := range w.attempts(made) {
			if attempt.Sends > 0 {
				sent[attempt.ID] = attempt.Sends
			}
		}
	}
	for _, entry := range w.sim.Ledger() {
		seen[entry.AttemptID]++
	}
	w.Expect(seen).To(gomega.Equal(sent))
}

func (w *world) history(made store.Made, kind string) []job.EventRecord {
	w.t.Helper()
	events, err := w.store.Events(w.ctx, made.Job.Owner, made.Job.ID, 0)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	var found []job.EventRecord
	for _, event := range events.Events {
		if event.Type == kind {
			found = append(found, event)
		}
	}
	return found
}

// certify gives a target a standing proof for the contract as it is served.
func (w *world) certify(targets ...providers.Target) {
	w.t.Helper()
	for _, target := range targets {
		served, _ := w.config.Catalog.Get(contract)
		profile, ok := w.config.Profile(target)
		w.Expect(ok).To(gomega.BeTrue())
		record := certification.Record{
			ID: "cert-" + target.Provider, Contract: contract, ContractDigest: served.Digest(), Target: target,
			EffectiveDigest: served.EffectiveDigest(target), ProfileDigest: profile.Digest(),
			ProofDigest: served.ProofDigest(target, profile), Verdict: certification.Certified, Source: providers.SourceLive,
		}
		run, err := w.store.OpenRun(w.ctx, store.Run{
			ID: "run-" + target.Provider, Name: "night", Contract: contract, ProofDigest: record.ProofDigest, Target: target,
		})
		w.Expect(err).NotTo(gomega.HaveOccurred())
		record.RunID = run.ID
		_, _, err = w.store.FinishRun(w.ctx, run.ID, record, time.Hour)
		w.Expect(err).NotTo(gomega.HaveOccurred())
	}
}

// is finds an error of a type in what a call errs with.
func is[E error](w *world, err error) E {
	w.t.Helper()
	var found E
	w.Expect(errors.As(err, &found)).To(gomega.BeTrue(), "%T: %v", err, err)
	return found
}
