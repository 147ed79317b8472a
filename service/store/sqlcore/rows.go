package sqlcore

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
)

const jobColumns = `owner_id, id, idempotency_key, fingerprint, contract, contract_digest, input, sent_target,
	intended_target, metadata, plan, state, version, COALESCE(completed_by, 0), COALESCE(result, ''), COALESCE(error, ''),
	created_at, updated_at, completed_at, unknown_since, purged_at`

func scanJob(rows Rows) (job.Job, error) {
	var (
		j                           job.Job
		target, plan, failure       string
		created, updated, completed stamp
		unknownSince, purged        stamp
	)
	if err := rows.Scan(&j.Owner, &j.ID, &j.IdempotencyKey, &j.Fingerprint, &j.Contract, &j.ContractDigest, &j.Input,
		&j.SentTarget, &target, &j.Metadata, &plan, &j.State, &j.Version, &j.CompletedBy, &j.Result, &failure,
		&created, &updated, &completed, &unknownSince, &purged); err != nil {
		return j, err
	}
	j.CreatedAt, j.UpdatedAt, j.CompletedAt, j.UnknownSince = created.Time, updated.Time, completed.Time, unknownSince.Time
	j.PurgedAt = purged.Time
	if err := decoded(plan, &j.Plan); err != nil {
		return j, fmt.Errorf("plan of job %s: %w", j.ID, err)
	}
	if failure != "" {
		if err := decoded(failure, &j.Error); err != nil {
			return j, fmt.Errorf("error of job %s: %w", j.ID, err)
		}
	}
	return j, j.Target.UnmarshalText([]byte(target))
}

const attemptColumns = `owner_id, job_id, number, id, idempotency_key, fingerprint, role, target, state, reason, detail,
	sends, job_version, COALESCE(certification_id, ''), served_model, system_print, COALESCE(usage, ''), latency_us, heard,
	retryable, retry_at, not_before, start_by, boot_id, lease_until, created_at, started_at, finished_at, sent_to, reconcile,
	horizon_us, idempotency_header, reference, unknown_at, due_step, due_at, asked, finding`

func scanAttempt(rows Rows) (job.Attempt, error) {
	var (
		a                                    job.Attempt
		target, usage                        string
		latency, horizon                     int64
		retryAt, notBefore, startBy          stamp
		leaseUntil, created, start, finished stamp
		unknownAt, dueAt                     stamp
	)
	if err := rows.Scan(&a.Owner, &a.JobID, &a.Number, &a.ID, &a.IdempotencyKey, &a.Fingerprint, &a.Role, &target,
		&a.State, &a.Reason, &a.Detail, &a.Sends, &a.JobVersion, &a.CertificationID, &a.ServedModel, &a.SystemPrint,
		&usage, &latency, &a.Heard, &a.Retryable, &retryAt, &notBefore, &startBy, &a.BootID, &leaseUntil, &created,
		&start, &finished, &a.SentTo, &a.Reconcile, &horizon, &a.IdempotencyHeader, &a.Reference, &unknownAt,
		&a.Due.Step, &dueAt, &a.Asked, &a.Finding); err != nil {
		return a, err
	}
	a.Latency, a.Horizon = time.Duration(latency)*time.Microsecond, time.Duration(horizon)*time.Microsecond
	a.UnknownAt, a.Due.At = unknownAt.Time, dueAt.Time
	a.RetryAt, a.NotBefore, a.StartBy, a.LeaseUntil = retryAt.Time, notBefore.Time, startBy.Time, leaseUntil.Time
	a.CreatedAt, a.StartedAt, a.FinishedAt = created.Time, start.Time, finished.Time
	if usage != "" {
		if err := decoded(usage, &a.Usage); err != nil {
			return a, fmt.Errorf("usage of attempt %s: %w", a.ID, err)
		}
	}
	return a, a.Target.UnmarshalText([]byte(target))
}

func scanEvent(rows Rows) (job.EventRecord, error) {
	var (
		event job.EventRecord
		when  stamp
	)
	err := rows.Scan(&event.Seq, &event.Type, &event.Attempt, &event.Detail, &when)
	event.At = when.Time
	return event, err
}

// encoded is JSON of this program's own values, which always encode.
func encoded(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("sqlcore: %T does not encode: %v", value, err))
	}
	return string(out)
}

// decoded reads back what encoded wrote.
func decoded(text string, into any) error {
	return json.Unmarshal([]byte(text), into) //nolint:forbidigo // not from outside: this package's own writing
}

func encodedUsage(usage *providers.Usage) any {
	if usage == nil {
		return nil
	}
	return encoded(usage)
}

// plain makes a provider's or a person's words storable everywhere: PostgreSQL's text holds no NUL.
func plain(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}
