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
}

type shownAttempt struct {
	ID        string     `json:"id"`
	JobID     string     `json:"job_id"`
	Number    int        `json:"number"`
	Role      string     `json:"role"`
	Target    string     `json:"target"`
	State     string     `json:"state"`
	Reason    *string    `json:"reason"`
	Detail    *string    `json:"detail"`
	StartedAt *time.Time `json:"started_at"`
	Sends     int        `json:"sends"`
	LatencyMS *int64     `json:"latency_ms"`
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
		fmt.Fprintf(&out, "  error: %s %s\n", visible(j.Error.Reason), visible(text(j.Error.Detail)))
		for _, refused := range j.Error.Targets {
			fmt.Fprintf(&out, "    not %s: %s\n", visible(refused.Target), visible(strings.Join(refused.Reasons, ", ")))
		}
	}
	if len(j.Result) > 0 && j.Result.Kind() != 'n' {
		fmt.Fprintf(&out, "  result: %s\n", visible(string(j.Result)))
	}
	return out.String(), nil
}

func (p *program) describeAttempt(answer jsontext.Value) (string, error) {
	var a shownAttempt
	if err := json.Unmarshal(answer, &a); err != nil {
		return "", err
	}
	return fmt.Sprintf("attempt %d of job %s at %s is %s\n", a.Number, visible(a.JobID), visible(a.Target), p.paint(strong, visible(a.State))), nil
}

// describeDoubt says of an attempt in doubt what it blocks and which commands end the doubt; of a
// released one, that it may still win.
func (p *program) describeDoubt(a shownAttempt) string {
	sent := ""
	if a.StartedAt != nil {
		sent = ", sent " + stamp(*a.StartedAt)
	}
	about := fmt.Sprintf("attempt %d at %s%s: %s %s", a.Number, visible(a.Target), sent, visible(text(a.Reason)), visible(text(a.Detail)))
	switch a.State {
	case "released":
		return fmt.Sprintf("  %s; released: it blocks nothing and may still win\n", about)
	case "unknown":
		return fmt.Sprintf("  in doubt: %s\n  It may have taken effect, and blocks new attempts until it answers or one of these ends the doubt:\n"+
			"    fallproof jobs release %[2]s %[3]d     stop waiting; a late answer may still win\n"+
			"    fallproof jobs resolve %[2]s %[3]d     say how it ended: --outcome failed --note '…'\n"+
			"    fallproof jobs cancel %[2]s %[3]d      fence it; it can never win\n", about, visible(a.JobID), a.Number)
	default:
		return ""
	}
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
