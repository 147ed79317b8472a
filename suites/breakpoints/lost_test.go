package breakpoints

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/gomega"
)

const lostConfig = `
server:
  listen: 127.0.0.1:0
  accept_sources: [simulated]
store: {url: "$STORE"}
contracts: ./contracts
providers:
  alpha:
    {base_url: $SIMULATOR, source: simulated, timeout: 5m, models: {alpha-large: {context_window: 128000, tokenizer: o200k_base}}}
  beta:
    {base_url: $SIMULATOR, source: simulated, models: {beta-medium: {context_window: 128000, tokenizer: o200k_base}}}
  hasty:
    {base_url: $SIMULATOR, source: simulated, timeout: 300ms, models: {hasty-large: {context_window: 128000, tokenizer: o200k_base}}}
  narrow:
    {base_url: $SIMULATOR, source: simulated, timeout: 5m, concurrency: 1, queue_timeout: 20s, models: {narrow-large: {context_window: 128000, tokenizer: o200k_base}}}
routes:
  triage: {primary: alpha/alpha-large, fallbacks: [beta/beta-medium]}
`

// lostReplica is a deployment whose only replica is killed while attempts are under way.
type lostReplica struct {
	stage
	scene  *scene
	key    string
	killed time.Time

	running jobView // its attempt was under way
	doubted jobView // its attempt was in doubt already, and still heard
	narrow  jobView // its attempt held the only slot
	queued  jobView // its attempt waited for that slot
}

func (l *lostReplica) ready(on engine) func(context.Context) {
	return func(ctx context.Context) {
		l.stage.prepare(on, lostConfig, "alpha-large", "beta-medium", "hasty-large", "narrow-large")
		l.stage.contract(contract)
		l.certify(pair{contract, fallback, 0})
		l.Contract, l.Primary, l.Fallback = contract, primary, fallback
		l.scene = &scene{Deployment: &l.Deployment}
		l.scene.begin(ctx)
		l.start(ctx)
	}
}

// loses kills the service while it runs attempts, and starts it anew.
func (l *lostReplica) loses(ctx context.Context) {
	s := l.scene
	const hasty = "hasty/hasty-large"
	for _, target := range []string{primary, hasty, narrow} {
		Expect(l.control().behave(ctx, target, "hold")).To(Succeed())
	}
	l.key = newKey()
	l.running = s.created(s.click(ctx, l.key, s.body("")))
	l.doubted, l.narrow = s.newJob(ctx, hasty), s.newJob(ctx, narrow)
	s.arrives(ctx, l.running.ID, 1)
	s.arrives(ctx, l.doubted.ID, 1)
	s.arrives(ctx, l.narrow.ID, 1)
	l.queued = s.newJob(ctx, narrow)
	Expect(s.attempt(ctx, l.queued.ID, 1).State).To(Equal("starting"))
	s.becomes(ctx, l.doubted.ID, "unknown")

	l.killed = time.Now()
	l.kill()
	Expect(l.control().behave(ctx, narrow, "faithful")).To(Succeed())
	l.start(ctx)
	Expect(s.replayed(s.click(ctx, l.key, s.body(""))).ID).To(Equal(l.running.ID), "the job is known by its key")
	Expect(s.attempts(ctx, l.running.ID)).To(HaveLen(1))
}

// known sees, when everything else was done, what has become of the lost replica's attempts.
func (l *lostReplica) known(ctx context.Context) {
	s := l.scene
	for _, each := range []jobView{l.running, l.narrow} {
		Expect(s.attemptBecomes(ctx, each.ID, 1, "unknown").why()).To(Equal("worker_lost"))
		Expect(s.job(ctx, each.ID).State).To(Equal("unknown"))
		moved := s.eventsOf(ctx, each.ID, "attempt_moved")
		Expect(moved).NotTo(BeEmpty())
		Expect(moved[len(moved)-1].At).To(BeTemporally("<=", l.killed.Add(30*time.Second)))
		refused(s.tryAgain(ctx, each.ID, ""), http.StatusConflict, "attempt-in-doubt")
	}
	Expect(s.attempt(ctx, l.doubted.ID, 1).why()).To(Equal("timeout"), "doubt stays what it was")
	Expect(s.job(ctx, l.doubted.ID).State).To(Equal("unknown"))
	s.becomes(ctx, l.queued.ID, "succeeded") // in its turn, or at the fallback when it had waited too long

	replayed := s.replayed(s.click(ctx, l.key, s.body("")))
	Expect(replayed.ID).To(Equal(l.running.ID))
	Expect(replayed.State).To(Equal("unknown"))
	Expect(s.attempts(ctx, l.running.ID)).To(HaveLen(1), "never sent again")
	Expect(s.end(ctx, l.running.ID, 1, "resolve", `{"outcome": "failed", "note": "the call was cut"}`).Status).To(Equal(http.StatusOK))
	s.wonByFallback(ctx, l.running.ID)
	s.expectOneWinner(ctx)
	s.expectLedgerEqualsAttempts(ctx)
}
