package api

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
)

// jobDetail is one job with what its attempts make of it.
type jobDetail struct {
	jobView
	Doubt   *doubtView   `json:"doubt"`   // what is in doubt, and what would end it
	Waiting *waitingView `json:"waiting"` // the attempt that waits for its turn
	Usage   *usageView   `json:"usage"`   // of all attempts, the losers' too
}

// doubtView says of a job in doubt what stands in its way.
type doubtView struct {
	Attempt  int           `json:"attempt"`
	Target   string        `json:"target"`
	State    job.State     `json:"state"`
	Reason   string        `json:"reason"`
	Detail   *string       `json:"detail"`
	Since    *time.Time    `json:"since"`
	Blocks   bool          `json:"blocks"` // new attempts of the job
	Heard    bool          `json:"heard"`  // an answer may still come by the attempt's own connection
	EndsBy   []string      `json:"ends_by"`
	NextStep *nextStepView `json:"next_step"`
	Asked    int           `json:"asked"`   // how often the provider was asked in vain
	Finding  *string       `json:"finding"` // what it said last
}

type nextStepView struct {
	Step  job.DueStep `json:"step"`
	DueAt *time.Time  `json:"due_at"`
}

type waitingView struct {
	Attempt     int        `json:"attempt"`
	Target      string     `json:"target"`
	NotBefore   *time.Time `json:"not_before"`
	GivenUpFrom *time.Time `json:"given_up_from"`
}

// usageView is a sum. What an attempt cost of which nothing was heard is not known: the sum is then a least
// one, and never 0 for want of figures.
type usageView struct {
	providers.Usage
	AtLeast bool `json:"at_least"`
}

// What may end a doubt, in the words of the API; reconcile, release and resend are also automatic steps.
const (
	endsByAnswer  = "answer"
	endsByResolve = "resolve"
	endsByRelease = "release"
	endsByCancel  = "cancel"
)

// detail reads a job's attempts. Where they cannot be read, the job itself is still worth an answer.
func (s *Server) detail(ctx context.Context, j job.Job) (jobDetail, error) {
	attempts, err := s.store.Attempts(ctx, j.Owner, j.ID)
	if err != nil {
		return jobDetail{}, err
	}
	return viewDetail(j, attempts), nil
}

func viewDetail(j job.Job, attempts []job.Attempt) jobDetail {
	detail := jobDetail{jobView: viewJob(j), Usage: sumUsage(attempts)}
	for _, attempt := range attempts {
		switch {
		case attempt.State == job.Starting:
			detail.Waiting = &waitingView{
				Attempt: attempt.Number, Target: attempt.Target.String(), GivenUpFrom: moment(attempt.StartBy),
			}
			if attempt.NotBefore.After(attempt.CreatedAt) { // else it waits for nothing but a slot
				detail.Waiting.NotBefore = moment(attempt.NotBefore)
			}
		case attempt.State == job.Unknown, attempt.State == job.Released && detail.Doubt == nil && !j.State.Final():
			detail.Doubt = viewDoubt(attempt)
		}
	}
	return detail
}

func viewDoubt(a job.Attempt) *doubtView {
	view := &doubtView{
		Attempt: a.Number, Target: a.Target.String(), State: a.State, Reason: a.Reason, Detail: orNull(a.Detail), Since: moment(a.UnknownAt),
		Blocks: a.State.Blocks(), Heard: a.Heard, Asked: a.Asked, Finding: orNull(a.Finding), EndsBy: []string{},
	}
	if a.Heard {
		view.EndsBy = append(view.EndsBy, endsByAnswer)
	}
	if a.Due.Step != job.DueNone {
		view.NextStep = &nextStepView{Step: a.Due.Step, DueAt: moment(a.Due.At)}
		if a.Due.Step != job.DueRelease {
			view.EndsBy = append(view.EndsBy, string(a.Due.Step))
		}
	}
	view.EndsBy = append(view.EndsBy, endsByResolve)
	if a.State == job.Unknown {
		view.EndsBy = append(view.EndsBy, endsByRelease)
	}
	view.EndsBy = append(view.EndsBy, endsByCancel)
	return view
}

// sumUsage is null where nothing was sent.
func sumUsage(attempts []job.Attempt) *usageView {
	var sum usageView
	sent := false
	for _, attempt := range attempts {
		sent = sent || attempt.Sends > 0
		if attempt.Usage == nil {
			sum.AtLeast = sum.AtLeast || attempt.Sends > 0
			continue
		}
		sum.AtLeast = sum.AtLeast || attempt.Sends > 1
		sum.PromptTokens += attempt.Usage.PromptTokens
		sum.CompletionTokens += attempt.Usage.CompletionTokens
		sum.TotalTokens += attempt.Usage.TotalTokens
	}
	if !sent {
		return nil
	}
	return &sum
}

// doubtPage is the queue of jobs in doubt: how long it is, and how old its oldest doubt.
type doubtPage struct {
	page[jobDetail]
	Total       int   `json:"total"`
	OldestAgeMS int64 `json:"oldest_age_ms"`
}

// listDoubts answers with the queue of doubts, oldest first, each with what would end it.
func (s *Server) listDoubts(ctx context.Context, owner string, items []job.Job, next string) (doubtPage, error) {
	doubts, err := s.store.Doubts(ctx, owner)
	if err != nil {
		return doubtPage{}, err
	}
	queue := doubtPage{page: page[jobDetail]{Items: make([]jobDetail, len(items)), NextCursor: orNull(next)}, Total: doubts.Jobs}
	if !doubts.Oldest.IsZero() {
		queue.OldestAgeMS = max(0, doubts.Now.Sub(doubts.Oldest).Milliseconds())
	}
	for i, each := range items {
		if queue.Items[i], err = s.detail(ctx, each); err != nil {
			return doubtPage{}, err
		}
	}
	return queue, nil
}
