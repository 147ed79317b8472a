package sqlcore

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// step makes the job's next step, if one may be made, and stores the state that follows. j and its
// attempts are as the transaction has left them so far; j is brought up to date. last is the attempt
// that has just ended or been released, nil for a new job.
func (c *Core) step(ctx context.Context, tx Tx, j *job.Job, attempts []job.Attempt, decision store.Decision, last *job.Attempt, now time.Time) (*job.Attempt, error) {
	var next *job.Attempt
	var failure *job.Failure
	if !j.State.Final() && !blocked(attempts) && decision.Decide != nil {
		made, why, err := c.decide(ctx, tx, *j, attempts, decision, now)
		if err != nil {
			return nil, err
		}
		next, failure = made, why
		if next != nil {
			attempts = append(attempts, *next)
		}
	}
	was := j.State
	j.State = job.Derive(j.CompletedBy != 0, j.State == job.JobCancelled, attempts, false)
	j.UpdatedAt = now
	j.Error = nil
	if j.State == job.JobFailed {
		j.Error = failureOf(failure, last)
	}
	switch {
	case j.State != job.JobUnknown:
		j.UnknownSince = time.Time{}
	case j.UnknownSince.IsZero():
		j.UnknownSince = now
	}
	if _, err := tx.Exec(ctx, "UPDATE jobs SET state = $3, error = $4, updated_at = $5, unknown_since = $6 WHERE owner_id = $1 AND id = $2",
		j.Owner, j.ID, string(j.State), encodedFailure(j.Error), at(now), at(j.UnknownSince)); err != nil {
		return nil, err
	}
	if j.State == job.JobFailed && was != job.JobFailed {
		return next, recordEvent(ctx, tx, *j, job.HistoryJobFailed, 0, map[string]any{"error": j.Error}, now)
	}
	return next, nil
}

func (c *Core) decide(ctx context.Context, tx Tx, j job.Job, attempts []job.Attempt, decision store.Decision, now time.Time) (*job.Attempt, *job.Failure, error) {
	standings, err := c.standings(ctx, tx, decision.Candidates, c.engine.Dialect().ForShare, now)
	if err != nil {
		return nil, nil, err
	}
	step := decision.Decide(store.View{Job: j, Attempts: attempts, Standings: standings, Now: now})
	if step.Attempt == nil {
		return nil, step.Failure, nil
	}
	made, err := c.insertAttempt(ctx, tx, j, len(attempts)+1, *step.Attempt, now)
	return &made, nil, err
}

func blocked(attempts []job.Attempt) bool {
	for _, attempt := range attempts {
		if attempt.State.Blocks() {
			return true
		}
	}
	return false
}

// failureOf is the job's error: what the decision said, else what ended the last attempt.
func failureOf(failure *job.Failure, last *job.Attempt) *job.Failure {
	switch {
	case failure != nil:
		return failure
	case last != nil:
		return &job.Failure{Reason: last.Reason, Detail: last.Detail, Attempt: last.Number}
	default:
		return &job.Failure{Reason: "no_step", Detail: "no attempt could be made"}
	}
}

func encodedFailure(failure *job.Failure) any {
	if failure == nil {
		return nil
	}
	return plain(encoded(failure))
}
