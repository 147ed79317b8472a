package storetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// stageplay performs one transcript: one job, its attempts by their numbers, and at most two transactions
// that are open at a time.
type stageplay struct {
	*world
	made   store.Made
	proof  string // id of the fallback's certification record
	told   int64  // the last event that was shown
	inside chan string
	beside chan string
	goOn   func()
}

// commands are the words of a transcript. Each answers with what its caller learned.
func (s *stageplay) perform(words []string) string {
	switch words[0] {
	case "inside": // begins a transaction and holds it open where it is about to change the job's row
		return s.holdInside(words[1:])
	case "beside": // begins another one meanwhile
		return s.startBeside(words[1:])
	case "commit": // lets the first end, and with it the second
		return s.commit()
	case "show":
		return s.show()
	default:
		do, ok := s.commands()[words[0]]
		if !ok {
			s.t.Fatalf("no command %q", words[0])
		}
		return do(words[1:]) + "\n"
	}
}

func (s *stageplay) commands() map[string]func([]string) string {
	change := func(event job.Event, fill func(*store.Change, []string)) func([]string) string {
		return func(args []string) string {
			c := store.Change{Ref: s.ref(args[0]), Event: event, By: bootID, Decision: stop()}
			fill(&c, args[1:])
			return s.applied(c)
		}
	}
	return map[string]func([]string) string{
		"create":  func([]string) string { return s.create() },
		"certify": func([]string) string { s.proof = s.certify(fallback); return "the fallback is certified" },
		"revoke":  func([]string) string { return s.revoke() },
		"attempt": func([]string) string { return s.attempt() },
		"click":   s.click,
		"purge":   func([]string) string { return s.purgeNow() },
		"cancel-job": func([]string) string {
			j, err := s.Store.CancelJob(s.ctx, s.made.Job.Owner, s.made.Job.ID, "client")
			return learned(err, fmt.Sprintf("job %s, version %d", j.State, j.Version))
		},
		"answer":     change(job.EventAnswer, func(c *store.Change, args []string) { c.Answer = &store.Answer{Result: strconv.Quote(args[0])} }),
		"doubt":      change(job.EventDoubt, func(c *store.Change, _ []string) { c.Reason, c.Heard = "timeout", true }),
		"unheard":    change(job.EventUnheard, func(c *store.Change, _ []string) { c.Reason = "give_up" }),
		"cancel":     change(job.EventCancel, func(c *store.Change, _ []string) { c.Reason, c.By = "cancelled", "operator" }),
		"fail":       change(job.EventFailure, func(c *store.Change, args []string) { c.Reason = "malformed"; s.next(c, args) }),
		"release":    change(job.EventRelease, func(c *store.Change, args []string) { c.By = "operator"; s.next(c, args) }),
		"resolve":    change(job.EventResolveFailed, func(c *store.Change, args []string) { s.resolve(c, args) }),
		"lease-over": s.leaseOver,
		"sweep": func(args []string) string {
			c := orphan(s.ref(args[1]))
			c.By = args[0]
			return s.applied(c)
		},
	}
}

func (s *stageplay) ref(number string) job.Ref {
	n, err := strconv.Atoi(number)
	s.Expect(err).NotTo(HaveOccurred())
	return job.Ref{Owner: s.made.Job.Owner, JobID: s.made.Job.ID, Number: n}
}

func (s *stageplay) create() string {
	s.made, s.told = s.world.create(), 0
	return "job running, attempt 1 sent"
}

// next decides what follows: "then retry" or "then fallback".
func (s *stageplay) next(c *store.Change, args []string) {
	switch strings.Join(args, " ") {
	case "":
	case "then retry":
		again := running(primary, "")
		again.Role = job.RoleRetry
		c.Decision = decide(func(store.View) store.Step { return store.Step{Attempt: again} })
	case "then fallback":
		c.Decision = decide(func(view store.View) store.Step {
			if len(view.Standings[fallback].Reasons(accepted)) > 0 {
				return store.Step{Failure: &job.Failure{Reason: "fallback-not-certified"}}
			}
			return store.Step{Attempt: running(fallback, s.proof)}
		})
		c.Decision.Candidates = append(c.Decision.Candidates, s.key(fallback))
	default:
		s.t.Fatalf("what follows: %v", args)
	}
}

func (s *stageplay) resolve(c *store.Change, args []string) {
	c.By, c.Reason = "operator", "resolved_failed"
	if args[0] != "failed" {
		c.Event, c.Reason, c.Answer = job.EventResolveSucceeded, "", &store.Answer{Result: strconv.Quote(args[0])}
	}
}

func (s *stageplay) leaseOver(args []string) string {
	s.Expect(s.raw("UPDATE attempts SET lease_until = '"+longAgo+"' WHERE job_id = ¿ AND number = "+args[0], s.made.Job.ID)).To(Succeed())
	return "its replica is gone"
}

func (s *stageplay) revoke() string {
	_, err := s.Store.Revoke(s.ctx, s.proof, "drill", "operator")
	return learned(err, "revocation acknowledged")
}

func (s *stageplay) attempt() string {
	made, err := s.Store.AddAttempt(s.ctx, manual(s.made, fresh("key"), ""))
	if err != nil {
		return learned(err, "")
	}
	return fmt.Sprintf("attempt %d sent", made.Attempt.Number)
}

func (s *stageplay) click(args []string) string {
	again := s.made.Job
	again.ID = fresh("job")
	if len(args) > 0 {
		again.Input = `{"name":"another"}`
		again = fingerprinted(again)
	}
	made, err := s.Store.CreateJob(s.ctx, createOf(again, sendAt(primary, "")))
	if err != nil {
		return learned(err, "")
	}
	s.Expect(made.Job.ID).To(Equal(s.made.Job.ID))
	return fmt.Sprintf("the same job, %s, created: %v", made.Job.State, made.Created)
}

func (s *stageplay) purgeNow() string {
	purged, err := s.Store.Purge(s.ctx, -time.Minute, 10)
	return learned(err, fmt.Sprintf("jobs purged: %d", purged))
}

func (s *stageplay) applied(c store.Change) string {
	applied, err := s.Store.Apply(s.ctx, c)
	if err != nil {
		return learned(err, "")
	}
	text := fmt.Sprintf("moved: %v; attempt %d %s, job %s", applied.Moved, applied.Attempt.Number, applied.Attempt.State, applied.Job.State)
	if applied.Next != nil {
		text += fmt.Sprintf("; attempt %d sent to %s", applied.Next.Number, applied.Next.Target)
	}
	return text
}

func learned(err error, otherwise string) string {
	if err != nil {
		return "refused: " + err.Error()
	}
	return otherwise
}
