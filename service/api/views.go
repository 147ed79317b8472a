package api

import (
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// jobView is a job as clients see it. What is absent is null, never left out.
type jobView struct {
	ID             string         `json:"id"`
	Owner          string         `json:"owner"`
	IdempotencyKey string         `json:"idempotency_key"`
	Contract       string         `json:"contract"`
	ContractDigest string         `json:"contract_digest"`
	Input          jsontext.Value `json:"input"`
	Target         string         `json:"target"`
	State          job.JobState   `json:"state"`
	Version        int64          `json:"version"`
	CompletedBy    *int           `json:"completed_by"`
	Result         jsontext.Value `json:"result"`
	Error          *failureView   `json:"error"`
	Metadata       jsontext.Value `json:"metadata"`
	CreatedAt      *time.Time     `json:"created_at"`
	UpdatedAt      *time.Time     `json:"updated_at"`
	CompletedAt    *time.Time     `json:"completed_at"`
	UnknownSince   *time.Time     `json:"unknown_since"`
}

type failureView struct {
	Reason  string              `json:"reason"`
	Detail  *string             `json:"detail"`
	Attempt *int                `json:"attempt"`
	Targets []job.TargetRefusal `json:"targets"`
}

func viewJob(j job.Job) jobView {
	return jobView{
		ID: j.ID, Owner: j.Owner, IdempotencyKey: j.IdempotencyKey, Contract: j.Contract, ContractDigest: j.ContractDigest,
		Input: raw(j.Input), Target: j.Target.String(), State: j.State, Version: j.Version, CompletedBy: orNull(j.CompletedBy),
		Result: raw(j.Result), Error: viewFailure(j.Error), Metadata: raw(j.Metadata),
		CreatedAt: moment(j.CreatedAt), UpdatedAt: moment(j.UpdatedAt), CompletedAt: moment(j.CompletedAt),
		UnknownSince: moment(j.UnknownSince),
	}
}

func viewFailure(f *job.Failure) *failureView {
	if f == nil {
		return nil
	}
	return &failureView{Reason: f.Reason, Detail: orNull(f.Detail), Attempt: orNull(f.Attempt), Targets: f.Targets}
}

// attemptView is an attempt as clients see it.
type attemptView struct {
	ID              string           `json:"id"`
	JobID           string           `json:"job_id"`
	Number          int              `json:"number"`
	Role            job.Role         `json:"role"`
	Target          string           `json:"target"`
	State           job.State        `json:"state"`
	Reason          *string          `json:"reason"`
	Detail          *string          `json:"detail"`
	Sends           int              `json:"sends"`
	JobVersion      int64            `json:"job_version"`
	CertificationID *string          `json:"certification_id"`
	ServedModel     *string          `json:"served_model"`
	Fingerprint     *string          `json:"fingerprint"`
	Usage           *providers.Usage `json:"usage"`
	LatencyMS       *int64           `json:"latency_ms"`
	NotBefore       *time.Time       `json:"not_before"`
	CreatedAt       *time.Time       `json:"created_at"`
	StartedAt       *time.Time       `json:"started_at"`
	FinishedAt      *time.Time       `json:"finished_at"`
}

func viewAttempt(a job.Attempt) attemptView {
	var latency *int64
	if a.Latency > 0 {
		ms := a.Latency.Milliseconds()
		latency = &ms
	}
	return attemptView{
		ID: a.ID, JobID: a.JobID, Number: a.Number, Role: a.Role, Target: a.Target.String(), State: a.State,
		Reason: orNull(a.Reason), Detail: orNull(a.Detail), Sends: a.Sends, JobVersion: a.JobVersion,
		CertificationID: orNull(a.CertificationID), ServedModel: orNull(a.ServedModel), Fingerprint: orNull(a.SystemPrint),
		Usage: a.Usage, LatencyMS: latency, NotBefore: moment(a.NotBefore),
		CreatedAt: moment(a.CreatedAt), StartedAt: moment(a.StartedAt), FinishedAt: moment(a.FinishedAt),
	}
}

type eventView struct {
	Seq     int64          `json:"seq"`
	Type    string         `json:"type"`
	Attempt *int           `json:"attempt"`
	Detail  jsontext.Value `json:"detail"`
	At      *time.Time     `json:"at"`
}

func viewEvent(e job.EventRecord) eventView {
	return eventView{Seq: e.Seq, Type: e.Type, Attempt: orNull(e.Attempt), Detail: raw(e.Detail), At: moment(e.At)}
}

type certificationView struct {
	certification.Record
	RevokedAt     *time.Time `json:"revoked_at"`
	RevokedReason *string    `json:"revoked_reason"`
	RevokedBy     *string    `json:"revoked_by"`

	Events []certification.Event `json:"events"` // oldest first; of attempts the owner's own
}

func viewCertification(owner string, r store.StoredRecord) certificationView {
	return certificationView{
		Events: certification.EventsOf(owner, r.Events),
		Record: r.Record, RevokedAt: moment(r.RevokedAt), RevokedReason: orNull(r.RevokedReason), RevokedBy: orNull(r.RevokedBy),
	}
}

// page is every list.
type page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

func pageOf[F, T any](items []F, next string, view func(F) T) page[T] {
	views := make([]T, len(items))
	for i, item := range items {
		views[i] = view(item)
	}
	return page[T]{Items: views, NextCursor: orNull(next)}
}

// raw is JSON text as it was stored; a nil Value is null.
func raw(text string) jsontext.Value {
	if text == "" {
		return nil
	}
	return jsontext.Value(text)
}

func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// moment is UTC, so that an answer does not depend on where the service runs.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
