package failover

import (
	"slices"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// The pauses between the questions to a provider about one attempt in doubt.
const (
	FirstAsk    = time.Second // from the moment of doubt
	MaxAskPause = time.Minute
)

// AskPause is the pause after a provider was asked in vain for the n-th time (from 1): it doubles up to
// [MaxAskPause], and between half and all of it is taken, by the attempt's id.
func AskPause(n int, attemptID string) time.Duration {
	return spread(doubled(FirstAsk, n, MaxAskPause), attemptID)
}

// Doubt is the Doubt of a store.Decision: it plans the next automatic step about an attempt that is unknown
// or released, and the zero Due where there is none. What the view's other attempts have cost counts
// against the cap of what may be sent; what it says about this one is its past.
//
// Of the steps that are open to the attempt, the earliest comes next:
//   - reconcile, where its provider can be asked: soon, then with growing pauses, and at the horizon, from
//     which on absence counts. It goes on past the job's deadline: asking costs nothing;
//   - release, where the plan says so, for an attempt that was not released yet;
//   - resend, where the plan says so, for an attempt that is neither released nor heard any more, that
//     carried a key of its own, within the job's cap and deadline.
//
// The moment follows from what is stored, not from view.Now: a repeated decision plans the same, also
// where the moment has passed. So whoever asked a provider in vain keeps [AskPause] as the least pause
// (store.Postpone.In), lest a replica that was away makes up for every question it missed.
func Doubt(view store.View, attempt job.Attempt) job.Due {
	if attempt.State != job.Unknown && attempt.State != job.Released {
		return job.Due{}
	}
	due := earlier(reconcile(attempt), release(view.Job.Plan, attempt))
	return earlier(due, resend(view, attempt))
}

// earlier is a where both are due at the same moment.
func earlier(a, b job.Due) job.Due {
	if a.Step == job.DueNone || b.Step != job.DueNone && b.At.Before(a.At) {
		return b
	}
	return a
}

func reconcile(attempt job.Attempt) job.Due {
	if attempt.Reconcile == providers.ReconcileNone ||
		attempt.Reconcile == providers.ReconcileResponses && attempt.Reference == "" {
		return job.Due{}
	}
	return job.Due{Step: job.DueReconcile, At: askAt(attempt)}
}

// askAt is when the provider is asked next: question Asked (from 0) of a schedule that the horizon, where
// it lies beyond the first question, belongs to.
func askAt(attempt job.Attempt) time.Time {
	horizon := attempt.StartedAt.Add(attempt.Horizon)
	planned := regular(attempt, attempt.Asked)
	if !planned.After(horizon) || !horizon.After(regular(attempt, 0)) {
		return planned
	}
	return later(horizon, regular(attempt, attempt.Asked-1))
}

// regular is the moment of question n without the horizon.
func regular(attempt job.Attempt, n int) time.Time {
	at := attempt.UnknownAt.Add(FirstAsk)
	for k := 1; k <= n; k++ {
		pause := AskPause(k, attempt.ID)
		if doubled(FirstAsk, k, MaxAskPause) == MaxAskPause { // so are all that follow
			return at.Add(time.Duration(n-k+1) * pause)
		}
		at = at.Add(pause)
	}
	return at
}

func release(plan job.Plan, attempt job.Attempt) job.Due {
	if plan.OnUnknown != job.OnUnknownRelease || plan.ReleaseAfter <= 0 || attempt.State != job.Unknown {
		return job.Due{}
	}
	return job.Due{Step: job.DueRelease, At: attempt.UnknownAt.Add(plan.ReleaseAfter)}
}

func resend(view store.View, attempt job.Attempt) job.Due {
	plan := view.Job.Plan
	if plan.OnUnknown != job.OnUnknownResend || attempt.State != job.Unknown || attempt.Heard || attempt.IdempotencyHeader == "" {
		return job.Due{}
	}
	others := slices.DeleteFunc(slices.Clone(view.Attempts), func(other job.Attempt) bool { return other.ID == attempt.ID })
	spent := Spent(append(others, attempt))
	at := later(attempt.UnknownAt.Add(BackOff(max(0, attempt.Sends-1), attempt.ID)), attempt.RetryAt)
	if spent >= plan.MaxAttempts || Remaining(view.Job, at) <= 0 {
		return job.Due{}
	}
	return job.Due{Step: job.DueResend, At: at}
}
