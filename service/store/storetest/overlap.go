package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"
)

const overlapLimit = 30 * time.Second

// holdInside performs a command until it stands inside its transaction, with the job's row locked and
// nothing committed.
func (s *stageplay) holdInside(words []string) string {
	entered, goOn := s.Pause(s.t)
	s.goOn, s.inside = goOn, make(chan string, 1)
	do, told := s.aside().commands()[words[0]], s.inside
	go func() { told <- do(words[1:]) }()
	s.Eventually(entered).WithTimeout(overlapLimit).Should(BeClosed())
	return "it stands inside its transaction\n"
}

// aside is the stage as it is now, for a command that goes on while later lines are read.
func (s *stageplay) aside() *stageplay {
	now, around := *s, *s.world
	now.world = &around
	return &now
}

// startBeside begins a command while another stands inside its transaction, and returns when it waits. SQLite
// shows no waiting; there the transaction that stands is the one writer.
func (s *stageplay) startBeside(words []string) string {
	s.beside = make(chan string, 1)
	do, told := s.aside().commands()[words[0]], s.beside
	go func() { told <- do(words[1:]) }()
	if s.Postgres {
		s.Eventually(func(g Gomega) {
			var n int
			g.Expect(s.Raw.QueryRowContext(s.ctx, `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event <> 'advisory'`).Scan(&n)).To(Succeed())
			g.Expect(n).To(Equal(1))
		}).WithTimeout(overlapLimit).Should(Succeed())
	}
	select {
	case told := <-s.beside:
		s.beside = nil
		return "it does not wait: " + told + "\n"
	default:
		return "it waits\n"
	}
}

func (s *stageplay) commit() string {
	s.goOn()
	s.goOn = nil
	var first, second string
	s.Eventually(s.inside).WithTimeout(overlapLimit).Should(Receive(&first))
	if s.beside == nil {
		return "inside: " + first + "\n"
	}
	s.Eventually(s.beside).WithTimeout(overlapLimit).Should(Receive(&second))
	s.beside = nil
	return "inside: " + first + "\nbeside: " + second + "\n"
}

// end leaves no transaction open where a transcript failed in the middle.
func (s *stageplay) end() {
	if s.goOn != nil {
		s.goOn()
	}
}

// show prints the job, its attempts, and what is new in its history: no ids and no times.
func (s *stageplay) show() string {
	var out strings.Builder
	j, err := s.Store.Job(s.ctx, s.made.Job.Owner, s.made.Job.ID)
	fmt.Fprintf(&out, "job %s, version %d", j.State, j.Version)
	if j.CompletedBy != 0 {
		fmt.Fprintf(&out, ", completed by %d with %s", j.CompletedBy, j.Result)
	}
	if j.Error != nil {
		fmt.Fprintf(&out, ", error %s", j.Error.Reason)
	}
	if err != nil {
		fmt.Fprintf(&out, "\n%s: rows of attempts %d, of events %d\n", err, s.rows("attempts", s.made), s.rows("events", s.made))
		return out.String()
	}
	for _, a := range s.attempts(s.made) {
		fmt.Fprintf(&out, "\n  attempt %d, %s at %s: %s", a.Number, a.Role, a.Target, a.State)
		if a.Reason != "" {
			fmt.Fprintf(&out, " (%s)", a.Reason)
		}
		fmt.Fprintf(&out, ", sends %d, heard %v", a.Sends, a.Heard)
	}
	return out.String() + "\n" + s.news()
}

// news prints the events that were not shown before.
func (s *stageplay) news() string {
	history, err := s.Store.Events(s.ctx, s.made.Job.Owner, s.made.Job.ID, s.told)
	s.Expect(err).NotTo(HaveOccurred())
	var out strings.Builder
	for _, event := range history.Events {
		s.told = event.Seq
		fmt.Fprintf(&out, "  + %s", event.Type)
		if event.Attempt != 0 {
			fmt.Fprintf(&out, " %d", event.Attempt)
		}
		var detail map[string]any
		s.Expect(json.Unmarshal([]byte(event.Detail), &detail)).To(Succeed())
		for _, word := range []string{"from", "to", "state", "reason", "winner", "loser", "by"} {
			if value, ok := detail[word]; ok && value != "" {
				fmt.Fprintf(&out, " %s=%v", word, value)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}
