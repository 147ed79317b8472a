package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers/simulator"
)

// story is the demo while it runs. Every chapter does what it tells over HTTP and errs where the service
// did not do what the chapter promises.
type story struct {
	p         *program
	ctx       context.Context
	simulator *simulator.Server
	config    string
	url, key  string
	jobs      []string // every job of the story
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.p.stdout, format+"\n", args...) }

func (s *story) title(text string) { s.say("\n%s", s.p.paint(strong, "== "+text)) }

func (s *story) tell() error {
	for _, chapter := range []func() error{
		s.doubleClick, s.doubt, s.refusedFallback, s.allowedFallback, s.reckoning,
	} {
		if err := chapter(); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) doubleClick() error {
	s.title("The double click: one intent, one job")
	intent, err := shippedIntent("invoice-extraction")
	if err != nil {
		return err
	}
	const clicks = 10
	s.say("%d simultaneous POST /v1/jobs with one Idempotency-Key", clicks)
	answers := make([]answer, clicks)
	errs := make([]error, clicks)
	var all sync.WaitGroup
	for i := range clicks {
		all.Go(func() { answers[i], errs[i] = s.post("/v1/jobs", "click-1", intent) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	created := 0
	for _, each := range answers {
		if each.Status == http.StatusCreated {
			created++
		}
		if each.ID != answers[0].ID {
			return fmt.Errorf("two jobs for one intent: %s and %s", each.ID, answers[0].ID)
		}
	}
	final, err := s.settled(answers[0].ID)
	if err != nil {
		return err
	}
	attempts, err := s.attempts(final.ID)
	if err != nil {
		return err
	}
	posts := len(s.simulator.Select(simulator.Filter{AttemptID: attempts[0].ID}))
	s.say("→ %d created, %d replayed; job %s is %s; %d attempt, %d call at the provider",
		created, clicks-created, final.ID, s.state(final.State), len(attempts), posts)
	return expect(created == 1 && final.State == "succeeded" && len(attempts) == 1 && posts == 1, "the double click made more than one of something")
}

func (s *story) doubt() error {
	s.title("Silence is not failure: an attempt in doubt")
	s.simulator.SetPersonality("large", simulator.Personality{Kind: simulator.Faithful, Hold: true})
	s.say("alpha/large stops answering; its soft deadline is 1 s")
	made, attempts, err := s.start("invoice-extraction", "click-2")
	if err != nil {
		return err
	}
	s.say("→ job %s is %s: attempt 1 (%s) at alpha/large is %s, reason %s",
		made.ID, s.state(made.State), attempts[0].ID, s.state(attempts[0].State), attempts[0].Reason)
	if err := expect(made.State == "unknown" && attempts[0].State == "unknown", "the attempt is not in doubt"); err != nil {
		return err
	}
	again, err := s.post(made.path("/attempts"), "try-2", map[string]any{})
	if err != nil {
		return err
	}
	s.say("a new attempt is asked for → %d %s: it may still be doing the work", again.Status, again.problem())
	if err := expect(again.problem() == "attempt-in-doubt", "a second attempt started beside one in doubt"); err != nil {
		return err
	}
	return s.reverseFinish(made, attempts[0])
}

func (s *story) reverseFinish(made answer, first attempt) error {
	s.title("Exactly one winner: the reverse-order finish")
	s.say("an operator stops waiting for attempt 1: POST %s", made.path("/attempts/1/release"))
	if _, err := s.post(made.path("/attempts/1/release"), "", map[string]any{"note": "demo"}); err != nil {
		return err
	}
	won, err := s.until(made.ID, "succeeded")
	if err != nil {
		return err
	}
	attempts, err := s.attempts(made.ID)
	if err != nil {
		return err
	}
	second := attempts[len(attempts)-1]
	s.say("→ attempt %d (%s) ran at %s, allowed by certification %s, and wins: job %s",
		second.Number, second.ID, second.Target, second.CertificationID, s.state(won.State))
	s.say("now alpha/large answers after all")
	s.simulator.Release(simulator.Filter{AttemptID: first.ID})
	late, err := s.untilAttempt(made.ID, 1, "superseded")
	if err != nil {
		return err
	}
	race, err := s.event(made.ID, "race")
	if err != nil {
		return err
	}
	after, err := s.get("/v1/jobs/" + made.ID)
	if err != nil {
		return err
	}
	s.say("→ attempt 1 is %s; its answer is discarded, the result untouched; race event: %s", s.state(late.State), race)
	return expect(second.Target == "beta/medium" && after.CompletedBy == second.Number && string(after.Result) == string(won.Result), "the late answer changed something")
}

func (s *story) refusedFallback() error {
	s.title("No fallback without proof: refused")
	s.simulator.SetPersonality("large", simulator.Personality{Kind: simulator.Error200})
	s.say("alpha/large now answers 200 with an error body, which is a failure; no fallback of support-triage is certified")
	made, attempts, err := s.start("support-triage", "click-3")
	if err != nil {
		return err
	}
	final, err := s.settled(made.ID)
	if err != nil {
		return err
	}
	for _, each := range attempts {
		s.say("→ attempt %d at %s (%s) is %s %s", each.Number, each.Target, each.Role, s.state(each.State), each.Reason)
		if each.Target != "alpha/large" {
			return fmt.Errorf("attempt %d ran at %s, which has no proof", each.Number, each.Target)
		}
	}
	s.say("→ job %s is %s", final.ID, s.state(final.State))
	rejected := 0
	for _, target := range final.Error.Targets {
		s.say("  %s was not tried: %s", target.Target, s.state(strings.Join(target.Reasons, ", ")))
		if strings.Contains(strings.Join(target.Reasons, " "), "rejected") {
			rejected++
		}
	}
	return expect(final.State == "failed" && rejected == 3, "a target without proof was tried, or not refused as rejected")
}

func (s *story) allowedFallback() error {
	s.title("A fallback with proof: allowed")
	s.say("the same failure under invoice-extraction, where beta/medium is certified")
	made, _, err := s.start("invoice-extraction", "click-4")
	if err != nil {
		return err
	}
	final, err := s.settled(made.ID)
	if err != nil {
		return err
	}
	attempts, err := s.attempts(made.ID)
	if err != nil {
		return err
	}
	for _, each := range attempts {
		s.say("→ attempt %d at %s (%s) is %s %s%s", each.Number, each.Target, each.Role, s.state(each.State), each.Reason, proofOf(each))
	}
	s.say("→ job %s is %s; gamma/small and delta/mini stand before beta/medium in the route and were passed over: rejected", final.ID, s.state(final.State))
	last := attempts[len(attempts)-1]
	return expect(final.State == "succeeded" && last.Target == "beta/medium" && last.CertificationID != "", "the certified fallback did not serve")
}

// reckoning compares what the providers saw with what the store says, call for call.
func (s *story) reckoning() error {
	s.title("The books: every call a provider saw is an attempt, and the other way round")
	posts, sends := 0, 0
	for _, id := range s.jobs {
		attempts, err := s.attempts(id)
		if err != nil {
			return err
		}
		for _, each := range attempts {
			sends += each.Sends
			posts += len(s.simulator.Select(simulator.Filter{AttemptID: each.ID}))
		}
	}
	s.say("%d sends in the store, %d POSTs at the providers", sends, posts)
	return expect(sends == posts && len(s.jobs) == 4, "the books do not agree")
}

// start creates a job with the contract's first case as input and waits until it is settled or in doubt.
func (s *story) start(contract, key string) (answer, []attempt, error) {
	intent, err := shippedIntent(contract)
	if err != nil {
		return answer{}, nil, err
	}
	made, err := s.post("/v1/jobs", key, intent)
	if err != nil {
		return made, nil, err
	}
	made, err = s.settled(made.ID)
	if err != nil {
		return made, nil, err
	}
	attempts, err := s.attempts(made.ID)
	return made, attempts, err
}

// shippedIntent is a real input: the first case of a shipped contract.
func shippedIntent(contract string) (map[string]any, error) {
	catalog, err := contracts.Shipped()
	if err != nil {
		return nil, err
	}
	c, ok := catalog.Get(contract)
	if !ok {
		return nil, fmt.Errorf("contract %s is not shipped", contract)
	}
	return map[string]any{"contract": contract, "input": c.Cases[0].Input}, nil
}

func proofOf(a attempt) string {
	if a.CertificationID == "" {
		return ""
	}
	return "by certification " + a.CertificationID
}

// state colours the words of the state machines.
func (s *story) state(word string) string {
	switch word {
	case "succeeded":
		return s.p.paint(good, word)
	case "failed", "rejected", "cancelled":
		return s.p.paint(bad, word)
	default:
		return s.p.paint(doubt, word)
	}
}

func expect(held bool, otherwise string) error {
	if held {
		return nil
	}
	return errors.New("the demo did not show what it promises: " + otherwise)
}
