package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// defaultStoreTimeout bounds each call to the store that the API makes by itself.
const defaultStoreTimeout = 5 * time.Second

// errStoreSilent says that the store did not answer in time. It is told by whose deadline has passed, not
// by the error that came of it: drivers name an interrupted call in words of their own.
var errStoreSilent = errors.New("the store did not answer in time")

// bounded is a store that answers within limit or fails with errStoreSilent: a database that hangs
// accepts connections and says nothing, and no client shall hang with it.
type bounded struct {
	Store
	limit time.Duration
}

// within makes one call. Where the caller's own context has ended first, the error is as the call says.
func within[T any](ctx context.Context, limit time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStoreSilent)
	defer cancel()
	found, err := call(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errStoreSilent) {
		err = fmt.Errorf("%w: %w", errStoreSilent, err)
	}
	return found, err
}

// listing is a page as one value.
type listing[T any] struct {
	items []T
	next  string
}

func (b bounded) KeyByHash(ctx context.Context, hash string) (store.APIKey, error) {
	return within(ctx, b.limit, func(ctx context.Context) (store.APIKey, error) { return b.Store.KeyByHash(ctx, hash) })
}

func (b bounded) Job(ctx context.Context, owner, jobID string) (job.Job, error) {
	return within(ctx, b.limit, func(ctx context.Context) (job.Job, error) { return b.Store.Job(ctx, owner, jobID) })
}

func (b bounded) ListJobs(ctx context.Context, filter store.JobFilter) ([]job.Job, string, error) {
	page, err := within(ctx, b.limit, func(ctx context.Context) (page listing[job.Job], err error) {
		page.items, page.next, err = b.Store.ListJobs(ctx, filter)
		return page, err
	})
	return page.items, page.next, err
}

func (b bounded) Doubts(ctx context.Context, owner string) (store.Doubts, error) {
	return within(ctx, b.limit, func(ctx context.Context) (store.Doubts, error) { return b.Store.Doubts(ctx, owner) })
}

func (b bounded) Attempt(ctx context.Context, ref job.Ref) (job.Attempt, error) {
	return within(ctx, b.limit, func(ctx context.Context) (job.Attempt, error) { return b.Store.Attempt(ctx, ref) })
}

func (b bounded) Attempts(ctx context.Context, owner, jobID string) ([]job.Attempt, error) {
	return within(ctx, b.limit, func(ctx context.Context) ([]job.Attempt, error) { return b.Store.Attempts(ctx, owner, jobID) })
}

func (b bounded) Events(ctx context.Context, owner, jobID string, after int64) (store.History, error) {
	return within(ctx, b.limit, func(ctx context.Context) (store.History, error) { return b.Store.Events(ctx, owner, jobID, after) })
}

func (b bounded) Record(ctx context.Context, id string) (store.StoredRecord, error) {
	return within(ctx, b.limit, func(ctx context.Context) (store.StoredRecord, error) { return b.Store.Record(ctx, id) })
}

func (b bounded) Evidence(ctx context.Context, id string) (evidence.Packed, error) {
	return within(ctx, b.limit, func(ctx context.Context) (evidence.Packed, error) { return b.Store.Evidence(ctx, id) })
}

func (b bounded) Records(ctx context.Context, filter store.RecordFilter) ([]store.StoredRecord, string, error) {
	page, err := within(ctx, b.limit, func(ctx context.Context) (page listing[store.StoredRecord], err error) {
		page.items, page.next, err = b.Store.Records(ctx, filter)
		return page, err
	})
	return page.items, page.next, err
}

func (b bounded) Revoke(ctx context.Context, id, reason, by string) (store.StoredRecord, error) {
	return within(ctx, b.limit, func(ctx context.Context) (store.StoredRecord, error) { return b.Store.Revoke(ctx, id, reason, by) })
}
