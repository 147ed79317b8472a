package job

import (
	"fmt"
	"time"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
)

// Job is the durable record of one intent. (Owner, IdempotencyKey) names it to the client.
type Job struct {
	ID             string
	Owner          string
	IdempotencyKey string
	Fingerprint    string // see Intent.Fingerprint
	Contract       string
	ContractDigest string
	Input          string           // JSON text as first sent
	SentTarget     string           // "" where the client sent none
	Target         providers.Target // the intended target
	Metadata       string           // JSON text, "" where none was sent
	Plan           Plan
	State          JobState
	Version        int64  // the epoch of the result slot
	CompletedBy    int    // attempt number; 0 = nobody yet
	Result         string // JSON text; "" = none
	Error          *Failure
	CreatedAt      time.Time
	UpdatedAt      time.Time
	CompletedAt    time.Time // zero = not completed
	UnknownSince   time.Time // zero = not in doubt
	PurgedAt       time.Time // zero = not purged; a purged job is a tombstone without input, result and history
}

// Intent is the intent that the job was created for.
func (j Job) Intent() (Intent, error) {
	input, err := value.Decode([]byte(j.Input))
	if err != nil {
		return Intent{}, fmt.Errorf("input of job %s: %w", j.ID, err)
	}
	return Intent{Contract: j.Contract, Input: input, Target: j.SentTarget}, nil
}

// Failure is why a job is failed, for its owner.
type Failure struct {
	Reason  string          `json:"reason"`
	Detail  string          `json:"detail,omitempty"`
	Attempt int             `json:"attempt,omitempty"`
	Targets []TargetRefusal `json:"targets,omitempty"` // why no other target was tried
}

// TargetRefusal says why a target may not be tried.
type TargetRefusal struct {
	Target  providers.Target `json:"target"`
	Reasons []string         `json:"reasons"`
}

// Plan is the part of the configuration that a job keeps from the moment it was accepted, so that a
// later deploy changes neither its route nor its deadlines.
type Plan struct {
	Primary                 providers.Target     `json:"primary,omitzero"`
	Fallbacks               []providers.Target   `json:"fallbacks,omitempty"`
	MaxAttempts             int                  `json:"max_attempts"`
	OnRefusal               string               `json:"on_refusal"` // final | fallback
	RequireCertifiedPrimary bool                 `json:"require_certified_primary,omitempty"`
	OnUnknown               string               `json:"on_unknown,omitempty"`    // block (also "") | release | resend
	ReleaseAfter            time.Duration        `json:"release_after,omitempty"` // with release: from the moment of doubt; 0 = never
	Deadline                time.Duration        `json:"deadline,omitempty"`      // of the whole job, from its creation; 0 = none
	Deadlines               map[string]Deadlines `json:"deadlines"`               // by provider name
}

// Deadlines are those of a provider, counted from the moment an attempt starts.
type Deadlines struct {
	Timeout      time.Duration `json:"timeout"`       // soft: silence turns the attempt to unknown
	GiveUp       time.Duration `json:"give_up"`       // hard: the connection is closed
	QueueTimeout time.Duration `json:"queue_timeout"` // how long an attempt waits for its turn
}

// What a plan may say about silence.
const (
	OnUnknownBlock   = "block"   // wait for the attempt to settle, or for an external process
	OnUnknownRelease = "release" // stop waiting after ReleaseAfter; a certified fallback may then race
	OnUnknownResend  = "resend"  // send the same attempt again, at a provider that honours its key
)

// Settling is how the doubt about an attempt may end by asking its provider: what was true of the
// request when it was sent, whatever the configuration says later.
type Settling struct {
	SentTo            string        // base URL; nobody else is asked
	Reconcile         string        // see providers.Profile.Reconcile; "" = it cannot be found again
	Horizon           time.Duration // after which what is absent at the provider was not executed, from the moment of sending
	IdempotencyHeader string        // that carried the attempt's id; "" = it may never be sent twice
}

// Due is an automatic step that an attempt waits for. The zero Due is none.
type Due struct {
	Step DueStep
	At   time.Time // by the database's clock
}

// DueStep names an automatic step.
type DueStep string

// Automatic steps.
const (
	DueNone      DueStep = ""
	DueRing      DueStep = "ring"      // a waiting attempt's doorbell may be lost: it rings again
	DueReconcile DueStep = "reconcile" // its provider is asked what became of it
	DueRelease   DueStep = "release"   // it is released by its job's policy
	DueResend    DueStep = "resend"    // it is sent again with its own key
)

// Role says why an attempt was made.
type Role string

const (
	RolePrimary  Role = "primary"
	RoleRetry    Role = "retry"
	RoleFallback Role = "fallback"
	RoleManual   Role = "manual"
)

// Ref names an attempt.
type Ref struct {
	Owner  string `json:"owner"`
	JobID  string `json:"job_id"`
	Number int    `json:"number"`
}

// Attempt is one try to fulfil a job at one target.
type Attempt struct {
	Ref
	ID              string
	IdempotencyKey  string
	Fingerprint     string // of the explicit request that made it, "" for automatic ones
	Role            Role
	Target          providers.Target
	State           State
	Reason          string // why it is in doubt or failed; a stable word
	Detail          string // one line for people
	Sends           int
	JobVersion      int64  // the job's version when the attempt was created
	CertificationID string // "" at the intended target
	ServedModel     string
	SystemPrint     string // the provider's system_fingerprint
	Usage           *providers.Usage
	Latency         time.Duration // 0 = nothing was heard
	Heard           bool          // whether its connection is still open somewhere
	Retryable       bool          // whether its target may be tried again
	RetryAt         time.Time     // no sooner than
	NotBefore       time.Time     // when its turn may come; zero = at once
	StartBy         time.Time     // when waiting is given up; zero = it did not wait
	Settling                      // how its doubt may end by asking
	Reference       string        // the provider's own id of what it works on; "" = not known
	UnknownAt       time.Time     // when it fell into doubt, last
	Due             Due           // the next automatic step about it
	Asked           int           // how often its provider was asked in vain
	Finding         string        // what its provider said last when it was asked
	BootID          string        // the incarnation that runs it
	LeaseUntil      time.Time
	CreatedAt       time.Time
	StartedAt       time.Time
	FinishedAt      time.Time
}

// EventRecord is one entry of a job's append-only history.
type EventRecord struct {
	Seq     int64
	Type    string
	Attempt int    // 0 = the job itself
	Detail  string // JSON text
	At      time.Time
}

// Types of events in a job's history.
const (
	HistoryJobCreated     = "job_created"
	HistoryJobCancelled   = "job_cancelled"
	HistoryJobSucceeded   = "job_succeeded"
	HistoryJobFailed      = "job_failed"
	HistoryAttemptCreated = "attempt_created"
	HistoryAttemptMoved   = "attempt_moved" // detail: from, to, reason
	HistoryRace           = "race"          // who won, who lost, by how long, what the loser cost
	HistoryLateAnswer     = "late_answer"   // an answer reached a failed or cancelled attempt
	HistoryUnheard        = "unheard"       // the connection is gone, the doubt stays
	HistoryAsked          = "asked"         // the provider was asked what became of the attempt, and the doubt stays
)
