package chaos

import (
	"slices"
	"time"

	"github.com/fallproof/fallproof/service/job"
)

// transaction is how long one may last: what it reads may be that much younger than the clock that it read
// first.
const transaction = 10 * time.Second

// proofsStood: an attempt away from its job's intended target names a record that certified this contract at
// this target, had been issued, had not expired, and had not been revoked when the attempt was created. Whose
// revocation was acknowledged is revoked in the store, no later than that.
func proofsStood(p *past, complain func(string, string, ...any)) {
	for id, told := range p.revoked {
		if at := p.records[id].revoked; at == nil || at.After(told) {
			complain("", "the revocation of record %s was acknowledged at %s and is not in the store", id, told.UTC().Format(moment))
		}
	}
	for _, a := range p.attempts {
		if a.target == a.job.intended {
			continue
		}
		r, known := p.records[a.certification]
		switch {
		case !known:
			complain(a.jobID, "attempt %d at %s names no record: %q", a.number, a.target, a.certification)
		case r.contract != a.job.contract || r.target != a.target || r.verdict != "certified":
			complain(a.jobID, "attempt %d at %s rests on a record that is %s for %s at %s", a.number, a.target, r.verdict, r.contract, r.target)
		case r.issued.After(a.created.Add(transaction)) || !a.created.Before(r.expires):
			complain(a.jobID, "attempt %d rests on a record of another time", a.number)
		case r.revoked != nil && !a.created.Before(*r.revoked):
			complain(a.jobID, "attempt %d of %s rests on record %s, which was revoked %s before", a.number, a.created.Format(moment), r.id, a.created.Sub(*r.revoked))
		}
	}
}

// winnersAreTrue: a job that succeeded has one winner, the attempt that it names, and its result is to the
// byte what that attempt's provider sent, or what the operator who resolved the attempt said that it was.
// No other job has a winner or a result.
func winnersAreTrue(p *past, complain func(string, string, ...any)) {
	for _, j := range p.jobs {
		var winners []*attempt
		for _, a := range j.attempts {
			if a.state == string(job.Succeeded) {
				winners = append(winners, a)
			}
		}
		if j.state != string(job.JobSucceeded) {
			if len(winners) != 0 || j.completedBy != 0 || j.result != "" {
				complain(j.id, "a job that is %s has %d winners", j.state, len(winners))
			}
			continue
		}
		if len(winners) != 1 || winners[0].number != j.completedBy {
			complain(j.id, "a job that succeeded by attempt %d has %d winners", j.completedBy, len(winners))
			continue
		}
		if !slices.Contains(p.sources(winners[0]), j.result) {
			complain(j.id, "the result is not what attempt %d was answered with", winners[0].number)
		}
	}
}

// sources are the results that an attempt can have had: from its provider, or from an operator where the
// history says that one resolved it.
func (p *past) sources(a *attempt) []string {
	if p.count(a, func(e event) bool { return e.detail.Event == job.EventResolveSucceeded && e.detail.To == job.Succeeded }) > 0 {
		return p.results[a.id]
	}
	var sent []string
	for _, each := range p.posts[a.id] {
		sent = append(sent, content(each))
	}
	return sent
}

// losersAreLogged: an attempt that came too late is superseded and has its race in the history, with the
// job's winner; one that was superseded unheard had a final job; and a race is nobody else's.
func losersAreLogged(p *past, complain func(string, string, ...any)) {
	for _, a := range p.attempts {
		races := p.count(a, func(e event) bool { return e.kind == job.HistoryRace && e.detail.Winner == a.job.completedBy })
		superseded := a.state == string(job.Superseded)
		switch {
		case superseded && a.reason != "unheard" && races != 1, !superseded && races != 0:
			complain(a.jobID, "attempt %d is %s (%s) and lost %d races", a.number, a.state, a.reason, races)
		case superseded && !job.JobState(a.job.state).Final():
			complain(a.jobID, "attempt %d is superseded under a job that is %s", a.number, a.job.state)
		}
	}
}

// nothingIsLeft: no attempt is under way, heard or leased, none is in doubt any more, and whatever was in
// doubt or failed said why.
func nothingIsLeft(p *past, complain func(string, string, ...any)) {
	for _, a := range p.attempts {
		if job.State(a.state).Blocks() || a.heard || a.leased {
			complain(a.jobID, "attempt %d is %s, heard %t, leased %t", a.number, a.state, a.heard, a.leased)
		}
	}
	for _, j := range p.jobs {
		for _, e := range j.events {
			if (e.detail.To == job.Unknown || e.detail.To == job.Failed) && e.detail.Reason == "" {
				complain(j.id, "attempt %d became %s without a reason", e.attempt, e.detail.To)
			}
		}
	}
}

// statesAreDerived: what the store says of a job is what follows from its attempts.
func statesAreDerived(p *past, complain func(string, string, ...any)) {
	for _, j := range p.jobs {
		var attempts []job.Attempt
		for _, a := range j.attempts {
			attempts = append(attempts, job.Attempt{State: job.State(a.state), Heard: a.heard})
		}
		derived := job.Derive(j.completedBy != 0, j.state == string(job.JobCancelled), attempts, false)
		if derived != job.JobState(j.state) {
			complain(j.id, "the job is %s, and its attempts say %s", j.state, derived)
		}
	}
}
