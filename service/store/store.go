package store

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/drift"
	"github.com/fallproof/fallproof/service/job"
)

// Store is one database. It is safe for concurrent use.
type Store interface {
	Jobs
	Certifications
	Keys

	// StartQueue works the doorbells that Jobs' methods rang, on any replica, until stop returns.
	// River is a doorbell: its job says that an attempt may be due, the attempt's row decides.
	StartQueue(ctx context.Context, config *river.Config) (stop func(context.Context) error, err error)
	// Clock is the database's: the one by which everything that has a time is decided.
	Clock(ctx context.Context) (time.Time, error)
	// Watch tells watcher which jobs change, whichever process changes them, until ctx ends. It is called once.
	// Its word is a hint that may get lost: who waits for a job also looks by himself now and then.
	Watch(ctx context.Context, watcher Watcher)
	// Ping errs where the database cannot be reached.
	Ping(ctx context.Context) error
	Close() error
}

// Jobs is the job/attempt protocol.
type Jobs interface {
	// CreateJob inserts the job and the first step that decide makes for it, or finds the job that the
	// key already names: created is false then, and nothing changed. A *KeyConflict where the key names
	// another intent; ErrPurged where its job was purged. A repeated call with the same job ID reports created
	// again.
	CreateJob(ctx context.Context, create CreateJob) (made Made, err error)
	// AddAttempt inserts an explicit attempt. The key is the attempt's own; the same key and fingerprint
	// find the attempt that it already made. *KeyConflict, *Blocked, ErrJobFinal, ErrAttemptsExhausted,
	// *NotCertified, ErrNotFound.
	AddAttempt(ctx context.Context, add AddAttempt) (made Made, err error)
	// Apply is every other change of an attempt: one event, looked up in job.Table, moved by
	// compare-and-swap, with the job's state and, where the attempt ended without a winner, the next step
	// in the same transaction. *IllegalTransition where the table has no row; *NotYet for a turn before its
	// time; *NotCertified for the turn of an attempt whose proof does not stand any more; ErrNotFound.
	Apply(ctx context.Context, change Change) (Applied, error)
	// CancelJob fences the job's open attempts and closes it. ErrJobFinal, ErrNotFound.
	CancelJob(ctx context.Context, owner, jobID, by string) (job.Job, error)
	// NoteReference keeps the provider's own id of what an attempt works on, once. ErrNotFound.
	NoteReference(ctx context.Context, ref job.Ref, reference string) error
	// Postpone notes that an automatic step ended nothing, and plans the next one. Nothing changes where the
	// step is not the one that is due by now. ErrNotFound.
	Postpone(ctx context.Context, postpone Postpone) (job.Attempt, error)
	// RingAgain inserts the doorbell of a waiting attempt once more where its time has come. ErrNotFound.
	RingAgain(ctx context.Context, ref job.Ref) error

	// Purge empties up to limit closed jobs that nothing changed for olderThan by the database's clock, in one
	// transaction: final ones, and failed ones of which nothing more is heard. A tombstone stays of each: its
	// ids, key, fingerprint and final state. What another transaction holds is left out; purged says how many
	// were emptied. From then on every method errs with ErrPurged where the job is named.
	Purge(ctx context.Context, olderThan time.Duration, limit int) (purged int, err error)

	// Job and JobByKey return the tombstone of a purged job along with ErrPurged.
	Job(ctx context.Context, owner, jobID string) (job.Job, error)
	JobByKey(ctx context.Context, owner, idempotencyKey string) (job.Job, error)
	ListJobs(ctx context.Context, filter JobFilter) (items []job.Job, next string, err error)
	Attempt(ctx context.Context, ref job.Ref) (job.Attempt, error)
	Attempts(ctx context.Context, owner, jobID string) ([]job.Attempt, error)
	// Events reads a job's history from behind the event with the number after, in order. ErrNotFound.
	Events(ctx context.Context, owner, jobID string, after int64) (History, error)
	// ContractContent is the archived folder of a digest that some job was created under.
	ContractContent(ctx context.Context, digest string) ([]byte, error)

	// RenewLeases extends the leases of a replica's attempts and says which of them it still holds.
	RenewLeases(ctx context.Context, bootID string, lease time.Duration) (held []job.Ref, err error)
	// Overdue are the attempts whose lease ran out (they are orphans) and those that waited past StartBy.
	Overdue(ctx context.Context, limit int) ([]job.Attempt, error)
	// DueSteps are the attempts with an automatic step that has been due for longer than grace: its doorbell
	// was lost, or is being answered. A ring has no doorbell of its own, and no grace.
	DueSteps(ctx context.Context, grace time.Duration, limit int) ([]job.Attempt, error)
	// Doubts says how many of an owner's jobs are in doubt, and since when the oldest is.
	Doubts(ctx context.Context, owner string) (Doubts, error)
}

// Watcher is called by Store.Watch, never twice at a time. Neither function may block.
type Watcher struct {
	// Changed names a job that has changed; "" where any job may have, unnoticed.
	Changed func(jobID string)
	// State says whether changes are told: nil, or why not. It is called first of all, and whenever that changes.
	State func(err error)
}

// History is a part of what happened to a job.
type History struct {
	Events []job.EventRecord
	// Over says that nothing more happens by itself after these: the job is final, or failed with no automatic
	// step left, and of no attempt anything may still be heard.
	Over bool
}

// Doubts is the length of an owner's queue of jobs in doubt.
type Doubts struct {
	Jobs   int
	Oldest time.Time // zero where there is none
	Now    time.Time // the database's clock
}

// Postpone is the input of Jobs.Postpone.
type Postpone struct {
	Ref      job.Ref
	Step     job.DueStep
	By       string
	Finding  string        // what the provider said; a new one is kept in the history
	In       time.Duration // no sooner than
	Decision Decision      // Doubt plans the next step
}

// Decide makes the next step of a job out of one consistent view of it. It is called inside the
// transaction, may be called again when the transaction is retried, and must not block.
type Decide func(View) Step

// View is what a decision may depend on.
type View struct {
	Job       job.Job
	Attempts  []job.Attempt
	Standings map[providers.Target]certification.Standing // of the candidates that were asked for
	Now       time.Time                                   // the database's clock
}

// Step is the outcome of a decision: a next attempt, or the reason why there is none.
type Step struct {
	Attempt *NewAttempt
	Failure *job.Failure
}

// Decision is a Decide with the proofs that it wants to see, which are then locked against revocation
// until the transaction ends.
type Decision struct {
	Candidates []certification.Key
	Decide     Decide
	// Doubt plans the automatic step about an attempt that the transaction leaves unknown or released; nil =
	// none. The view has no standings, and the attempt as it was before.
	Doubt func(View, job.Attempt) job.Due
}

// NewAttempt is an attempt to insert. The store gives it its number.
type NewAttempt struct {
	ID              string
	IdempotencyKey  string
	Fingerprint     string
	Role            job.Role
	Target          providers.Target
	CertificationID string        // must be standing where Target is not the intended one; the database checks
	BootID          string        // set: it is sent at once by this incarnation; empty: it waits for its doorbell
	Lease           time.Duration // with BootID
	Settling        job.Settling  // with BootID: as it is sent
	Delay           time.Duration // without BootID: not before now + Delay
	NotBefore       time.Time     // without BootID: nor before this moment
	Wait            time.Duration // without BootID: given up so long after its turn could have come
	Queue           string        // without BootID: the doorbell's queue
}

// CreateJob is the input of Jobs.CreateJob. State, Version, CompletedBy and times of Job are the store's.
type CreateJob struct {
	Job             job.Job
	ContractContent []byte
	Decision        Decision
}

// AddAttempt is the input of Jobs.AddAttempt. Attempt.Target is the zero Target for the intended one.
type AddAttempt struct {
	Owner, JobID string
	Attempt      NewAttempt
	Proof        *certification.Key // of Attempt.Target; nil only where that is the intended target
	Refusals     []string           // reasons known beforehand why the target may not be tried, e.g. not_in_route
	Accepted     []providers.Source
}

// Made is what CreateJob and AddAttempt leave behind.
type Made struct {
	Job     job.Job
	Attempt *job.Attempt // the attempt that was inserted (or, replayed, found); nil where the step made none
	Created bool
}

// Change is one event on one attempt.
type Change struct {
	Ref    job.Ref
	Event  job.Event
	Reason string // a stable word; becomes the attempt's reason
	Detail string
	By     string // who: a boot id, or the name of an API key
	Note   string // an operator's words, kept in the history

	Heard     bool          // whether the connection is still open afterwards
	Retryable bool          // with EventFailure
	RetryIn   time.Duration // with EventFailure: as the provider asked
	NotSent   bool          // with EventFailure and EventDoubt: provably nothing left the machine by the last send, which is not counted; after an earlier one it is doubt
	Answer    *Answer       // what was heard, if anything; Answer.Result only with a valid answer
	Watch     *Watch        // with Answer: its target's proof is held against it; nil = it is not

	OnlyIfOverdue bool        // the sweep's guard: nothing changes unless the lease, or the time to start, is over by now
	OnlyIfDue     job.DueStep // an automatic step's guard: nothing changes unless it is the one that is due; *NotYet before its time

	// Send says which send of the attempt heard this; 0 = any. What an earlier one heard last changes
	// nothing once the attempt was sent again, except by a valid answer.
	Send int

	BootID   string        // with EventTurn and EventResend: who takes it
	Lease    time.Duration // with them
	Settling job.Settling  // with them

	Decision Decision // the next step, where this change ends the attempt without a winner
}

// Answer is what a provider's answer leaves on its attempt.
type Answer struct {
	Result      string // JSON text
	ServedModel string
	SystemPrint string
	Usage       *providers.Usage
	Latency     time.Duration
}

// Watch has an answer of a live attempt compared with what its target was certified as, in the transaction
// that ends the attempt: see package drift. It says something about a proof only where that was the
// standing one when the attempt was sent.
type Watch struct {
	Proof    certification.Key
	Settings drift.Settings
	Judged   bool // it was an answer to be held against the contract
	Violated bool // and it broke it
}

// Applied is what a Change did.
type Applied struct {
	Attempt job.Attempt
	Job     job.Job
	Moved   bool                  // false: nothing changed (a late answer, or a repeated delivery)
	Next    *job.Attempt          // the attempt that the next step made
	Drift   []certification.Event // what it brought upon the record that its target's proof rests on
}

// JobFilter selects a page of an owner's jobs: newest first, those in doubt by the age of the doubt, oldest
// first.
type JobFilter struct {
	Owner, Contract string
	State           job.JobState
	Limit           int
	Cursor          string
}
