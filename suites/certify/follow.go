package certify

import (
	"context"
	"slices"

	"github.com/fallproof/fallproof/contracts/certification"
)

// follower watches a run's calls come in, and says when no further one is needed. It is not safe for
// concurrent use.
type follower struct {
	c       *collector
	account *account
	others  map[int]Sample // calls that are no samples, by their index
	checked bool           // the first round was judged as a whole
	weighed bool           // a run whose rates all pass was judged as a whole
	decided bool
	foreign bool // of a sample that was counted here the store has another runner's
}

func (c *collector) follow() *follower {
	f := &follower{c: c, account: newAccount(c.pair, c.options, c.binding), others: map[int]Sample{}}
	f.decided = !c.options.Complete && f.account.hopeless()
	return f
}

// catchUp adds what the store has and was not seen yet. Where it has other samples than were counted here,
// it counts anew.
func (f *follower) catchUp(ctx context.Context) error {
	if f.foreign {
		*f = *f.c.follow()
	}
	asked := samplesPerCase(f.c.pair, f.c.options)
	wanted := func(where slot) bool {
		_, known := f.account.grid.place(where)
		return !f.has(where) && (!where.isSample() || known && where.index < asked)
	}
	return eachSample(ctx, f.c.options.Store, f.c.run.ID, wanted, func(where slot, sample Sample) error {
		f.add(f.look(where, sample, sample.reading(f.c.pair)))
		return nil
	})
}

// settled: nothing that the store could still have would say more.
func (f *follower) settled() bool {
	return !f.foreign && (len(f.missing()) == 0 || f.over() && !f.c.replays())
}

func (f *follower) has(where slot) bool {
	if where.isSample() {
		return f.account.has(where)
	}
	_, ok := f.others[where.index]
	return ok
}

// missing are the calls that were not seen, as planned.
func (f *follower) missing() []slot {
	return slices.DeleteFunc(slices.Clone(f.c.plan()), f.has)
}

// look is what a call shows by itself; it may be used concurrently.
func (f *follower) look(where slot, sample Sample, read reading) look {
	if !where.isSample() {
		return look{sample: sample, read: read}
	}
	return f.account.look(sample, read)
}

func (f *follower) add(l look) {
	if l.sample.Case == noCase {
		f.others[l.sample.Index] = l.sample
	} else {
		f.account.count(l)
	}
	if !f.c.options.Complete && !f.decided {
		f.decided = f.decides()
	}
}

// spent: provider trouble has ended the run.
func (f *follower) spent() bool { return f.account.tally.Spent() }

// over: nothing that is still missing can change the verdict.
func (f *follower) over() bool { return f.decided || f.spent() }

// decides asks the figures first, and the judgement of the whole only at the two moments at which they
// cannot know: after the first round, when the prompt dimension is settled, and when all rates pass.
func (f *follower) decides() bool {
	if f.account.tally.Rejected() {
		return true
	}
	if !f.checked && f.firstRound() {
		f.checked = true
		if f.verdict() == certification.Rejected {
			return true
		}
	}
	if f.checked && !f.weighed && f.account.tally.Certain() {
		f.weighed = true
		return f.verdict() == certification.Certified
	}
	return false
}

// firstRound: every case and every other call was seen once.
func (f *follower) firstRound() bool {
	for _, where := range f.c.plan() {
		if where.isSample() && where.index > 0 {
			return true
		}
		if !f.has(where) {
			return false
		}
	}
	return true
}

// evidence is what was seen.
func (f *follower) evidence() Evidence {
	e := Evidence{
		Pair: f.c.pair, Options: f.c.options, Run: f.c.run, Aside: map[int]Sample{}, binding: f.c.binding, account: f.account,
	}
	for index, sample := range f.others {
		switch index {
		case canaryCall:
			e.Canary = &sample
		case probeCall:
			e.Probe = &sample
		case freeProbeCall:
			e.Free = &sample
		default:
			e.Aside[index] = sample
		}
	}
	return e
}

func (f *follower) verdict() certification.Verdict { return f.evidence().judgement().Verdict }
