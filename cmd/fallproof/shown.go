package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// shownJob and shownAttempt are what people are shown of them.
type shownJob struct {
	ID          string    `json:"id"`
	Contract    string    `json:"contract"`
	Target      string    `json:"target"`
	State       string    `json:"state"`
	CompletedBy *int      `json:"completed_by"`
	CreatedAt   time.Time `json:"created_at"`
	Error       *struct {
		Reason  string  `json:"reason"`
		Detail  *string `json:"detail"`
		Targets []struct {
			Target  string   `json:"target"`
			Reasons []string `json:"reasons"`
		} `json:"targets"`
	} `json:"error"`
	Result jsontext.Value `json:"result"`
	Doubt  *shownDoubt    `json:"doubt"`

	Waiting *struct {
		Attempt     int        `json:"attempt"`
		Target      string     `json:"target"`
		NotBefore   *time.Time `json:"not_before"`
		GivenUpFrom *time.Time `json:"given_up_from"`
	} `json:"waiting"`
	Usage *struct {
		TotalTokens int  `json:"total_tokens"`
		AtLeast     bool `json:"at_least"`
	} `json:"usage"`
}

// shownDoubt is what stands in the way of a job in doubt.
type shownDoubt struct {
	Attempt  int        `json:"attempt"`
	Target   string     `json:"target"`
	State    string     `json:"state"`
	Reason   string     `json:"reason"`
	Detail   *string    `json:"detail"`
	Since    *time.Time `json:"since"`
	Heard    bool       `json:"heard"`
	NextStep *struct {
		Step  string    `json:"step"`
		DueAt time.Time `json:"due_at"`
	} `json:"next_step"`
	Asked   int     `json:"asked"`
	Finding *string `json:"finding"`
}

// shownQueue is the queue of doubts.
type shownQueue struct {
	Items       []jsontext.Value `json:"items"`
	Total       int              `json:"total"`
	OldestAgeMS int64            `json:"oldest_age_ms"`
}

type shownAttempt struct {
	ID        string  `json:"id"`
	JobID     string  `json:"job_id"`
	Number    int     `json:"number"`
	Role      string  `json:"role"`
	Target    string  `json:"target"`
	State     string  `json:"state"`
	Reason    *string `json:"reason"`
	Detail    *string `json:"detail"`
	Sends     int     `json:"sends"`
	LatencyMS *int64  `json:"latency_ms"`
}

func (p *program) describeJob(answer jsontext.Value) (string, error) {
	var j shownJob
	if err := json.Unmarshal(answer, &j); err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "job %s is %s\n  contract %s, intended for %s, created %s\n",
		visible(j.ID), p.paint(strong, visible(j.State)), visible(j.Contract), visible(j.Target), stamp(j.CreatedAt))
	if j.CompletedBy != nil {
		fmt.Fprintf(&out, "  completed by attempt %d\n", *j.CompletedBy)
	}
	if j.Error != nil {
		fmt.Fprintln(&out, strings.TrimRight("  error: "+visible(j.Error.Reason)+" "+visible(text(j.Error.Detail)), " "))
		for _, refused := range j.Error.Targets {
			fmt.Fprintf(&out, "    not %s: %s\n", visible(refused.Target), visible(strings.Join(refused.Reasons, ", ")))
		}
	}
	if len(j.Result) > 0 && j.Result.Kind() != 'n' {
		fmt.Fprintf(&out, "  result: %s\n", visible(string(j.Result)))
	}
	if j.Usage != nil {
		fmt.Fprintf(&out, "  tokens: %s\n", j.tokens())
	}
	if j.Waiting != nil {
		fmt.Fprintf(&out, "  waiting: attempt %d at %s, for a free slot%s%s\n", j.Waiting.Attempt, visible(j.Waiting.Target),
			when(", not before", j.Waiting.NotBefore), when(", given up from", j.Waiting.GivenUpFrom))
	}
	if j.Doubt != nil {
		out.WriteString(p.describeDoubt(j.ID, *j.Doubt))
	}
	return out.String(), nil
}

// tokens never says 0 of a cost that nobody knows.
func (j shownJob) tokens() string {
	switch {
	case j.Usage.AtLeast && j.Usage.TotalTokens == 0:
		return "not known yet"
	case j.Usage.AtLeast:
		return fmt.Sprintf("at least %d", j.Usage.TotalTokens)
	default:
		return strconv.Itoa(j.Usage.TotalTokens)
	}
}

func (p *program) describeDoubts(answer jsontext.Value) (string, error) {
	var queue shownQueue
	if err := json.Unmarshal(answer, &queue); err != nil {
		return "", err
	}
	if queue.Total == 0 {
		return "no job is in doubt\n", nil
	}
	age := (time.Duration(queue.OldestAgeMS) * time.Millisecond).Round(time.Second)
	text := fmt.Sprintf("jobs in doubt: %d, the oldest for %s\n", queue.Total, age)
	for _, item := range queue.Items {
		described, err := p.describeJob(item)
		if err != nil {
			return "", err
		}
		text += "\n" + described
	}
	return text, nil
}

func (p *program) describeAttempt(answer jsontext.Value) (string, error) {
	var a shownAttempt
	if err := json.Unmarshal(answer, &a); err != nil {
		return "", err
	}
	return fmt.Sprintf("attempt %d of job %s at %s is %s\n", a.Number, visible(a.JobID), visible(a.Target), p.paint(strong, visible(a.State))), nil
}

// describeDoubt says of an attempt in doubt what it blocks, what happens by itself, and which commands end
// the doubt; of a released one, that it may still win.
func (p *program) describeDoubt(jobID string, d shownDoubt) string {
	about := fmt.Sprintf("attempt %d at %s%s: %s", d.Attempt, visible(d.Target), when(", since", d.Since), visible(d.Reason))
	if d.Detail != nil {
		about += " (" + visible(*d.Detail) + ")"
	}
	const commands = "    fallproof jobs resolve %[1]s %[2]d     say how it ended: --outcome failed --note '…'\n" +
		"    fallproof jobs cancel %[1]s %[2]d      fence it; it can never win\n"
	var out strings.Builder
	if d.State == "released" {
		fmt.Fprintf(&out, "  %[3]s; released: it blocks nothing and may still win\n  To end it:\n"+commands, visible(jobID), d.Attempt, about)
		return out.String()
	}
	fmt.Fprintf(&out, "  in doubt: %s\n  It may have taken effect, and blocks new attempts until the doubt ends.\n", about)
	if d.Heard {
		out.WriteString("  Its connection is open: an answer may still come.\n")
	}
	if d.Asked > 0 && d.Finding != nil {
		fmt.Fprintf(&out, "  Asked %s: %s\n", times(d.Asked), visible(*d.Finding))
	}
	if d.NextStep != nil {
		fmt.Fprintf(&out, "  By itself: %s at %s\n", visible(d.NextStep.Step), stamp(d.NextStep.DueAt))
	} else {
		out.WriteString("  By itself: nothing more is tried.\n")
	}
	fmt.Fprintf(&out, "  To end it:\n"+
		"    fallproof jobs release %[1]s %[2]d     stop waiting; a late answer may still win\n"+commands, visible(jobID), d.Attempt)
	return out.String()
}

// when says since, or until, when something is; nothing where that is not known.
func when(word string, at *time.Time) string {
	if at == nil {
		return ""
	}
	return word + " " + stamp(*at)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

func number[T int | int64](n *T) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
