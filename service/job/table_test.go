package job_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
)

var update = flag.Bool("update", false, "rewrite STATES.md from the table")

// TestDocumentPrintsTheTable: the page that people read is the table that the store applies.
func TestDocumentPrintsTheTable(t *testing.T) {
	g := gomega.NewWithT(t)
	printed := document()
	if *update {
		g.Expect(os.WriteFile("STATES.md", []byte(printed), 0o644)).To(gomega.Succeed())
	}
	written, err := os.ReadFile("STATES.md")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(string(written)).To(gomega.Equal(printed), "run: go test ./service/job -update")
}

func document() string {
	var out strings.Builder
	out.WriteString("# The attempt's lifecycle\n\n" +
		"Printed from `job.Table` by `go test ./service/job -update`; a test compares. What the table does not list cannot happen.\n\n" +
		"```mermaid\nstateDiagram-v2\n")
	for _, row := range job.Table {
		from := string(row.From)
		if from == "" {
			from = "[*]"
		}
		label := string(row.Event)
		if row.When != job.Always {
			label += " (" + string(row.When) + ")"
		}
		fmt.Fprintf(&out, "    %s --> %s: %s\n", from, row.To, label)
	}
	out.WriteString("```\n\n| from | event | when | to |\n|---|---|---|---|\n")
	for _, row := range job.Table {
		from := "–"
		if row.From != "" {
			from = "`" + string(row.From) + "`"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | `%s` |\n", from, row.Event, row.When, row.To)
	}
	out.WriteString("\n| state | blocks a new attempt | may still win |\n|---|---|---|\n")
	for _, state := range job.States {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", state, yes(state.Blocks()), yes(state.MayWin()))
	}
	return out.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// TestTableIsUnambiguous: at most one row answers for a state, an event and a job.
func TestTableIsUnambiguous(t *testing.T) {
	g := gomega.NewWithT(t)
	type question struct {
		from         job.State
		event        job.Event
		taken, final bool
	}
	holds := func(when job.Condition, taken, final bool) bool {
		switch when {
		case job.SlotFree:
			return !taken
		case job.SlotTaken:
			return taken
		case job.JobFinal:
			return final
		}
		return true
	}
	answers := map[question]int{}
	for _, row := range job.Table {
		for _, taken := range []bool{false, true} {
			for _, final := range []bool{false, true} {
				if holds(row.When, taken, final) {
					answers[question{row.From, row.Event, taken, final}]++
				}
			}
		}
	}
	for asked, n := range answers {
		g.Expect(n).To(gomega.Equal(1), "%+v", asked)
	}
}

// TestPropertiesOfTheTable says what the design promises of the machine as a whole.
func TestPropertiesOfTheTable(t *testing.T) {
	g := gomega.NewWithT(t)
	for _, row := range job.Table {
		if row.To == job.Succeeded {
			g.Expect(row.When).To(gomega.Equal(job.SlotFree), "%+v: success takes the slot", row)
			g.Expect(row.From.MayWin()).To(gomega.BeTrue(), "%+v", row)
		}
		if row.From != "" && !row.From.Blocks() && row.From != job.Released {
			t.Errorf("%+v: an ended attempt moves no more", row)
		}
		if row.Event == job.EventDoubt || row.Event == job.EventUnheard {
			g.Expect(row.To).NotTo(gomega.Equal(job.Failed), "silence is not failure")
		}
	}
	for _, state := range job.States {
		for _, event := range []job.Event{job.EventAnswer, job.EventResolveSucceeded} {
			for _, final := range []bool{false, true} {
				to, ok := job.Next(state, event, job.Facts{SlotTaken: true, Final: final, HasOwnKey: true})
				g.Expect(ok && to == job.Succeeded).To(gomega.BeFalse(), "a taken slot has no second winner")
			}
		}
		_, again := job.Next(job.Unknown, job.EventResend, job.Facts{})
		g.Expect(again).To(gomega.BeFalse(), "nothing is sent twice without a key of its own")
		_, ok := job.Next(job.Cancelled, job.EventAnswer, job.Facts{})
		g.Expect(ok).To(gomega.BeFalse(), "a cancelled attempt is fenced")
	}
}

func TestDerive(t *testing.T) {
	a := func(state job.State) job.Attempt { return job.Attempt{State: state} }
	heard := job.Attempt{State: job.Released, Heard: true}
	for _, row := range []struct {
		name                 string
		completed, cancelled bool
		attempts             []job.Attempt
		stepDue              bool
		want                 job.JobState
	}{
		{"a step is due", false, false, nil, true, job.JobPending},
		{"no step is left", false, false, nil, false, job.JobFailed},
		{"waiting for its turn", false, false, []job.Attempt{a(job.Starting)}, false, job.JobRunning},
		{"running", false, false, []job.Attempt{a(job.Failed), a(job.Running)}, false, job.JobRunning},
		{"in doubt", false, false, []job.Attempt{a(job.Unknown)}, false, job.JobUnknown},
		{"released and heard", false, false, []job.Attempt{heard, a(job.Failed)}, false, job.JobUnknown},
		{"released and heard while another runs", false, false, []job.Attempt{heard, a(job.Running)}, false, job.JobRunning},
		{"released and heard while a step is due", false, false, []job.Attempt{heard}, true, job.JobUnknown},
		{"released, no longer heard", false, false, []job.Attempt{a(job.Released)}, false, job.JobFailed},
		{"all failed, a retry due", false, false, []job.Attempt{a(job.Failed)}, true, job.JobPending},
		{"all ended", false, false, []job.Attempt{a(job.Failed), a(job.Cancelled), a(job.Superseded)}, false, job.JobFailed},
		{"won while another still runs", true, false, []job.Attempt{a(job.Succeeded), a(job.Running)}, false, job.JobSucceeded},
		{"cancelled", false, true, []job.Attempt{a(job.Cancelled)}, true, job.JobCancelled},
	} {
		t.Run(row.name, func(t *testing.T) {
			gomega.NewWithT(t).Expect(job.Derive(row.completed, row.cancelled, row.attempts, row.stepDue)).To(gomega.Equal(row.want))
		})
	}
}
