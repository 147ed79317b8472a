package dispatch

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// mayWrite says whether this replica surely holds the attempt's lease for long enough to begin a send.
// Where it cannot tell, it asks the store once.
func (d *Dispatcher) mayWrite(f *flight) bool {
	margin := d.options.Lease / 5
	if f.leased(d.options.Lease, margin) {
		return true
	}
	ctx, cancel := context.WithTimeout(d.life, d.options.Renew)
	defer cancel()
	if _, err := d.renew(ctx); err != nil {
		d.log.Warn("leases could not be renewed; nothing is sent", "job", f.job.ID, "error", err)
	}
	return f.leased(d.options.Lease, margin)
}

// renew extends every lease of this replica and returns those that are held.
func (d *Dispatcher) renew(ctx context.Context) ([]job.Ref, error) {
	began := time.Now()
	held, err := d.store.RenewLeases(ctx, d.bootID, d.options.Lease)
	if err != nil {
		return nil, err
	}
	open := d.flights.all()
	for _, ref := range held {
		if f, ok := open[ref]; ok {
			f.renewed(began)
		}
	}
	return held, nil
}

// keepLeases renews until the dispatcher's life ends.
func (d *Dispatcher) keepLeases() {
	defer close(d.leasesKept)
	ticker := time.NewTicker(d.options.Renew)
	defer ticker.Stop()
	strays := map[job.Ref]bool{}
	for {
		select {
		case <-d.life.Done():
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(d.life, d.options.Lease)
		held, err := d.renew(ctx)
		cancel()
		if err != nil {
			if d.life.Err() == nil {
				d.log.Warn("leases could not be renewed", "error", err)
			}
			continue
		}
		strays = d.gather(held, strays)
	}
}

// gather ends attempts that are stored as running here although nobody here runs them: an answer to a
// COMMIT was lost for good. They were never sent. Whatever is held and unaccounted for twice in a row is
// one: an attempt that ran and ended in between is not held any more.
func (d *Dispatcher) gather(held []job.Ref, seenBefore map[job.Ref]bool) map[job.Ref]bool {
	strays := map[job.Ref]bool{}
	for _, ref := range held {
		if d.flights.accountedFor(ref) {
			continue
		}
		strays[ref] = true
		if seenBefore[ref] {
			d.endStray(ref)
		}
	}
	return strays
}

func (d *Dispatcher) endStray(ref job.Ref) {
	change := store.Change{
		Ref: ref, Event: job.EventFailure, Reason: reasonNotSent, Detail: "the replica never learned that it was to send",
		By: d.bootID, Retryable: true, NotSent: true,
	}
	if _, err := d.applyTo(d.life, change); err != nil {
		d.log.Warn("a stray attempt could not be ended", "job", ref.JobID, "attempt", ref.Number, "error", err)
	}
}
