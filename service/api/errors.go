package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// translation makes a problem of an error that it knows, and nil of any other.
type translation func(err error) *problem

// translations is the one table from error to problem. The first that knows the error decides.
var translations = []translation{
	as(func(p *problem) *problem { return p }),

	as(func(e *value.DecodeError) *problem {
		return newProblem(MalformedBody, e.Error()).with("pointer", e.Pointer).with("offset", e.Offset).with("fault", string(e.Kind))
	}),
	as(func(e *dispatch.UnknownContract) *problem { return newProblem(UnknownContract, e.Error()) }),
	as(func(e *dispatch.UnknownTarget) *problem { return newProblem(UnknownTarget, e.Error()) }),
	as(func(e *dispatch.InvalidInput) *problem {
		return newProblem(InvalidInput, e.Detail).with("pointers", list(e.Pointers))
	}),

	as(func(e *store.KeyConflict) *problem {
		if e.Purged {
			return newProblem(KeyConflict, "nothing was created; the key's job was purged, so that nothing is left to say where the two requests differ")
		}
		return newProblem(KeyConflict, "nothing was created; pointers says where the two requests differ").with("pointers", list(e.Pointers))
	}),
	as(func(e *store.Blocked) *problem { return blocked(e.By) }),
	as(func(e *store.NotCertified) *problem {
		return newProblem(FallbackNotCertified, e.Error()).
			with("target", e.Refusal.Target.String()).with("reasons", list(e.Refusal.Reasons))
	}),
	as(func(e *store.IllegalTransition) *problem {
		return newProblem(IllegalTransition, e.Error()).with("state", string(e.Attempt.State)).with("attempt", viewAttempt(e.Attempt))
	}),
	is(store.ErrJobFinal, JobFinal),
	is(store.ErrAttemptsExhausted, AttemptsExhausted),
	func(err error) *problem { // before ErrNotFound, which it is too
		if !errors.Is(err, store.ErrPurged) {
			return nil
		}
		return newProblem(JobPurged, "the job was closed and its time of retention is over")
	},
	is(store.ErrNotFound, NotFound),

	later(dispatch.ErrShuttingDown, ShuttingDown),
	later(store.ErrUnavailable, StoreUnavailable),
	later(errStoreSilent, StoreUnavailable),
	later(context.DeadlineExceeded, StoreUnavailable), // of the dispatcher, which bounds its calls itself
}

// known is the problem that the table makes of an error; nil for an error that it does not list.
func known(err error) *problem {
	for _, translate := range translations {
		if p := translate(err); p != nil {
			return p
		}
	}
	return nil
}

// translate is known, and for every other error asks the store whether it is there: a driver's errors
// are many, and what its user needs to know is whether waiting helps. What came of the client's own end,
// in ctx, says nothing about the store; nobody reads that answer.
func translate(ctx context.Context, err error, ping func(context.Context) error) *problem {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, errStoreSilent) {
		return newProblem(InternalError, "the client left before the answer")
	}
	if p := known(err); p != nil {
		return p
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	if ping(ctx) != nil {
		return unavailable(StoreUnavailable)
	}
	return newProblem(InternalError, "")
}

func as[E error](explain func(E) *problem) translation {
	return func(err error) *problem {
		var found E
		if errors.As(err, &found) {
			return explain(found)
		}
		return nil
	}
}

func is(target error, kind Kind) translation {
	return func(err error) *problem {
		if errors.Is(err, target) {
			return newProblem(kind, target.Error())
		}
		return nil
	}
}

// later is an is for what waiting helps against.
func later(target error, kind Kind) translation {
	return func(err error) *problem {
		if !errors.Is(err, target) {
			return nil
		}
		return unavailable(kind)
	}
}

// unavailable is a ShuttingDown or a StoreUnavailable, with the time after which to come again.
func unavailable(kind Kind) *problem {
	p := newProblem(kind, "the database did not answer")
	p.RetryAfter = defaultRetryAfter
	if kind == ShuttingDown {
		p.Detail, p.RetryAfter = "this replica takes nothing in any more", shutdownRetryAfter
	}
	return p
}

// blocked tells an attempt under way, which only needs patience, from one in doubt, which needs somebody.
func blocked(by job.Attempt) *problem {
	kind := AttemptInFlight
	if by.State == job.Unknown {
		kind = AttemptInDoubt
	}
	return newProblem(kind, fmt.Sprintf("attempt %d is %s", by.Number, by.State)).with("blocking", viewAttempt(by))
}

// list keeps an empty list apart from null.
func list(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}
