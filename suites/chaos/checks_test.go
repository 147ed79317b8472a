package chaos

import (
	"slices"
	"strings"
	"time"

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
// lost behind it: no POST of an attempt that the store does not know, or for another job's intent, or before the
// store had it as running; never more POSTs than sends, and no second send but a re-send that is in the history;
// fewer POSTs than sends only where the process, its database or the way to the provider was disturbed meanwhile.
func sendsAreKnown(p *past, complain func(string, string, ...any)) {
	for id, posts := range p.posts {
		a := p.attempts[id]
		if a == nil {
			complain("", "POST for %s of attempt %q, which the store does not know", mark.FindString(posts[0].Request), id)
			continue
		}
		if len(posts) > a.sends {
			complain(a.jobID, "attempt %d was sent %d times, and %d POSTs arrived", a.number, a.sends, len(posts))
		}
		for _, each := range posts {
			if name := mark.FindString(each.Request); name == "" || !strings.Contains(a.job.input, name) {
				complain(a.jobID, "attempt %d was sent with the input of %q", a.number, name)
			}
			if a.started == nil || each.ReceivedAt.Before(*a.started) {
				complain(a.jobID, "attempt %d was sent before it was running", a.number)
			}
		}
	}
	for _, a := range p.attempts {
		if resent := p.count(a, func(e event) bool { return e.detail.Event == job.EventResend }); a.sends > 1+resent || a.sends < 0 {
			complain(a.jobID, "attempt %d was sent %d times, and re-sent %d times", a.number, a.sends, resent)
		}
		if len(p.posts[a.id]) < a.sends && !p.excused(a) {
			complain(a.jobID, "attempt %d counts %d sends, %d POSTs arrived, and nothing was disturbed", a.number, a.sends, len(p.posts[a.id]))
		}
	}
}

// excused says whether anything was disturbed that stands between an attempt's being stored as running and
// its request's arrival, from then until the store heard what became of it.
func (p *past) excused(a *attempt) bool {
	if a.started == nil {
		return false
	}
	to := a.started.Add(slack)
	for _, e := range a.job.events {
		if e.attempt == a.number && e.kind == job.HistoryAttemptMoved && e.detail.From == job.Running {
			to = e.at.Add(slack)
			break
		}
	}
	provider, _, _ := strings.Cut(a.target, "/")
	return p.troubled(a.started.Add(-slack), to, "database", provider, p.home[a.bootID])
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
