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
	rules := d.planner.rules()
	s.decided = store.Decision{
		Candidates: d.planner.candidates(contract, j),
		Decide: func(view store.View) store.Step {
			next := failover.Next(view, rules)
			if next.Attempt != nil {
				s.complete(next.Attempt, view.Job.Plan)
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
	if slots, ok := s.d.slots[provider]; ok && next.NotBefore.IsZero() && !s.d.flights.isClosed() {
		s.slot, _ = slots.try()
	}
	if s.slot != nil {
		next.BootID, next.Lease = s.d.bootID, s.d.options.Lease
		return
	}
	next.Queue = store.QueueName(provider)
	next.Wait = s.d.planner.deadlines(plan, provider).QueueTimeout
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
