package certify

import (
	"maps"

	"github.com/fallproof/fallproof/contracts/certification"
)

// follower watches a run's calls come in, and says when no further one is needed. It is not safe for
// concurrent use.
type follower struct {
	c        *collector
	have     samples
	observed map[slot]certification.Observation
	progress *certification.Progress
	watch    *observer
	checked  bool // the first round was judged as a whole
	weighed  bool // a run whose rates all pass was judged as a whole
	decided  bool
}

// follow starts with what is there already.
func (c *collector) follow(have samples) *follower {
	contract := c.pair.Contract
	f := &follower{
		c: c, have: samples{}, observed: map[slot]certification.Observation{}, watch: newObserver(c.pair, c.binding),
		progress: certification.NewProgress(
			len(contract.Cases)*samplesPerCase(c.pair, c.options), len(contract.Cases), certification.Thresholds(contract.Thresholds)),
	}
	for _, where := range c.plan() {
		if sample, ok := have[where]; ok {
			f.add(where, sample)
		}
	}
	return f
}

func (f *follower) add(where slot, sample Sample) {
	f.have[where] = sample
	if where.isSample() {
		f.observed[where] = f.watch.observe(sample, sample.reading(f.c.pair))
		f.progress.Add(f.observed[where])
	}
	if !f.c.options.Complete && !f.decided {
		f.decided = f.decides()
	}
}

// spent: provider trouble has ended the run.
func (f *follower) spent() bool { return f.progress.Spent() }

// over: nothing that is still missing can change the verdict.
func (f *follower) over() bool { return f.decided || f.spent() }

// decides asks the figures first, and the judgement of the whole only at the two moments at which they
// cannot know: after the first round, when the prompt dimension is settled, and when all rates pass.
func (f *follower) decides() bool {
	if f.progress.Rejected() {
		return true
	}
	if !f.checked && f.firstRound() {
		f.checked = true
		if f.verdict() == certification.Rejected {
			return true
		}
	}
	if f.checked && !f.weighed && f.progress.Certain() {
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
		if _, ok := f.have[where]; !ok {
			return false
		}
	}
	return true
}

// evidence is what is there, with what was seen of it.
func (f *follower) evidence() Evidence {
	e := f.c.evidence(f.have)
	e.observed = maps.Clone(f.observed)
	return e
}

func (f *follower) verdict() certification.Verdict {
	judgement, err := judge(f.evidence())
	if err != nil {
		return certification.Inconclusive // said when the run is judged
	}
	return judgement.Verdict
}
