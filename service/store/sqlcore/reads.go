package sqlcore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Job reads an owner's job.
func (c *Core) Job(ctx context.Context, owner, jobID string) (job.Job, error) {
	return read(ctx, c, func(tx Tx) (job.Job, error) { return selectJob(ctx, tx, owner, jobID) })
}

func selectJob(ctx context.Context, tx Tx, owner, jobID string) (job.Job, error) {
	return unlessPurged(one(ctx, tx, scanJob, "SELECT "+jobColumns+" FROM jobs WHERE owner_id = $1 AND id = $2", owner, jobID))
}

// JobByKey reads the job that a key names.
func (c *Core) JobByKey(ctx context.Context, owner, key string) (job.Job, error) {
	return read(ctx, c, func(tx Tx) (job.Job, error) { return selectJobByKey(ctx, tx, owner, key) })
}

func selectJobByKey(ctx context.Context, tx Tx, owner, key string) (job.Job, error) {
	return unlessPurged(one(ctx, tx, scanJob, "SELECT "+jobColumns+" FROM jobs WHERE owner_id = $1 AND idempotency_key = $2", owner, key))
}

// lockJob reads the job under its row lock, and the database's clock.
func (c *Core) lockJob(ctx context.Context, tx Tx, owner, jobID string) (job.Job, time.Time, error) {
	found, err := unlessPurged(one(ctx, tx, scanJob, "SELECT "+jobColumns+" FROM jobs WHERE owner_id = $1 AND id = $2"+
		c.engine.Dialect().ForUpdate, owner, jobID))
	if err != nil {
		return found, time.Time{}, err
	}
	now, err := c.now(ctx, tx) // after the lock: the clock of a decision never runs behind what it saw
	return found, now, err
}

const defaultPage = 50

// ListJobs implements store.Jobs. The cursor is the last id of the page before; in the queue of doubts, its place.
func (c *Core) ListJobs(ctx context.Context, filter store.JobFilter) ([]job.Job, string, error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	query, args := "SELECT "+jobColumns+" FROM jobs WHERE owner_id = $1 AND purged_at IS NULL", []any{filter.Owner}
	and := func(condition string, value string) {
		if value != "" {
			args = append(args, value)
			query += " AND " + condition + " $" + strconv.Itoa(len(args))
		}
	}
	and("state =", string(filter.State))
	and("contract =", filter.Contract)
	order, cursor := " ORDER BY id DESC", func(j job.Job) string { return j.ID }
	if filter.State == job.JobUnknown {
		order, cursor = " ORDER BY unknown_since, id", doubtCursor
		if since, id, ok := afterDoubt(filter.Cursor); ok {
			args = append(args, at(since), id)
			query += fmt.Sprintf(" AND (unknown_since, id) > ($%d, $%d)", len(args)-1, len(args))
		}
	} else {
		and("id <", filter.Cursor)
	}
	args = append(args, limit+1)
	query += order + " LIMIT $" + strconv.Itoa(len(args))
	items, err := read(ctx, c, func(tx Tx) ([]job.Job, error) { return collect(ctx, tx, scanJob, query, args...) })
	if err != nil {
		return nil, "", err
	}
	page, next := cut(items, limit, cursor)
	return page, next, nil
}

// doubtCursor names a place in the queue of doubts that stays one when the job there has left it.
func doubtCursor(j job.Job) string {
	return strconv.FormatInt(j.UnknownSince.UnixMicro(), 36) + "." + j.ID
}

func afterDoubt(cursor string) (since time.Time, id string, ok bool) {
	moment, id, ok := strings.Cut(cursor, ".")
	micro, err := strconv.ParseInt(moment, 36, 64)
	return time.UnixMicro(micro), id, ok && err == nil
}

// cut ends a page at limit and names the last item as the cursor of the next one.
func cut[T any](items []T, limit int, id func(T) string) ([]T, string) {
	if len(items) <= limit {
		return items, ""
	}
	return items[:limit], id(items[limit-1])
}

// Attempt reads one attempt.
func (c *Core) Attempt(ctx context.Context, ref job.Ref) (job.Attempt, error) {
	return read(ctx, c, func(tx Tx) (job.Attempt, error) {
		attempt, err := selectAttempt(ctx, tx, ref)
		if errors.Is(err, store.ErrNotFound) {
			_, err = selectJob(ctx, tx, ref.Owner, ref.JobID)
			err = cmp.Or(err, store.ErrNotFound)
		}
		return attempt, err
	})
}

func selectAttempt(ctx context.Context, tx Tx, ref job.Ref) (job.Attempt, error) {
	return one(ctx, tx, scanAttempt, "SELECT "+attemptColumns+
		" FROM attempts WHERE owner_id = $1 AND job_id = $2 AND number = $3", ref.Owner, ref.JobID, ref.Number)
}

// Attempts reads a job's attempts in order; ErrNotFound where the owner has no such job.
func (c *Core) Attempts(ctx context.Context, owner, jobID string) ([]job.Attempt, error) {
	return read(ctx, c, func(tx Tx) ([]job.Attempt, error) {
		if _, err := selectJob(ctx, tx, owner, jobID); err != nil {
			return nil, err
		}
		return selectAttempts(ctx, tx, owner, jobID)
	})
}

func selectAttempts(ctx context.Context, tx Tx, owner, jobID string) ([]job.Attempt, error) {
	return collect(ctx, tx, scanAttempt, "SELECT "+attemptColumns+
		" FROM attempts WHERE owner_id = $1 AND job_id = $2 ORDER BY number", owner, jobID)
}

// Events implements store.Jobs.
func (c *Core) Events(ctx context.Context, owner, jobID string, after int64) (store.History, error) {
	return read(ctx, c, func(tx Tx) (store.History, error) {
		j, err := selectJob(ctx, tx, owner, jobID)
		if err != nil {
			return store.History{}, err
		}
		events, err := collect(ctx, tx, scanEvent, `SELECT seq, type, attempt, detail, at FROM events
			WHERE owner_id = $1 AND job_id = $2 AND seq > $3 ORDER BY seq`, owner, jobID, after)
		if err != nil || !j.State.Final() && j.State != job.JobFailed {
			return store.History{Events: events}, err
		}
		attempts, err := selectAttempts(ctx, tx, owner, jobID)
		return store.History{Events: events, Over: !slices.ContainsFunc(attempts, stirs)}, err
	})
}

// stirs says whether something may still be heard of an attempt, or is to be done about it.
func stirs(attempt job.Attempt) bool {
	return attempt.Heard || !attempt.LeaseUntil.IsZero() || attempt.Due.Step != job.DueNone
}

// ContractContent reads an archived contract folder.
func (c *Core) ContractContent(ctx context.Context, digest string) ([]byte, error) {
	return read(ctx, c, func(tx Tx) ([]byte, error) {
		return one(ctx, tx, func(rows Rows) ([]byte, error) {
			var content string
			err := rows.Scan(&content)
			return []byte(content), err
		}, "SELECT content FROM contract_contents WHERE digest = $1", digest)
	})
}
