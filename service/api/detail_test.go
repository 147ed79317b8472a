package api

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
)

// sentAttempt was sent once; used says what its provider counted, 0 = nothing was heard of that.
func sentAttempt(number int, state job.State, used int) job.Attempt {
	a := job.Attempt{
		Ref: job.Ref{Owner: "acme", JobID: "job-1", Number: number}, Role: job.RolePrimary, State: state, Sends: 1,
		Target: providers.Target{Provider: "alpha", Model: "large"},
	}
	if used > 0 {
		a.Usage = &providers.Usage{PromptTokens: used - 1, CompletionTokens: 1, TotalTokens: used}
	}
	return a
}

func resent(a job.Attempt) job.Attempt {
	a.Sends++
	return a
}

// What a job cost covers its losers, and is never 0 only because nothing was heard.
func TestUsageIsWhatIsKnown(t *testing.T) {
	unsent := sentAttempt(1, job.Failed, 0)
	unsent.Sends = 0
	for name, row := range map[string]struct {
		attempts []job.Attempt
		want     string
	}{
		"no attempt":            {nil, `null`},
		"nothing was sent":      {[]job.Attempt{unsent}, `null`},
		"all of it is known":    {[]job.Attempt{sentAttempt(1, job.Succeeded, 5)}, `{"prompt_tokens":4,"completion_tokens":1,"total_tokens":5,"at_least":false}`},
		"in doubt":              {[]job.Attempt{sentAttempt(1, job.Unknown, 0)}, `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"at_least":true}`},
		"a failure that is mum": {[]job.Attempt{sentAttempt(1, job.Failed, 0)}, `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"at_least":true}`},
		"the loser counts": {
			[]job.Attempt{sentAttempt(1, job.Superseded, 7), sentAttempt(2, job.Succeeded, 5)},
			`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"at_least":false}`,
		},
		"a loser that was not heard": {
			[]job.Attempt{sentAttempt(1, job.Superseded, 0), sentAttempt(2, job.Succeeded, 5)},
			`{"prompt_tokens":4,"completion_tokens":1,"total_tokens":5,"at_least":true}`,
		},
		"what was not sent takes nothing away": {
			[]job.Attempt{unsent, sentAttempt(2, job.Succeeded, 5)},
			`{"prompt_tokens":4,"completion_tokens":1,"total_tokens":5,"at_least":false}`,
		},
		"of two sends one was heard": {
			[]job.Attempt{resent(sentAttempt(1, job.Succeeded, 5))},
			`{"prompt_tokens":4,"completion_tokens":1,"total_tokens":5,"at_least":true}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			text, err := json.Marshal(viewDetail(job.Job{State: job.JobRunning}, row.attempts).Usage)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(text).To(gomega.MatchJSON(row.want))
		})
	}
}

// A job in doubt says what stands in its way, what would end that, and what comes by itself.
func TestDoubtSaysWhatEndsIt(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	doubtful := func(state job.State, heard bool, step job.DueStep) job.Attempt {
		a := sentAttempt(1, state, 0)
		a.Reason, a.UnknownAt, a.Heard = "timeout", at, heard
		if step != job.DueNone {
			a.Due = job.Due{Step: step, At: at.Add(time.Minute)}
		}
		return a
	}
	next := func(step job.DueStep) *nextStepView {
		due := at.Add(time.Minute)
		return &nextStepView{Step: step, DueAt: &due}
	}
	none := (*doubtView)(nil)
	for name, row := range map[string]struct {
		state    job.JobState
		attempts []job.Attempt
		want     *doubtView
	}{
		"nothing by itself": {job.JobUnknown, []job.Attempt{doubtful(job.Unknown, false, job.DueNone)},
			&doubtView{Attempt: 1, State: job.Unknown, Blocks: true, EndsBy: []string{"resolve", "release", "cancel"}}},
		"its answer may come": {job.JobUnknown, []job.Attempt{doubtful(job.Unknown, true, job.DueNone)},
			&doubtView{Attempt: 1, State: job.Unknown, Blocks: true, Heard: true, EndsBy: []string{"answer", "resolve", "release", "cancel"}}},
		"its provider is asked": {job.JobUnknown, []job.Attempt{doubtful(job.Unknown, false, job.DueReconcile)},
			&doubtView{Attempt: 1, State: job.Unknown, Blocks: true, EndsBy: []string{"reconcile", "resolve", "release", "cancel"}, NextStep: next(job.DueReconcile)}},
		"it is sent again": {job.JobUnknown, []job.Attempt{doubtful(job.Unknown, false, job.DueResend)},
			&doubtView{Attempt: 1, State: job.Unknown, Blocks: true, EndsBy: []string{"resend", "resolve", "release", "cancel"}, NextStep: next(job.DueResend)}},
		"its release is due, and named once": {job.JobUnknown, []job.Attempt{doubtful(job.Unknown, true, job.DueRelease)},
			&doubtView{Attempt: 1, State: job.Unknown, Blocks: true, Heard: true, EndsBy: []string{"answer", "resolve", "release", "cancel"}, NextStep: next(job.DueRelease)}},
		"released, it blocks nothing": {job.JobUnknown, []job.Attempt{doubtful(job.Released, true, job.DueNone)},
			&doubtView{Attempt: 1, State: job.Released, Heard: true, EndsBy: []string{"answer", "resolve", "cancel"}}},
		"what blocks comes before what was released": {
			job.JobUnknown, []job.Attempt{doubtful(job.Released, true, job.DueNone), second(doubtful(job.Unknown, false, job.DueNone))},
			&doubtView{Attempt: 2, State: job.Unknown, Blocks: true, EndsBy: []string{"resolve", "release", "cancel"}},
		},
		"a released one of a final job is of no account": {
			job.JobSucceeded, []job.Attempt{doubtful(job.Released, true, job.DueNone), second(sentAttempt(1, job.Succeeded, 5))}, none,
		},
		"nor is one that has ended": {job.JobFailed, []job.Attempt{sentAttempt(1, job.Failed, 0)}, none},
		"nor one that runs":         {job.JobRunning, []job.Attempt{sentAttempt(1, job.Running, 0)}, none},
	} {
		t.Run(name, func(t *testing.T) {
			if row.want != nil {
				row.want.Target, row.want.Reason, row.want.Since = "alpha/large", "timeout", &at
			}
			gomega.NewWithT(t).Expect(viewDetail(job.Job{State: row.state}, row.attempts).Doubt).To(gomega.Equal(row.want))
		})
	}
}

func second(a job.Attempt) job.Attempt {
	a.Number = 2
	return a
}

// A job that waits says for which attempt, not before when, and when waiting is given up.
func TestAWaitingJobSaysNotBeforeWhen(t *testing.T) {
	g := gomega.NewWithT(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	end := at.Add(time.Minute)
	waiting := second(sentAttempt(2, job.Starting, 0))
	waiting.Sends, waiting.NotBefore, waiting.StartBy, waiting.CreatedAt = 0, at, end, at.Add(-time.Second)
	detail := viewDetail(job.Job{State: job.JobRunning}, []job.Attempt{sentAttempt(1, job.Failed, 0), waiting})
	g.Expect(detail.Doubt).To(gomega.BeNil())
	g.Expect(detail.Waiting).To(gomega.Equal(&waitingView{Attempt: 2, Target: "alpha/large", NotBefore: &at, GivenUpFrom: &end}))
	waiting.CreatedAt = at
	g.Expect(viewDetail(job.Job{State: job.JobRunning}, []job.Attempt{waiting}).Waiting.NotBefore).To(gomega.BeNil(), "it may begin at once")
	g.Expect(viewDetail(job.Job{State: job.JobRunning}, []job.Attempt{sentAttempt(1, job.Running, 0)}).Waiting).To(gomega.BeNil())
}
