package failover

import (
	"fmt"
	"slices"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// failure says why a job ends: its last attempt's reason, and for each other target why it was not
// tried or not again. otherwise is the reason at targets that would have been eligible.
func failure(view store.View, candidates []candidate, otherwise string) *job.Failure {
	last := latest(view.Attempts)
	result := &job.Failure{Reason: NoEligibleTarget, Detail: "no target of the route may be tried"}
	switch {
	case last != nil:
		result.Reason, result.Detail, result.Attempt = last.Reason, last.Detail, last.Number
		if result.Reason == "" {
			result.Reason = string(last.State)
		}
	case slices.ContainsFunc(candidates, candidate.tooSmall):
		result.Reason = string(certification.ContextTooSmall)
		result.Detail = "prompt and answer do not fit the window of any target that may be tried"
	}
	for _, c := range candidates {
		if last == nil || c.target != last.Target {
			result.Targets = append(result.Targets, job.TargetRefusal{Target: c.target, Reasons: c.whyNot(otherwise)})
		}
	}
	return result
}

// late is the failure of a job that its deadline ends, since even the next target could be tried only
// later. What became of its last attempt is in the detail.
func late(view store.View, f *job.Failure, next *candidate) *job.Failure {
	detail := fmt.Sprintf("nothing more could begin within %s of the job's creation", view.Job.Plan.Deadline)
	if next.soonest.After(view.Now) {
		detail += fmt.Sprintf(": %s not before %s", next.target, next.soonest.UTC().Format(time.RFC3339))
	}
	if f.Attempt != 0 {
		detail += fmt.Sprintf("; attempt %d: %s", f.Attempt, f.Reason)
	}
	if f.Attempt != 0 && f.Detail != "" {
		detail += ", " + f.Detail
	}
	f.Reason, f.Detail = DeadlineExceeded, detail
	return f
}

func latest(attempts []job.Attempt) *job.Attempt {
	var last *job.Attempt
	for i := range attempts {
		if last == nil || attempts[i].Number > last.Number {
			last = &attempts[i]
		}
	}
	return last
}
