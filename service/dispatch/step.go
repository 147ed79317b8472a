package dispatch

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// step is one decision about a job's next attempt, and the slot that it holds meanwhile.
type step struct {
	d       *Dispatcher
	id      string // of the attempt that it may make: the same however often the transaction is repeated
	decided store.Decision
	slot    *slot
	began   time.Time // before the last transaction that may have granted a lease
}

// newStep prepares the decision that a change of a job may call for.
func (d *Dispatcher) newStep(ctx context.Context, j job.Job) (*step, error) {
	contract, err := d.planner.contract(ctx, j.ContractDigest)
	if err != nil {
		return nil, err
	}
	s := &step{d: d, id: newID()}
	rules := d.rules(contract, j)
	s.decided = store.Decision{
		Candidates: d.planner.candidates(contract, j),
		Decide: func(view store.View) store.Step {
			next := failover.Next(view, rules)
			if next.Attempt != nil {
				s.complete(next.Attempt, view.Job.Plan)
				s.withinDeadline(next.Attempt, view)
			}
			return next
		},
	}
	return s, nil
}

// decision is what the store runs inside its transaction, maybe several times.
func (s *step) decision() store.Decision {
	if s == nil {
		return store.Decision{}
	}
	s.starts()
	return s.decided
}

// starts notes that a transaction begins which may grant a lease.
func (s *step) starts() { s.began = time.Now() }

// complete says how an attempt is to be sent: at once where a slot is free, else when its doorbell rings.
func (s *step) complete(next *store.NewAttempt, plan job.Plan) {
	next.ID = s.id
	if next.IdempotencyKey == "" {
		next.IdempotencyKey = s.id
	}
	s.giveBack() // of a transaction that did not commit
	provider := next.Target.Provider
	if next.NotBefore.IsZero() && next.Delay == 0 && !s.d.flights.isClosed() {
		s.slot = s.d.tryPlace(next.Target)
	}
	if s.slot != nil {
		next.BootID, next.Lease, next.Settling = s.d.bootID, s.d.options.Lease, s.d.settling(next.Target)
		return
	}
	next.Queue = store.QueueName(provider)
	next.Wait = s.d.planner.deadlines(plan, provider).QueueTimeout
}

// withinDeadline has a waiting attempt given up by the job's own deadline.
func (s *step) withinDeadline(next *store.NewAttempt, view store.View) {
	begins := view.Now
	if next.NotBefore.After(begins) {
		begins = next.NotBefore
	}
	next.Wait = min(next.Wait, failover.Remaining(view.Job, begins))
}

// launch runs the attempt that the step made, if it is to be run here and now; it then takes the slot
// along.
func (s *step) launch(j job.Job, made *job.Attempt) {
	if s == nil {
		return
	}
	ours := made != nil && made.ID == s.id && made.State == job.Running && made.BootID == s.d.bootID
	if !ours || s.slot == nil {
		return
	}
	s.d.launch(&flight{job: j, attempt: *made, slot: s.slot, granted: s.began})
	s.slot = nil
}

// giveBack ends the step: a slot that no attempt took along is free again.
func (s *step) giveBack() {
	if s != nil {
		s.slot.giveBack()
		s.slot = nil
	}
}

// newID is a fresh id that sorts by the time it was made.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
