package chaos

import (
	"slices"
	"strings"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
)

// slack is how far from the time of a disturbance its effects may show: a broken connection is found out
// when it is used, and clocks are read before what they date is done.
const slack = time.Second

// oneJobForEachKey: every key that a client was answered for names one job, the same in every answer, and
// at most one answer says that it was created. There is no job beside these.
func oneJobForEachKey(p *past, complain func(string, string, ...any)) {
	byKey := map[string][]*jobPast{}
	for _, j := range p.jobs {
		byKey[j.key] = append(byKey[j.key], j)
	}
	for _, s := range p.sent {
		for _, refusal := range s.refused {
			complain(s.id(), "key %s was refused: %s", s.key, refusal)
		}
		if len(s.ids) != 1 {
			complain(s.id(), "the answers for key %s name %d jobs: %v", s.key, len(s.ids), s.ids)
		}
		if s.created > 1 {
			complain(s.id(), "%d answers for key %s say that they created its job", s.created, s.key)
		}
		if found := byKey[s.key]; len(found) != 1 || found[0].id != s.id() || !strings.Contains(found[0].input, s.mark) {
			complain(s.id(), "key %s names %d jobs, or another one, or another's intent", s.key, len(found))
		}
		delete(byKey, s.key)
	}
	for key, left := range byKey {
		complain(left[0].id, "nobody was answered for key %s", key)
	}
}

// sendsAreKnown holds the POSTs that arrived against the sends of the attempts. Counted where nothing can be
// lost behind it: no POST of an attempt that the store does not know, or with another job's input. At no moment
// had more POSTs arrived than the store had let begin by then: one for an attempt's turn, and one for each
// re-send in its history; what provably never left the machine is counted off again. Fewer POSTs than sends only
// where something was disturbed that stands between the store and the provider.
func sendsAreKnown(p *past, complain func(string, string, ...any)) {
	for id, posts := range p.posts {
		if p.attempts[id] == nil {
			complain("", "POST for %s of attempt %q, which the store does not know", mark.FindString(posts[0].Request), id)
		}
	}
	for _, a := range p.attempts {
		posts, sends := p.posts[a.id], a.sendings()
		for i, each := range posts {
			if name := mark.FindString(each.Request); name == "" || !strings.Contains(a.job.input, name) {
				complain(a.jobID, "attempt %d was sent with the input of %q", a.number, name)
			}
			if i >= len(sends) || each.ReceivedAt.Before(sends[i].from) {
				complain(a.jobID, "attempt %d: %d POSTs had arrived before so many sends had begun", a.number, i+1)
			}
		}
		if unsent := p.count(a, neverLeft); a.sends != len(sends)-unsent && (a.state != string(job.Failed) || a.sends != len(sends)-unsent-1) {
			complain(a.jobID, "attempt %d is %s, counts %d sends, began %d and says that %d never left", a.number, a.state, a.sends, len(sends), unsent)
		}
		if len(posts) > a.sends || len(posts) < a.sends && !slices.ContainsFunc(sends, p.disturbed(a)) {
			complain(a.jobID, "attempt %d counts %d sends, %d POSTs arrived, and nothing was disturbed", a.number, a.sends, len(posts))
		}
	}
}

// neverLeft says of an event whether a send was counted off: provably nothing of it had left the machine. Of
// failures that name another cause, which a request that cannot be built has, at most one ends an attempt.
func neverLeft(e event) bool {
	reported := e.detail.Event == job.EventFailure || e.detail.Event == job.EventDoubt
	return reported && (e.detail.To == job.Failed || e.detail.To == job.Unknown) && e.detail.Reason == string(providers.ReasonNotSent)
}

// sending is the time from an attempt's being stored as running, when it may be sent, until the store heard
// what became of that.
type sending struct {
	from, to time.Time
	by       string // boot id
	lost     bool   // the store gave its replica up
}

// sendings are those of an attempt, in order.
func (a *attempt) sendings() (found []sending) {
	for _, e := range a.job.events {
		switch {
		case e.attempt != a.number:
		case e.kind == job.HistoryAttemptCreated && e.detail.State == job.Running, e.kind == job.HistoryAttemptMoved && e.detail.To == job.Running:
			found = append(found, sending{from: e.at, to: e.at, by: e.detail.By})
		case e.kind == job.HistoryAttemptMoved && e.detail.From == job.Running:
			last := &found[len(found)-1]
			last.to, last.lost = e.at, e.detail.Reason == workerLost
		}
	}
	return found
}

// workerLost is the reason of what was left by a replica that did not renew its lease.
const workerLost = "worker_lost"

// disturbed says of a sending whether the replica, its database or its way to the provider was disturbed
// meanwhile: by the script, or by a machine so slow that a lease ran out.
func (p *past) disturbed(a *attempt) func(sending) bool {
	provider, _, _ := strings.Cut(a.target, "/")
	return func(s sending) bool {
		return s.lost || p.troubled(s.from.Add(-slack), s.to.Add(slack), "database", provider, p.home[s.by])
	}
}

// count counts the events of an attempt.
func (p *past) count(a *attempt, of func(event) bool) int {
	n := 0
	for _, e := range a.job.events {
		if e.attempt == a.number && of(e) {
			n++
		}
	}
	return n
}

// movesAreLegal replays every history: each move starts where the one before it ended and stands in the
// table; at no moment do two attempts of a job block; each attempt ends once, in the state that the store
// has it in.
func movesAreLegal(p *past, complain func(string, string, ...any)) {
	for _, j := range p.jobs {
		states, ends := map[int]job.State{}, map[int]int{}
		for _, e := range j.events {
			switch e.kind {
			case job.HistoryAttemptCreated:
				if _, twice := states[e.attempt]; twice || e.attempt != len(states)+1 {
					complain(j.id, "attempt %d was created out of turn", e.attempt)
				}
				states[e.attempt] = e.detail.State
			case job.HistoryAttemptMoved:
				if states[e.attempt] != e.detail.From || !leads(e.detail) {
					complain(j.id, "attempt %d was %s and moved from %s to %s by %q", e.attempt, states[e.attempt], e.detail.From, e.detail.To, e.detail.Event)
				}
				states[e.attempt] = e.detail.To
				if !e.detail.To.Blocks() && e.detail.To != job.Released {
					ends[e.attempt]++
				}
			default:
				continue
			}
			if blocking := blocking(states); len(blocking) > 1 {
				complain(j.id, "attempts %v block at the same time", blocking)
			}
		}
		for _, a := range j.attempts {
			if states[a.number] != job.State(a.state) || ends[a.number] > 1 || (ends[a.number] == 0) != open(a) {
				complain(j.id, "attempt %d is %s, was %s last in its history and ended %d times", a.number, a.state, states[a.number], ends[a.number])
			}
		}
		if len(states) != len(j.attempts) || len(j.attempts) > j.maxAttempts {
			complain(j.id, "%d attempts, %d in the history, at most %d", len(j.attempts), len(states), j.maxAttempts)
		}
	}
}

// open says whether something may still become of an attempt.
func open(a *attempt) bool { return job.State(a.state).Blocks() || job.State(a.state) == job.Released }

func leads(d detail) bool {
	return slices.ContainsFunc(job.Table, func(row job.Transition) bool {
		return row.From == d.From && row.To == d.To && row.Event == d.Event
	})
}

func blocking(states map[int]job.State) (found []int) {
	for number, state := range states {
		if state.Blocks() {
			found = append(found, number)
		}
	}
	return found
}
