package certify

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers/cassettes"
	"github.com/fallproof/fallproof/service/store"
)

// Evidence is everything that one run knows of a pair.
type Evidence struct {
	Pair     Pair
	Options  Options
	Run      store.Run
	Canary   *Sample                 // nil where it was never seen
	Probe    *Sample                 // the order to break the schema; nil where it was never seen
	Free     *Sample                 // the same without the schema
	Aside    map[int]Sample          // what only self-hosted models are asked, by its index
	Unplayed []certification.Finding // of a replay, why it says nothing; then it is inconclusive
	Record   *certification.Record   // set where the run had its record already; then nobody was called

	binding *binding.Binding
	idle    bool     // the run had its record before this runner did anything
	account *account // what the samples of cases showed; fewer than planned where the run ended before
}

// planned is how many samples of cases a whole run has.
func planned(p Pair, o Options) int { return len(p.Contract.Cases) * samplesPerCase(p, o) }

func samplesPerCase(p Pair, o Options) int {
	if o.Samples > 0 {
		return o.Samples
	}
	return max(1, p.Contract.Sampling.Samples)
}

// Collect calls the target until every sample of the run is in the store, whoever took it, until the verdict
// can no longer change (unless Options.Complete), or until provider trouble has spent the budget. A finished
// run is not called again. An error means that evidence is missing for a reason that says nothing about the
// target (the store, or ctx, whose end lets calls that are under way come to theirs); the run can then be
// resumed under its name.
func Collect(ctx context.Context, pair Pair, options Options) (Evidence, error) {
	options, err := options.withDefaults()
	if err != nil {
		return Evidence{}, err
	}
	if err := checkPairs([]Pair{pair}); err != nil {
		return Evidence{}, err
	}
	collected := Evidence{}
	err = collectAll(ctx, []Pair{pair}, options, silentProgress{}, func(_ int, evidence Evidence) error {
		collected = evidence
		return nil
	})
	return collected, err
}

// collectAll collects all pairs at once; pairs of one provider share its slots. Each is handed over as soon as
// it is there, while others are still called.
func collectAll(ctx context.Context, pairs []Pair, options Options, progress progress, take func(i int, evidence Evidence) error) error {
	caller := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	runner, err := uuid.NewV7()
	if err != nil {
		return err
	}
	slots, steps := slotsOf(pairs), &stepper{store: options.Store}
	collectors := make([]*collector, len(pairs))
	for i, pair := range pairs {
		bound, err := pair.bind()
		if err != nil {
			return err
		}
		c := &collector{
			pair: pair, binding: bound, options: options, by: runner.String(), slots: slots[pair.Target.Provider],
			steps: steps, progress: progress, caller: caller,
		}
		collectors[i] = c
	}
	for _, c := range collectors { // all before the first call, so that a refusal costs nothing
		if err := c.prepare(ctx); err != nil {
			return fmt.Errorf("certify %s: %w", c.pair, err)
		}
	}
	var group sync.WaitGroup
	for i, c := range collectors {
		group.Go(func() {
			evidence, err := c.collect(ctx)
			if err == nil {
				err = take(i, evidence)
			}
			if err != nil {
				cancel(fmt.Errorf("certify %s: %w", c.pair, err)) // the first one counts
			}
		})
	}
	group.Wait()
	progress.close()
	return context.Cause(ctx)
}

// slotsOf gives each provider as many slots as its most modest pair allows.
func slotsOf(pairs []Pair) map[string]chan struct{} {
	limits := map[string]int{}
	for _, p := range pairs {
		limit := max(1, p.Concurrency)
		if known, ok := limits[p.Target.Provider]; ok {
			limit = min(limit, known)
		}
		limits[p.Target.Provider] = limit
	}
	slots := map[string]chan struct{}{}
	for name, limit := range limits {
		slots[name] = make(chan struct{}, limit)
	}
	return slots
}

// collector collects the evidence of one pair, whose run [collector.prepare] opens.
type collector struct {
	pair     Pair
	binding  *binding.Binding
	options  Options
	by       string // this runner among those that share the run
	slots    chan struct{}
	steps    *stepper
	progress progress
	caller   context.Context // that of the run: its end is an interrupt, while another pair's failure is none
	planned  []slot
	run      store.Run
	begun    bool            // the run is this runner's own, and nothing can be there yet
	idle     bool            // the run was finished when it was opened
	tape     *cassettes.Tape // of a replay; nil where nothing was recorded
	at       string          // where the requests go that the tape answers
	ready    samples         // of the tape, to be stored next
}

func (c *collector) collect(ctx context.Context) (Evidence, error) {
	if c.idle {
		return c.finished(ctx)
	}
	wait := backoff{longest: c.options.Retry.Poll}
	follow := c.follow()
	if !c.begun {
		if err := follow.catchUp(ctx); err != nil {
			return Evidence{}, err
		}
	}
	total, missing := len(c.plan()), len(follow.missing())
	if follow.over() { // none of them is called for
		total, missing = total-missing, 0
	}
	c.progress.start(c.pair, total, total-missing)
	defer c.progress.end(c.pair)
	for c.run.RecordID == "" {
		missing := follow.missing()
		due, unplayed := c.due(missing, follow)
		if len(due) == 0 {
			evidence := follow.evidence()
			evidence.Unplayed = unplayed
			return evidence, nil
		}
		taken, err := c.work(ctx, due, follow)
		if err != nil {
			return Evidence{}, err
		}
		// Whatever is left another runner has claimed: its evidence counts as ours, once it is there.
		if taken == 0 {
			c.progress.waiting(c.pair, len(missing), c.lease())
		}
		if err := wait.next(ctx, taken > 0); err != nil {
			return Evidence{}, err
		}
		if follow.settled() {
			continue
		}
		if err := c.open(ctx); err != nil {
			return Evidence{}, err
		}
		if err := follow.catchUp(ctx); err != nil {
			return Evidence{}, err
		}
	}
	return c.finished(ctx)
}

// open finds the run, or begins it.
func (c *collector) open(ctx context.Context) error {
	id := c.run.ID
	if id == "" {
		fresh, err := uuid.NewV7()
		if err != nil {
			return err
		}
		id = fresh.String()
	}
	key := c.pair.key()
	run, err := c.options.Store.OpenRun(ctx, store.Run{
		ID: id, Name: c.options.RunName, Contract: key.Contract, ProofDigest: key.ProofDigest, Target: key.Target,
	})
	c.begun = err == nil && c.run.ID == "" && run.ID == id
	c.run = run
	return err
}

// finished reads the record that the run has already.
func (c *collector) finished(ctx context.Context) (Evidence, error) {
	stored, err := c.options.Store.Record(ctx, c.run.RecordID)
	if err != nil {
		return Evidence{}, err
	}
	return Evidence{Pair: c.pair, Options: c.options, Run: c.run, Record: &stored.Record, binding: c.binding, idle: c.idle}, nil
}
