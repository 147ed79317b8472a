package store

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
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
	// Ping errs where the database cannot be reached.
	Ping(ctx context.Context) error
	Close() error
}

// Jobs is the job/attempt protocol.
type Jobs interface {
	// CreateJob inserts the job and the first step that decide makes for it, or finds the job that the
	// key already names: created is false then, and nothing changed. A *KeyConflict where the key names
	// another intent. A repeated call with the same job ID reports created again.
	CreateJob(ctx context.Context, create CreateJob) (made Made, err error)
	// AddAttempt inserts an explicit attempt. The key is the attempt's own; the same key and fingerprint
	// find the attempt that it already made. *KeyConflict, *Blocked, ErrJobFinal, ErrAttemptsExhausted,
	// *NotCertified, ErrNotFound.
	AddAttempt(ctx context.Context, add AddAttempt) (made Made, err error)
	// Apply is every other change of an attempt: one event, looked up in job.Table, moved by
	// compare-and-swap, with the job's state and, where the attempt ended without a winner, the next step
	// in the same transaction. *IllegalTransition where the table has no row; *NotYet for a turn before its
	// time; ErrNotFound.
	Apply(ctx context.Context, change Change) (Applied, error)
	// CancelJob fences the job's open attempts and closes it. ErrJobFinal, ErrNotFound.
	CancelJob(ctx context.Context, owner, jobID, by string) (job.Job, error)

	Job(ctx context.Context, owner, jobID string) (job.Job, error)
	JobByKey(ctx context.Context, owner, idempotencyKey string) (job.Job, error)
	ListJobs(ctx context.Context, filter JobFilter) (items []job.Job, next string, err error)
	Attempt(ctx context.Context, ref job.Ref) (job.Attempt, error)
	Attempts(ctx context.Context, owner, jobID string) ([]job.Attempt, error)
	Events(ctx context.Context, owner, jobID string) ([]job.EventRecord, error)
	// ContractContent is the archived folder of a digest that some job was created under.
	ContractContent(ctx context.Context, digest string) ([]byte, error)

	// RenewLeases extends the leases of a replica's attempts and says which of them it still holds.
	RenewLeases(ctx context.Context, bootID string, lease time.Duration) (held []job.Ref, err error)
	// Overdue are the attempts whose lease ran out (they are orphans) and those that waited past StartBy.
	Overdue(ctx context.Context, limit int) ([]job.Attempt, error)
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
	NotSent   bool          // with EventFailure: provably nothing left the machine, so the send is not counted
	Answer    *Answer       // what was heard, if anything; Answer.Result only with a valid answer

	OnlyIfOverdue bool // the sweep's guard: nothing changes unless the lease, or the time to start, is over by now

	BootID string        // with EventTurn: who takes it
	Lease  time.Duration // with EventTurn

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

// Applied is what a Change did.
type Applied struct {
	Attempt job.Attempt
	Job     job.Job
	Moved   bool         // false: nothing changed (a late answer, or a repeated delivery)
	Next    *job.Attempt // the attempt that the next step made
}

// JobFilter selects a page of an owner's jobs, newest first.
type JobFilter struct {
	Owner, Contract string
	State           job.JobState
	Limit           int
	Cursor          string
}
