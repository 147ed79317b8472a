package certification

// Progress follows a run while its samples come in, so that it may end as soon as nothing that is still
// missing can change the verdict. That is curtailed sampling: the verdict is the one that the whole run
// would have had, so its error rate is too; provider trouble that calls never made could have met is left out of
// account. It takes as much memory for many samples as for few.
type Progress struct {
	tally *tally
}

// NewProgress follows a run of so many planned samples over the cases of those names.
func NewProgress(planned int, cases []string, thresholds Thresholds) *Progress {
	return &Progress{tally: newTally(planned, cases, thresholds)}
}

// Add counts one sample. It is not safe for concurrent use.
func (p *Progress) Add(o Observation) { p.tally.add(o) }

// Rejected reports whether a dimension has failed, whatever is still to come. It does not say so before
// every case was seen once: who is told what is wrong wants to hear of every input.
func (p *Progress) Rejected() bool {
	return p.ready() && (p.tally.surelyFails(p.tally.structure) || p.tally.surelyFails(p.tally.business) || p.tally.surelyFails(p.tally.roundTrip))
}

// Certain reports whether all three rates have passed, whatever is still to come.
func (p *Progress) Certain() bool {
	t := p.tally
	return p.ready() && t.surelyPasses(t.structure) && t.surelyPasses(t.business) && t.surelyPasses(t.roundTrip)
}

// Spent reports whether provider trouble has taken so much that the run cannot be conclusive.
func (p *Progress) Spent() bool { return TroubleBudgetSpent(p.tally.disturbed, p.tally.planned) }

// Taken is how many samples were counted.
func (p *Progress) Taken() int { return p.tally.taken }

// Judge is [Judge] of the samples that were counted. It may be asked while others still come in.
func (p *Progress) Judge(c Circumstances) Judgement { return p.tally.judgement(c) }

// Reason is by what name findings call an unusable sample's reason, all samples considered: where a provider
// refuses every single call, that has a name of its own.
func (p *Progress) Reason(one string) string { return p.tally.reason(one) }

func (p *Progress) ready() bool { return !p.Spent() && len(p.tally.unseen()) == 0 }
