package store

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/providers"
)

// Certifications keeps runs, samples, records and proofs.
type Certifications interface {
	// OpenRun inserts the run or finds the one that (name, proof digest, target) already names.
	OpenRun(ctx context.Context, run Run) (Run, error)
	// StepSamples claims and finishes samples, all in one transaction, and says of each step whether it was
	// taken. A claim is not where another runner holds an unexpired one or the sample is done; a finish is not
	// where the sample had been finished before, by whomever. No sample may be among the steps twice.
	StepSamples(ctx context.Context, steps []SampleStep) (taken []bool, err error)
	// Samples are the finished samples of a run in order of case and index, at most limit of those that come
	// after a place; [FirstPlace] comes before all.
	Samples(ctx context.Context, runID string, after Place, limit int) ([]Sample, error)
	// FinishRun appends the record and moves the proof, once per run: won is false where the run had
	// its record already, which is then returned. Record's IssuedAt is set from the database's clock; ExpiresAt is
	// validFor after the run began, so that no answer is older than that while the record counts. An inconclusive
	// record never displaces a judged one, nor does one that is not live a live one. A record that
	// displaces another ends its suspension or revocation, unless its run had begun before that: then it ends nothing.
	FinishRun(ctx context.Context, runID string, record certification.Record, validFor time.Duration) (stored certification.Record, won bool, err error)
	// FinishRunWithEvidence is FinishRun of a run whose evidence is kept beside the record, in the same
	// transaction; the record that is stored names it. Whoever does not win stores neither.
	FinishRunWithEvidence(ctx context.Context, runID string, record certification.Record, kept evidence.Packed, validFor time.Duration) (stored certification.Record, won bool, err error)

	Record(ctx context.Context, id string) (StoredRecord, error)
	// Evidence is what is kept beside a record. ErrNotFound where there is none, or no such record.
	Evidence(ctx context.Context, id string) (evidence.Packed, error)
	// Records are newest first.
	Records(ctx context.Context, filter RecordFilter) (items []StoredRecord, next string, err error)
	// Revoke withdraws the proof that a record gives. Repeating it changes nothing. ErrNotFound.
	Revoke(ctx context.Context, id, reason, by string) (StoredRecord, error)
	// Standings reads what is known about each key, in the order asked.
	Standings(ctx context.Context, keys []certification.Key) ([]certification.Standing, error)
	// TendProofs notes, once for each record, that a certified proof of one of the keys expires soon or has
	// expired, asks for its re-certification, and forgets outcomes that no window reaches any more. It
	// returns the events that it was the one to note.
	TendProofs(ctx context.Context, keys []certification.Key, by string) ([]certification.Event, error)
	// Requests are the open requests for a re-certification of the keys, oldest first. A contract or profile that was
	// edited since is asked for as the key has it, until that was judged by a run that began after the request.
	Requests(ctx context.Context, keys []certification.Key) ([]Request, error)
}

// Request is an open request for a re-certification. Only a judged record of the same proof that counts closes it.
type Request struct {
	CertificationID string // of the record that is to be renewed
	Contract        string
	Target          providers.Target
	ProofDigest     string // of the proof that called for it
	Cause           string // the type of event that called for it
	RequestedAt     time.Time
}

// Run is one certification run of a contract against a target.
type Run struct {
	ID          string
	Name        string
	Contract    string
	ProofDigest string
	Target      providers.Target
	RecordID    string // "" = not finished
	StartedAt   time.Time
}

// Place is where a sample stands in its run.
type Place struct {
	Case  string
	Index int
}

// FirstPlace is before every sample.
var FirstPlace = Place{Index: -1}

// SampleStep claims one sample of a run, or finishes it.
type SampleStep struct {
	RunID string
	Place
	By       string        // the runner's own id, fresh for every process
	Lease    time.Duration // of a claim: after which another runner may take it over
	Evidence string        // finishes the sample; "" = the step is a claim
}

// Sample is the evidence of one call. Evidence is JSON text of the harness's own making.
type Sample struct {
	RunID string
	Place
	By         string
	Evidence   string
	FinishedAt time.Time
}

// StoredRecord is a record with what happened to it since.
type StoredRecord struct {
	certification.Record
	RevokedAt     time.Time // zero = not revoked
	RevokedReason string
	RevokedBy     string
	Events        []certification.Event // oldest first
}

// RecordFilter selects a page of records.
type RecordFilter struct {
	Contract string
	Target   *providers.Target
	Limit    int
	Cursor   string
}
