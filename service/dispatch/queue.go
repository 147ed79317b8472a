package dispatch

import (
	"log/slog"
	"strings"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/service/store"
)

// spareWorkers wait beside those that a provider's slots let through: for the next free slot, and for
// the moment of a retry that is due within seconds. Each costs a goroutine.
const spareWorkers = 64

// sqliteScheme tells the database of which River's nightly reindexing wants indexes that only PostgreSQL
// has, and would warn that they are missing. There they bloat and are worth it.
const sqliteScheme = "sqlite:"

// queueConfig has one queue for each provider, so that a slow one keeps nobody else waiting. How often they
// are polled is the store's to say.
func (d *Dispatcher) queueConfig() *river.Config {
	workers := river.NewWorkers()
	river.AddWorker(workers, &turnWorker{d: d})
	river.AddWorker(workers, &dueWorker{d: d})
	queues := map[string]river.QueueConfig{}
	for name, provider := range d.config.Providers {
		queues[store.QueueName(name)] = river.QueueConfig{MaxWorkers: max(provider.Concurrency, 1) + spareWorkers}
	}
	config := &river.Config{
		ID: d.bootID, Logger: slog.New(onlyWarnings{d.log.Handler()}), Queues: queues, Workers: workers, MaxAttempts: 1,
	}
	d.retain(config)
	if strings.HasPrefix(d.config.Store.URL, sqliteScheme) {
		config.ReindexerSchedule = river.NeverSchedule()
	}
	return config
}
