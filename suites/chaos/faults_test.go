package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// lane is one line of the script: something happens, nothing happens, something happens. Lanes go on side
// by side, so that two troubles may meet.
type lane struct {
	name      string
	low, high time.Duration // how long nothing happens
	acts      []weighted[act]
}

// act does one thing, and undoes it before it returns.
type act func(ctx context.Context, draw *rand.Rand)

// lanes are the whole script.
func (w *world) lanes() []lane {
	return []lane{
		{"processes", 2 * time.Second, 5 * time.Second, []weighted[act]{{2, w.kill}, {2, w.freeze}}},
		{"paths to the database", 1 * time.Second, 3 * time.Second, []weighted[act]{
			{3, w.loseCommits}, {2, w.cutDatabase}, {1, w.resetDatabase}, {1, w.muteDatabase}, {1, w.delayDatabase}, {1, w.narrowDatabase},
		}},
		{"database", 4 * time.Second, 9 * time.Second, []weighted[act]{{2, w.crashDatabase}, {3, w.terminateBackends}}},
		{"paths to providers", 2 * time.Second, 5 * time.Second, []weighted[act]{
			{2, w.cutProvider}, {1, w.resetProvider}, {1, w.muteProvider}, {1, w.delayProvider}, {1, w.narrowProvider},
		}},
		{"proofs", 2 * time.Second, 6 * time.Second, []weighted[act]{{1, w.withdraw}}},
		{"operators", 50 * time.Millisecond, 400 * time.Millisecond, w.operators()},
	}
}

// suffer has jobs flow through everything that goes wrong. It returns when every client has its answer and
// every fault has been undone. On a machine that is too slow for the load the script ends first.
func (w *world) suffer(ctx context.Context) {
	disturbed, calm := context.WithTimeout(ctx, w.over+w.over/2+5*time.Second)
	defer calm()
	var script sync.WaitGroup
	for _, each := range w.lanes() {
		script.Go(func() { each.run(disturbed, chance(w.seed, each.name)) })
	}
	script.Go(func() { w.provider.releasing(disturbed, chance(w.seed, "releases")) })
	script.Go(func() { w.provider.wavering(disturbed, chance(w.seed, "candours")) })
	w.load(ctx)
	calm()
	script.Wait()
}

// run goes on until ctx ends.
func (l lane) run(ctx context.Context, draw *rand.Rand) {
	for rest(ctx, between(draw, l.low, l.high)) {
		pick(draw, l.acts)(ctx, draw)
	}
}

// kill ends a replica without a word; it is started again.
func (w *world) kill(_ context.Context, draw *rand.Rand) {
	r := one(draw, w.replicas)
	w.book.during("kills", r.name, func() error {
		defer r.awaken()
		if err := r.signal(os.Kill, true); !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return nil
	})
}

// stops freezes the replica; false where it is down, and there is nothing to freeze.
func (r *replica) stops() bool { return r.signal(syscall.SIGSTOP, false) == nil }

// freeze stops a replica for a while, often beyond its leases.
func (w *world) freeze(ctx context.Context, draw *rand.Rand) {
	r, long := one(draw, w.replicas), between(draw, time.Second, 6*time.Second)
	w.book.during("freezes", r.name, func() error {
		if !r.stops() {
			return nil
		}
		rest(ctx, long)
		r.awaken()
		return nil
	})
}

// awaken lets a frozen replica go on, and does nothing to any other.
func (r *replica) awaken() { _ = r.signal(syscall.SIGCONT, false) }

func (w *world) loseCommits(ctx context.Context, draw *rand.Rand) {
	r, oneIn, long := one(draw, w.replicas), 1+draw.IntN(8), between(draw, time.Second, 3*time.Second)
	w.book.during("spells of lost COMMIT answers", r.name, func() error {
		lost, err := r.database.poison(within(ctx, long), lostCommitType, "downstream", fmt.Sprintf(`{"one_in": %d}`, oneIn))
		w.book.count("lost COMMIT answers", int(lost))
		return err
	})
}

func (w *world) cutDatabase(ctx context.Context, draw *rand.Rand) {
	r, long := one(draw, w.replicas), between(draw, 100*time.Millisecond, 5*time.Second)
	w.book.during("cuts of the database", r.name, func() error { return r.database.cut(within(ctx, long)) })
}

func (w *world) crashDatabase(ctx context.Context, draw *rand.Rand) {
	long := between(draw, 10*time.Millisecond, 2*time.Second)
	w.book.during("crashes of PostgreSQL", "database", func() error {
		err := w.cluster.StopImmediate()
		rest(ctx, long)
		return errors.Join(err, w.cluster.Restart())
	})
}

// terminateBackends ends about half of the database's sessions.
func (w *world) terminateBackends(ctx context.Context, _ *rand.Rand) {
	w.book.during("rounds of terminated backends", "database", func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		direct, err := pgx.ConnectConfig(ctx, w.db.Config().ConnConfig)
		if err != nil {
			return err
		}
		defer func() { _ = direct.Close(ctx) }()
		var ended int
		err = direct.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.5`).Scan(&ended)
		w.book.count("terminated backends", ended)
		return err
	})
}

func (w *world) cutProvider(ctx context.Context, draw *rand.Rand) {
	name, long := w.aProvider(draw), between(draw, 50*time.Millisecond, 2*time.Second)
	w.book.during("cuts of a provider", name, func() error { return w.providers[name].cut(within(ctx, long)) })
}

func (w *world) aProvider(draw *rand.Rand) string {
	return one(draw, slices.Sorted(maps.Keys(w.providers)))
}

// poisoned is the act of putting one toxic on one of the paths for a while.
func (w *world) poisoned(what string, where func(*rand.Rand) (string, *path), low, high time.Duration, kind, stream, attributes string) act {
	return func(ctx context.Context, draw *rand.Rand) {
		name, p := where(draw)
		long := between(draw, low, high)
		w.book.during(what, name, func() error {
			_, err := p.poison(within(ctx, long), kind, stream, attributes)
			return err
		})
	}
}

func (w *world) toDatabase(draw *rand.Rand) (string, *path) {
	r := one(draw, w.replicas)
	return r.name, r.database
}

func (w *world) toProvider(draw *rand.Rand) (string, *path) {
	name := w.aProvider(draw)
	return name, w.providers[name]
}

func (w *world) resetDatabase(ctx context.Context, draw *rand.Rand) {
	w.poisoned("resets of database connections", w.toDatabase, 200*time.Millisecond, time.Second, "reset_peer", "downstream", `{"timeout": 0}`)(ctx, draw)
}

func (w *world) muteDatabase(ctx context.Context, draw *rand.Rand) {
	w.poisoned("silences of the database", w.toDatabase, time.Second, 5*time.Second, "timeout", "downstream", `{"timeout": 0}`)(ctx, draw)
}

func (w *world) delayDatabase(ctx context.Context, draw *rand.Rand) {
	w.poisoned("delays of the database", w.toDatabase, time.Second, 4*time.Second, "latency", "downstream", `{"latency": 60, "jitter": 50}`)(ctx, draw)
}

func (w *world) narrowDatabase(ctx context.Context, draw *rand.Rand) {
	w.poisoned("narrowings of the database", w.toDatabase, time.Second, 3*time.Second, "slicer", "upstream", `{"average_size": 100, "size_variation": 50, "delay": 4000}`)(ctx, draw)
}

func (w *world) resetProvider(ctx context.Context, draw *rand.Rand) {
	w.poisoned("resets of provider connections", w.toProvider, 100*time.Millisecond, time.Second, "reset_peer", "downstream", `{"timeout": 50}`)(ctx, draw)
}

func (w *world) muteProvider(ctx context.Context, draw *rand.Rand) {
	w.poisoned("silences of a provider", w.toProvider, 500*time.Millisecond, 3*time.Second, "timeout", "upstream", `{"timeout": 0}`)(ctx, draw)
}

func (w *world) delayProvider(ctx context.Context, draw *rand.Rand) {
	w.poisoned("delays of a provider", w.toProvider, time.Second, 4*time.Second, "latency", "downstream", `{"latency": 700, "jitter": 600}`)(ctx, draw)
}

func (w *world) narrowProvider(ctx context.Context, draw *rand.Rand) {
	w.poisoned("narrowings of a provider", w.toProvider, time.Second, 3*time.Second, "slicer", "downstream", `{"average_size": 40, "size_variation": 20, "delay": 20000}`)(ctx, draw)
}

// within is a context that ends after a while. What it holds is free when it has ended.
func within(ctx context.Context, long time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, long)
	context.AfterFunc(ctx, cancel)
	return ctx
}
