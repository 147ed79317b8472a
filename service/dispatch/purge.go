package dispatch

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/store"
)

const (
	purgeQueue = "retention"
	purgePage  = 100
	// purgeEvery is how often what is past its retention is looked for; more often where retention is shorter.
	purgeEvery = time.Hour
)

// purgeArgs is the periodic doorbell of retention; the leader among the replicas rings it.
type purgeArgs struct{}

// Kind names the doorbell to River.
func (purgeArgs) Kind() string { return "retention_purge" }

type purgeWorker struct {
	river.WorkerDefaults[purgeArgs]
	d *Dispatcher
}

// Timeout lets a backlog be worked off in one go.
func (w *purgeWorker) Timeout(*river.Job[purgeArgs]) time.Duration { return -1 }

// Work never fails: what was not purged is past its retention at the next ring as well.
func (w *purgeWorker) Work(ctx context.Context, _ *river.Job[purgeArgs]) error {
	if err := w.d.purge(ctx); err != nil && ctx.Err() == nil {
		w.d.log.Warn("the purge did not finish", "error", err)
	}
	return nil
}

// retain adds retention to the queues, if there is one. It has a queue of its own, since the sweep must not wait
// for it. River itself forgets its finished doorbells, by its own defaults: completed and cancelled ones after
// a day, discarded ones after a week. They hold ids, and nothing of an intent.
func (d *Dispatcher) retain(config *river.Config) {
	retention := d.config.Store.Retention
	if retention == 0 {
		return
	}
	river.AddWorker(config.Workers, &purgeWorker{d: d})
	config.Queues[purgeQueue] = river.QueueConfig{MaxWorkers: 1, FetchPollInterval: time.Second}
	config.PeriodicJobs = append(config.PeriodicJobs, river.NewPeriodicJob(river.PeriodicInterval(min(retention, purgeEvery)),
		func() (river.JobArgs, *river.InsertOpts) { return purgeArgs{}, &river.InsertOpts{Queue: purgeQueue} },
		&river.PeriodicJobOpts{RunOnStart: true}))
}

// purge empties what is past its retention, batch by batch, until a batch is not full or a shutdown begins.
// Other replicas may do the same at once: no job is purged twice, and nobody waits.
func (d *Dispatcher) purge(ctx context.Context) error {
	total := 0
	defer func() {
		if total > 0 {
			d.log.Info("jobs purged", "jobs", total, "retention", d.config.Store.Retention)
		}
	}()
	for d.intake.Err() == nil {
		purged := 0
		err := limited(ctx, func(ctx context.Context) (err error) {
			purged, err = d.store.Purge(ctx, d.config.Store.Retention, purgePage)
			return err
		})
		total += purged
		if err != nil || purged < purgePage {
			return err
		}
	}
	return nil
}

// heardLast says what is lost with an answer that came after the purge of its job: never a result, which a closed
// job could not have taken any more, but what the attempt cost.
func heardLast(f *flight, change store.Change) []any {
	words := []any{
		"job", f.job.ID, "attempt", f.attempt.Number, "attempt_id", f.attempt.ID, "event", change.Event, "reason", change.Reason,
	}
	if change.Answer != nil && change.Answer.Usage != nil {
		words = append(words, "total_tokens", change.Answer.Usage.TotalTokens)
	}
	return words
}
