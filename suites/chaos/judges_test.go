package chaos

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/job"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// blameless is a past of which no check complains: a job whose first attempt fell into doubt and was released,
// whose second one won elsewhere on a proof, and whose first one then came too late.
func blameless() *past {
	j := &jobPast{
		id: "job", key: "key", contract: "racing", input: `{"message": "#J-000001"}`, intended: "alpha/large", state: "succeeded",
		result: `{"n":2}`, completedBy: 2, maxAttempts: 3,
	}
	first := &attempt{job: j, jobID: "job", id: "first", target: "alpha/large", state: "superseded", reason: "late", bootID: "boot", number: 1, sends: 1, created: noon}
	second := &attempt{
		job: j, jobID: "job", id: "second", target: "beta/medium", certification: "record", state: "succeeded", bootID: "boot", number: 2, sends: 1,
		created: noon.Add(2 * time.Second),
	}
	j.attempts = []*attempt{first, second}
	after := func(seconds int, kind string, attempt int, d detail) {
		d.By = "boot"
		j.events = append(j.events, event{jobID: "job", kind: kind, attempt: attempt, at: noon.Add(time.Duration(seconds) * time.Second), detail: d})
	}
	after(0, job.HistoryJobCreated, 0, detail{})
	after(0, job.HistoryAttemptCreated, 1, detail{State: job.Running})
	after(1, job.HistoryAttemptMoved, 1, detail{From: job.Running, To: job.Unknown, Event: job.EventDoubt, Reason: "timeout"})
	after(2, job.HistoryAttemptMoved, 1, detail{From: job.Unknown, To: job.Released, Event: job.EventRelease, Reason: "timeout"})
	after(2, job.HistoryAttemptCreated, 2, detail{State: job.Running})
	after(3, job.HistoryAttemptMoved, 2, detail{From: job.Running, To: job.Succeeded, Event: job.EventAnswer})
	after(3, job.HistoryJobSucceeded, 2, detail{})
	after(4, job.HistoryAttemptMoved, 1, detail{From: job.Released, To: job.Superseded, Event: job.EventAnswer, Reason: "late"})
	after(4, job.HistoryRace, 1, detail{Winner: 2})
	arrived := func(id string, at time.Duration, content string) []simulator.Entry {
		return []simulator.Entry{{AttemptID: id, Request: "#J-000001", ReceivedAt: noon.Add(at), Produced: &simulator.Product{Content: content}}}
	}
	return &past{
		jobs:     map[string]*jobPast{"job": j},
		attempts: map[string]*attempt{"first": first, "second": second},
		records: map[string]record{"record": {
			id: "record", contract: "racing", target: "beta/medium", verdict: "certified", issued: noon.Add(-time.Hour), expires: noon.Add(time.Hour),
		}},
		posts: map[string][]simulator.Entry{
			"first": arrived("first", time.Second/2, `{"n":1}`), "second": arrived("second", 5*time.Second/2, ` {"n":2} `),
		},
		sent:     []*submission{{mark: "J-000001", key: "key", ids: map[string]bool{"job": true}, created: 1}},
		home:     map[string]string{"boot": "replica 1"},
		troubled: func(time.Time, time.Time, ...string) bool { return false },
	}
}

// change edits an event of the blameless past's job.
func (p *past) change(at int, edit func(*event)) { edit(&p.jobs["job"].events[at]) }

// TestTheJudgesComplain has each check find what it is there to find, and nothing in a past without fault.
func TestTheJudgesComplain(t *testing.T) {
	revoked := noon.Add(time.Second)
	cases := []struct {
		name  string
		judge check
		spoil func(*past)
	}{
		{"a lost job", oneJobForEachKey, func(p *past) { delete(p.jobs, "job") }},
		{"two jobs of a key", oneJobForEachKey, func(p *past) { p.jobs["other"] = &jobPast{id: "other", key: "key"} }},
		{"a job that nobody wanted", oneJobForEachKey, func(p *past) { p.jobs["other"] = &jobPast{id: "other", key: "another"} }},
		{"two answers", oneJobForEachKey, func(p *past) { p.sent[0].ids["other"] = true }},
		{"no answer", oneJobForEachKey, func(p *past) { p.sent[0].ids = nil }},
		{"created twice", oneJobForEachKey, func(p *past) { p.sent[0].created = 2 }},
		{"a refusal", oneJobForEachKey, func(p *past) { p.sent[0].refused = []string{"409"} }},
		{"another's intent", oneJobForEachKey, func(p *past) { p.jobs["job"].input = "#J-000002" }},

		{"a POST of an unknown attempt", sendsAreKnown, func(p *past) { p.posts["third"] = p.posts["first"] }},
		{"two POSTs of one send", sendsAreKnown, func(p *past) { p.posts["first"] = append(p.posts["first"], p.posts["first"]...) }},
		{"a POST before its send", sendsAreKnown, func(p *past) { p.posts["second"][0].ReceivedAt = noon }},
		{"a POST with another's input", sendsAreKnown, func(p *past) { p.posts["second"][0].Request = "#J-000002" }},
		{"a send that got lost by itself", sendsAreKnown, func(p *past) { delete(p.posts, "first") }},
		{"a send that is not counted", sendsAreKnown, func(p *past) { p.attempts["second"].sends = 0; delete(p.posts, "second") }},
		{"a send that was counted off for nothing", sendsAreKnown, func(p *past) { p.attempts["first"].sends = 0; delete(p.posts, "first") }},
		{"a send that never left and is counted", sendsAreKnown, func(p *past) { p.change(2, func(e *event) { e.detail.Reason = "not_sent" }) }},
		{"a send too many", sendsAreKnown, func(p *past) { p.attempts["second"].sends = 2 }},

		{"two blocking attempts", movesAreLegal, func(p *past) { p.jobs["job"].events = slices.Delete(p.jobs["job"].events, 3, 4) }},
		{"a move that the table lacks", movesAreLegal, func(p *past) { p.change(5, func(e *event) { e.detail.Event = job.EventRelease }) }},
		{"a move from another state", movesAreLegal, func(p *past) { p.change(7, func(e *event) { e.detail.From = job.Unknown }) }},
		{"an attempt out of turn", movesAreLegal, func(p *past) { p.change(4, func(e *event) { e.attempt = 3 }) }},
		{"an attempt too many", movesAreLegal, func(p *past) { p.jobs["job"].maxAttempts = 1 }},
		{"a state that has no history", movesAreLegal, func(p *past) { p.attempts["first"].state = "failed" }},

		{"no proof", proofsStood, func(p *past) { p.attempts["second"].certification = "" }},
		{"an unknown record", proofsStood, func(p *past) { p.records = nil }},
		{"a rejection", proofsStood, func(p *past) { p.edit(func(r *record) { r.verdict = "rejected" }) }},
		{"another's proof", proofsStood, func(p *past) { p.edit(func(r *record) { r.target = "gamma/small" }) }},
		{"another contract's proof", proofsStood, func(p *past) { p.edit(func(r *record) { r.contract = "steady" }) }},
		{"an expired proof", proofsStood, func(p *past) { p.edit(func(r *record) { r.expires = revoked }) }},
		{"a proof that came later", proofsStood, func(p *past) { p.edit(func(r *record) { r.issued = noon.Add(time.Minute) }) }},
		{"a revoked proof", proofsStood, func(p *past) { p.edit(func(r *record) { r.revoked = &revoked }) }},

		{"a revocation that was forgotten", proofsStood, func(p *past) { p.revoked = map[string]time.Time{"record": noon} }},

		{"two winners", winnersAreTrue, func(p *past) { p.attempts["first"].state = "succeeded" }},
		{"another winner than named", winnersAreTrue, func(p *past) { p.jobs["job"].completedBy = 1 }},
		{"no winner", winnersAreTrue, func(p *past) { p.attempts["second"].state = "failed" }},
		{"a winner of a failed job", winnersAreTrue, func(p *past) { p.jobs["job"].state = "failed" }},
		{"the loser's result", winnersAreTrue, func(p *past) { p.jobs["job"].result = `{"n":1}` }},

		{"a race that is not logged", losersAreLogged, func(p *past) { p.jobs["job"].events = p.jobs["job"].events[:8] }},
		{"a race that another won", losersAreLogged, func(p *past) { p.change(8, func(e *event) { e.detail.Winner = 3 }) }},
		{"a loser that is not superseded", losersAreLogged, func(p *past) { p.attempts["first"].state = "failed" }},
		{"a loser without a winner", losersAreLogged, func(p *past) { p.jobs["job"].state = "failed" }},

		{"an attempt under way", nothingIsLeft, func(p *past) { p.attempts["first"].state = "running" }},
		{"an attempt in doubt", nothingIsLeft, func(p *past) { p.attempts["first"].state = "unknown" }},
		{"an attempt that is heard", nothingIsLeft, func(p *past) { p.attempts["first"].heard = true }},
		{"a lease", nothingIsLeft, func(p *past) { p.attempts["first"].leased = true }},
		{"doubt without a reason", nothingIsLeft, func(p *past) { p.change(2, func(e *event) { e.detail.Reason = "" }) }},

		{"a state that does not follow", statesAreDerived, func(p *past) { p.jobs["job"].state = "failed" }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := blameless()
			g.Expect(complaints(c.judge, p)).To(gomega.BeEmpty())
			c.spoil(p)
			g.Expect(complaints(c.judge, p)).NotTo(gomega.BeEmpty())
			g.Expect(p.tell("job")).NotTo(gomega.BeEmpty())
		})
	}
}

func (p *past) edit(change func(*record)) {
	r := p.records["record"]
	change(&r)
	p.records["record"] = r
}

func complaints(judge check, p *past) (found []string) {
	judge(p, func(_, format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) })
	return found
}

// A send whose POST never arrived is excused by a disturbance of what stands between, and by no other.
func TestADisturbanceExcusesALostSend(t *testing.T) {
	for where, excused := range map[string]bool{"replica 1": true, "alpha": true, "database": true, "replica 2": false, "beta": false} {
		t.Run(where, func(t *testing.T) {
			g := gomega.NewWithT(t)
			b := newBook()
			b.troubles = []trouble{{"cut", where, noon.Add(time.Second / 2), noon.Add(3 * time.Second)}}
			p := blameless()
			p.troubled = b.troubled
			delete(p.posts, "first")
			g.Expect(complaints(sendsAreKnown, p)).To(gomega.HaveLen(map[bool]int{true: 0, false: 1}[excused]))
		})
	}
}
