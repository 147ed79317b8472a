package mutation

import (
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/structure"
)

// Mutant is one wrong answer.
type Mutant struct {
	Case     string
	File     string // of the case, inside the contract's folder
	Operator Operator
	Pointer  string // JSON pointer into the answer
	Change   string // what was made of what, for people
	Answer   any
}

// Tally counts mutants of one operator, or at one place.
type Tally struct {
	Name    string
	Killed  int
	ByRules int // without an expected answer known
	Total   int
}

// Report is what the checks are worth.
type Report struct {
	Killed, Total int
	ByRules       int     // killed without an expected answer known
	Score         float64 // Killed of Total; 0 where there are none
	Floor         float64 // what the contract demands
	Cases         int     // that have an expected answer
	Operators     []Tally // sorted by name
	Pointers      []Tally // sorted by name; * stands for any index
	Survivors     []Mutant
}

// Passed reports whether the score reaches the contract's floor.
func (r Report) Passed() bool { return r.Score >= r.Floor }

// Test runs the contract's checks on every mutant. Its error says why the schema or a check does not compile.
func Test(c *contracts.Contract) (Report, error) {
	checker, err := structure.Compile(c)
	if err != nil {
		return Report{}, err
	}
	program, err := business.Compile(c)
	if err != nil {
		return Report{}, err
	}
	return Run(c, checker, program), nil
}

// Run is [Test] for who has compiled schema and checks already.
func Run(c *contracts.Contract, checker *structure.Checker, program *business.Program) Report {
	t := &trial{report: Report{Floor: c.MutationFloor}, operators: map[string]*Tally{}, pointers: map[string]*Tally{}}
	source := newSource(c, checker)
	for _, each := range c.Cases {
		if each.Expected == nil {
			continue
		}
		t.report.Cases++
		known := killer{program, each.Input, each.Expected, failing(program, each.Input, each.Expected, each.Expected)}
		rules := killer{program, each.Input, nil, failing(program, each.Input, each.Expected, nil)}
		for _, mutant := range source.mutants(each) {
			t.count(mutant, known.kills(mutant.Answer), rules.kills(mutant.Answer))
		}
	}
	return t.finish()
}

// killer runs the checks on wrong answers. A check that the right answer does not pass tells nothing, and an
// expression that needs an expected answer where there is none is such a one.
type killer struct {
	program         *business.Program
	input, expected any
	mute            map[string]bool
}

func failing(program *business.Program, input, right, expected any) map[string]bool {
	mute := map[string]bool{}
	for _, f := range program.Judge(input, right, expected) {
		mute[f.Check] = true
	}
	return mute
}

func (k killer) kills(answer any) bool {
	return slices.ContainsFunc(k.program.Judge(k.input, answer, k.expected), func(f business.Finding) bool { return !k.mute[f.Check] })
}

type trial struct {
	report    Report
	operators map[string]*Tally
	pointers  map[string]*Tally
}

func (t *trial) count(m Mutant, killed, byRules bool) {
	t.report.Total++
	for _, tally := range []*Tally{tallyOf(t.operators, string(m.Operator)), tallyOf(t.pointers, general(m.Pointer))} {
		tally.Total++
		if killed {
			tally.Killed++
		}
		if byRules {
			tally.ByRules++
		}
	}
	if killed {
		t.report.Killed++
	} else {
		t.report.Survivors = append(t.report.Survivors, m)
	}
	if byRules {
		t.report.ByRules++
	}
}

func tallyOf(tallies map[string]*Tally, name string) *Tally {
	if tallies[name] == nil {
		tallies[name] = &Tally{Name: name}
	}
	return tallies[name]
}

func (t *trial) finish() Report {
	if t.report.Total > 0 {
		t.report.Score = float64(t.report.Killed) / float64(t.report.Total)
	}
	t.report.Operators, t.report.Pointers = sorted(t.operators), sorted(t.pointers)
	return t.report
}

func sorted(tallies map[string]*Tally) []Tally {
	var list []Tally
	for _, tally := range tallies {
		list = append(list, *tally)
	}
	slices.SortFunc(list, func(a, b Tally) int { return strings.Compare(a.Name, b.Name) })
	return list
}
