package api

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

func TestEveryErrorHasItsProblem(t *testing.T) {
	attempt := job.Attempt{
		Ref: job.Ref{JobID: "j", Number: 2}, ID: "a", State: job.Unknown,
		Target: providers.Target{Provider: "p", Model: "m"},
	}
	running := attempt
	running.State = job.Running
	starting := attempt
	starting.State = job.Starting
	for name, row := range map[string]struct {
		err    error
		kind   Kind
		status int
		extra  map[string]any
	}{
		"a problem of a handler":  {newProblem(KeyMissing, "x"), KeyMissing, 400, nil},
		"body":                    {&value.DecodeError{Kind: value.KindDuplicateKey, Pointer: "/a", Offset: 7}, MalformedBody, 400, map[string]any{"pointer": "/a", "offset": int64(7), "fault": "duplicate_key"}},
		"unknown contract":        {&dispatch.UnknownContract{}, UnknownContract, 422, nil},
		"unknown target":          {&dispatch.UnknownTarget{}, UnknownTarget, 422, nil},
		"invalid input":           {&dispatch.InvalidInput{Pointers: []string{"/document"}}, InvalidInput, 422, map[string]any{"pointers": []string{"/document"}}},
		"invalid input, no place": {&dispatch.InvalidInput{}, InvalidInput, 422, map[string]any{"pointers": []string{}}},
		"key conflict":            {&store.KeyConflict{Pointers: []string{"/input/n"}}, KeyConflict, 409, map[string]any{"pointers": []string{"/input/n"}}},
		"in flight":               {&store.Blocked{By: running}, AttemptInFlight, 409, map[string]any{"blocking": viewAttempt(running)}},
		"waiting":                 {&store.Blocked{By: starting}, AttemptInFlight, 409, map[string]any{"blocking": viewAttempt(starting)}},
		"in doubt":                {&store.Blocked{By: attempt}, AttemptInDoubt, 409, map[string]any{"blocking": viewAttempt(attempt)}},
		"not certified": {
			&store.NotCertified{Refusal: job.TargetRefusal{Target: attempt.Target, Reasons: []string{"expired"}}},
			FallbackNotCertified, 409, map[string]any{"target": "p/m", "reasons": []string{"expired"}},
		},
		"illegal transition": {
			&store.IllegalTransition{Attempt: attempt, Event: job.EventTurn},
			IllegalTransition, 409, map[string]any{"state": "unknown", "attempt": viewAttempt(attempt)},
		},
		"job final":     {store.ErrJobFinal, JobFinal, 409, nil},
		"exhausted":     {store.ErrAttemptsExhausted, AttemptsExhausted, 409, nil},
		"purged":        {store.ErrPurged, JobPurged, 410, nil},
		"purged's key":  {&store.KeyConflict{Purged: true}, KeyConflict, 409, nil},
		"not found":     {store.ErrNotFound, NotFound, 404, nil},
		"lost store":    {fmt.Errorf("%w: conn closed", store.ErrUnavailable), StoreUnavailable, 503, nil},
		"shutting down": {dispatch.ErrShuttingDown, ShuttingDown, 503, nil},
		"too slow":      {context.DeadlineExceeded, StoreUnavailable, 503, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := known(fmt.Errorf("wrapped: %w", row.err))
			g.Expect(p).NotTo(gomega.BeNil())
			g.Expect(p.Kind).To(gomega.Equal(row.kind))
			g.Expect(entryOf[p.Kind].Status).To(gomega.Equal(row.status))
			g.Expect(p.Extra).To(gomega.Equal(row.extra))
			g.Expect(p.RetryAfter > 0).To(gomega.Equal(row.status == 503), "Retry-After where waiting helps, and only there")
		})
	}
}

func TestAnUnlistedErrorAsksWhetherTheStoreIsThere(t *testing.T) {
	g := gomega.NewWithT(t)
	there := func(context.Context) error { return nil }
	away := func(context.Context) error { return errors.New("connection refused") }

	p := translate(t.Context(), errors.New("secret of a driver"), there)
	g.Expect(p.Kind).To(gomega.Equal(InternalError))
	g.Expect(p.Detail).NotTo(gomega.ContainSubstring("secret"))

	p = translate(t.Context(), errors.New("secret of a driver"), away)
	g.Expect(p.Kind).To(gomega.Equal(StoreUnavailable))
	g.Expect(p.RetryAfter).To(gomega.Equal(time.Second))
	g.Expect(p.Detail).NotTo(gomega.ContainSubstring("secret"))
}

func TestEveryProblemIsExplained(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(entryOf).To(gomega.HaveLen(len(entries)), "each kind stands in the list once")
	for _, e := range entries {
		g.Expect(e.Title).NotTo(gomega.BeEmpty(), string(e.Kind))
		g.Expect(e.Do).NotTo(gomega.BeEmpty(), string(e.Kind))
		g.Expect(e.Status).To(gomega.BeNumerically(">=", 400), string(e.Kind))
	}
}

func TestTheClientsOwnEndSaysNothingAboutTheStore(t *testing.T) {
	g := gomega.NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	asked := false
	ping := func(context.Context) error { asked = true; return nil }
	_, err := within(ctx, time.Hour, func(ctx context.Context) (int, error) { return 0, ctx.Err() })
	g.Expect(translate(ctx, err, ping).Kind).To(gomega.Equal(InternalError))
	g.Expect(asked).To(gomega.BeFalse())

	_, err = within(t.Context(), 0, func(ctx context.Context) (int, error) { return 0, ctx.Err() })
	g.Expect(translate(t.Context(), err, ping).Kind).To(gomega.Equal(StoreUnavailable))
	g.Expect(New(Options{}).store.limit).To(gomega.Equal(5 * time.Second))
}
