package benchmarks

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/postgres"
	"github.com/fallproof/fallproof/service/store/storetest"
	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// BenchmarkHeldSnapshot: what a snapshot that is held from the beginning, so that no dead row can be
// cleared away, costs whoever takes an attempt's turn (claim) and looks for what is overdue (sweep). Two
// databases do the same in turns, one of them with the snapshot; the figures are medians of the last
// quarter, x the ratio. -benchtime=3m holds it for that long.
func BenchmarkHeldSnapshot(b *testing.B) {
	free, held := newChurn(b), newChurn(b)
	held.hold()
	const vacuumEvery = 500 // as often as autovacuum would come under such a load
	for i := 0; b.Loop(); i++ {
		free.round()
		held.round()
		if i%vacuumEvery == 0 {
			b.StopTimer()
			free.vacuum()
			held.vacuum()
			b.StartTimer()
		}
	}
	for name, measured := range map[string][2][]time.Duration{
		"claim": {free.claims, held.claims}, "sweep": {free.sweeps, held.sweeps},
	} {
		without, with := lateMedian(measured[0]), lateMedian(measured[1])
		b.ReportMetric(float64(without.Microseconds()), name+"-µs")
		b.ReportMetric(float64(with.Microseconds()), name+"-held-µs")
		b.ReportMetric(float64(with)/float64(without), name+"-x")
	}
}

// churn is a database on which jobs come and go.
type churn struct {
	b              *testing.B
	ctx            context.Context
	store          store.Store
	raw            *pgx.Conn
	claims, sweeps []time.Duration
}

func newChurn(b *testing.B) *churn {
	b.Helper()
	c := &churn{b: b, ctx: context.WithoutCancel(b.Context())}
	url := pgcluster.Database(b)
	var err error
	c.store, err = postgres.Open(c.ctx, url)
	c.must(err)
	b.Cleanup(func() { c.must(c.store.Close()) })
	c.raw, err = pgx.Connect(c.ctx, url)
	c.must(err)
	b.Cleanup(func() { c.must(c.raw.Close(c.ctx)) })
	return c
}

func (c *churn) must(err error) {
	c.b.Helper()
	if err != nil {
		c.b.Fatal(err)
	}
}

// hold takes a snapshot on a connection of its own and keeps it.
func (c *churn) hold() {
	conn, err := pgx.ConnectConfig(c.ctx, c.raw.Config())
	c.must(err)
	c.b.Cleanup(func() { c.must(conn.Close(c.ctx)) })
	_, err = conn.Exec(c.ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM jobs")
	c.must(err)
}

func (c *churn) vacuum() {
	for _, table := range []string{"jobs", "attempts", "river_job"} {
		_, err := c.raw.Exec(c.ctx, "VACUUM ANALYZE "+table)
		c.must(err)
	}
}

// round is a job from its waiting attempt to its result, with a sweep while it runs.
func (c *churn) round() {
	ref := storetest.WaitingAttempt(c.b, c.store, store.QueueName("alpha"))
	began := time.Now()
	_, err := c.store.Apply(c.ctx, store.Change{Ref: ref, Event: job.EventTurn, BootID: "bench", By: "bench", Lease: time.Minute})
	c.claims = append(c.claims, time.Since(began))
	c.must(err)
	began = time.Now()
	_, err = c.store.Overdue(c.ctx, 100)
	c.sweeps = append(c.sweeps, time.Since(began))
	c.must(err)
	_, err = c.store.Apply(c.ctx, store.Change{Ref: ref, Event: job.EventAnswer, By: "bench", Answer: &store.Answer{Result: `1`}})
	c.must(err)
}

func lateMedian(measured []time.Duration) time.Duration {
	late := slices.Clone(measured[len(measured)*3/4:])
	slices.Sort(late)
	return late[len(late)/2]
}
