package certify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/statistics"
)

// modelCount is how the answers of one model came out: how many, of these how many that meet the schema, of these
// how many that pass every check; and the cases that they are of.
type modelCount struct {
	all, structured, good int
	cases                 map[string]bool
}

func (m modelCount) with(o certification.Observation) modelCount {
	if o.Kind == certification.Trouble {
		return m
	}
	if m.cases == nil {
		m.cases = map[string]bool{}
	}
	m.cases[o.Case] = true
	m.all++
	if o.Kind == certification.Answered && len(o.Structure) == 0 {
		m.structured++
	}
	if good(o) {
		m.good++
	}
	return m
}

// proves reports whether these answers alone would reach the contract's thresholds, over all its cases.
func (m modelCount) proves(c *contracts.Contract) bool {
	t := c.Thresholds
	return len(m.cases) == len(c.Cases) && statistics.Proves(m.structured, m.all, t.Structure) &&
		statistics.Proves(m.good, m.structured, t.Business) && statistics.Proves(m.all, m.all, t.RoundTrip)
}

// asideModels are the models that answered what is no sample, as far as they are named: what such a call shows
// it shows of them.
func (e Evidence) asideModels() names {
	var found names
	for _, sample := range e.others() {
		if read := sample.reading(e.Pair); read.answered() {
			found.add(read.outcome.ServedModel)
		}
	}
	return found
}

// models are all that answered and are named.
func (e Evidence) models() []string {
	all := slices.Clone(e.account.models)
	for _, model := range e.asideModels() {
		all.add(model)
	}
	return all.list()
}

// provenModel is the model that a record is a proof of: the one that answered the canary, where that is known,
// else the one that gave most good answers. "" = the answers do not name theirs.
func (e Evidence) provenModel() string {
	if e.Canary != nil {
		if read := e.Canary.reading(e.Pair); read.answered() && read.outcome.ServedModel != "" {
			return read.outcome.ServedModel
		}
	}
	answers := e.account.answers
	if len(answers) == 0 {
		return ""
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(answers)), func(a, b string) int { return cmp.Compare(answers[a].good, answers[b].good) })
}

// ofOneModel certifies no mixture: where several models answered, or some answers do not say which did, one of
// them has to prove everything by its own answers, and no other may have answered a call that is made only once.
func (e Evidence) ofOneModel(j certification.Judgement) certification.Judgement {
	if j.Verdict != certification.Certified {
		return j
	}
	answers, model, aside := e.account.answers, e.provenModel(), e.asideModels()
	strangers := slices.ContainsFunc(aside, func(name string) bool { return name != model })
	_, answered := answers[model]
	unmixed := answered && len(answers) == 1
	if !strangers && (unmixed || answers[model].proves(e.Pair.Contract)) {
		return j
	}
	for i, d := range j.Dimensions {
		if d.Name == certification.DimensionRoundTrip {
			d.Status = certification.StatusNotJudged
			d.Findings = append(d.Findings, certification.Finding{
				Reason: certification.FindingSeveralModels, Count: max(2, len(answers), len(e.models())), Detail: oneLine(fmt.Sprintf(
					"several models answered, and the own answers of %q, which answered the canary or most, do not prove the contract: %s; canary, probes and control tokens %q", model, e.account.shares(), aside.list())),
			})
			j.Dimensions[i] = d
		}
	}
	j.Verdict = certification.VerdictOf(j.Dimensions)
	return j
}

// shares say which model gave how many answers.
func (a *account) shares() string {
	var said []string
	for _, model := range slices.Sorted(maps.Keys(a.answers)) {
		m, name := a.answers[model], fmt.Sprintf("%q", model)
		if model == "" {
			name = "without a name"
		}
		said = append(said, fmt.Sprintf("%s %d of %d good in %d cases", name, m.good, m.all, len(m.cases)))
	}
	return strings.Join(said, "; ")
}
