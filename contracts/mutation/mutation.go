package mutation

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/statistics"
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
	Idle          []string // checks that refuse no mutant, as the contract names them
}

// String is the score in a few words.
func (r Report) String() string { return Words(r.Killed, r.Total, r.Cases) }

// Words says a score for people. Of a score of nothing they say why.
func Words(killed, total, cases int) string {
	switch {
	case cases == 0:
		return "mutation score 0: no case has an expected answer, so the checks have never been tried"
	case total == 0:
		return "mutation score 0: no wrong answer can be derived from the expected ones that satisfies the schema"
	}
	return fmt.Sprintf("mutation score %s: the checks refuse %d of %d wrong answers", statistics.Shown(float64(killed)/float64(total)), killed, total)
}

// Passed reports whether the score reaches the contract's floor.
func (r Report) Passed() bool { return r.Score >= r.Floor }

// Run runs the contract's checks, compiled, on every mutant.
func Run(c *contracts.Contract, checker *structure.Checker, program *business.Program) Report {
	t := &trial{report: Report{Floor: c.MutationFloor}, operators: map[string]*Tally{}, pointers: map[string]*Tally{}}
	source, busy := newSource(c, checker), map[string]bool{}
	for _, each := range c.Cases {
		if each.Expected == nil {
			continue
		}
		t.report.Cases++
		known, rules := newKiller(program, each, each.Expected), newKiller(program, each, nil)
		for _, mutant := range source.mutants(each) {
			by := known.killers(mutant.Answer)
			for _, check := range by {
				busy[check] = true
			}
			t.count(mutant, len(by) > 0, rules.kills(mutant.Answer))
		}
	}
	for _, check := range c.Checks {
		if !busy[check.Name] {
			t.report.Idle = append(t.report.Idle, check.Name)
		}
	}
	return t.finish()
}

// Score is the part of [Run]'s report that a record holds, for less than half of the work, which all processors share:
// the first call of a certification waits for it.
func Score(c *contracts.Contract, checker *structure.Checker, program *business.Program) (killed, total int) {
	source := newSource(c, checker)
	var killedAll, totalAll atomic.Int64
	cases := make(chan contracts.Case)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for each := range cases {
				known, mutants := newKiller(program, each, each.Expected), source.mutants(each)
				totalAll.Add(int64(len(mutants)))
				for _, mutant := range mutants {
					if known.kills(mutant.Answer) {
						killedAll.Add(1)
					}
				}
			}
		})
	}
	for _, each := range c.Cases {
		if each.Expected != nil {
			cases <- each
		}
	}
	close(cases)
	workers.Wait()
	return int(killedAll.Load()), int(totalAll.Load())
}

// killer runs the checks on wrong answers. A check that the right answer does not pass tells nothing, and an
// expression that needs an expected answer where there is none is such a one.
type killer struct {
	program  *business.Program
	input    any
	expected any
	mute     map[string]bool
}

func newKiller(program *business.Program, each contracts.Case, expected any) killer {
	k := killer{program, each.Input, expected, map[string]bool{}}
	for _, f := range program.Judge(each.Input, each.Expected, expected) {
		k.mute[f.Check] = true
	}
	return k
}

// killers are the checks that refuse an answer.
func (k killer) killers(answer any) []string {
	var names []string
	for _, f := range k.program.Judge(k.input, answer, k.expected) {
		if !k.mute[f.Check] {
			names = append(names, f.Check)
		}
	}
	return names
}

func (k killer) kills(answer any) bool { return k.program.Refuses(k.input, answer, k.expected, k.mute) }

type trial struct {
	report    Report
	operators map[string]*Tally
	pointers  map[string]*Tally
}

func (t *trial) count(m Mutant, killed, byRules bool) {
	t.report.Total++
	for _, tally := range []*Tally{tallyOf(t.operators, string(m.Operator)), tallyOf(t.pointers, Place(m.Pointer))} {
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
