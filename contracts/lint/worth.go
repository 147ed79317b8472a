package lint

import (
	"fmt"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/contracts/structure"
)

// fewMutants is how many wrong answers say something of the checks that refuse them.
const fewMutants = 5

// mostForeign bounds how many cases' answers are tried in each other.
const mostForeign = 50

// foreign warns of answers that pass where another one is right, and of one that is right whatever is asked: a model
// that reads nothing and always gives it passes. Such answers are not among those that a score is made of: they are so
// wrong that most checks refuse them, and would make weak ones look better.
func (l *linter) foreign(program *business.Program) {
	var known []contracts.Case
	for _, each := range l.c.Cases {
		if each.Expected != nil && len(known) < mostForeign {
			known = append(known, each)
		}
	}
	taken, first := 0, "" // answers that pass where another one is right
	for _, from := range known {
		passed := 0
		for _, each := range known {
			if len(program.Judge(each.Input, from.Expected, each.Expected)) > 0 {
				continue
			}
			passed++
			if mutation.Alike(l.c, from.Expected, each.Expected) {
				continue
			}
			if taken++; taken == 1 {
				first = fmt.Sprintf("the answer to case %q passes in case %q, where another one is expected", from.Name, each.Name)
			}
		}
		if passed == len(known) && l.passesUnexpected(program, from) {
			l.report(from.File, 0, Warning, "the expected answer passes in every case: a model that reads nothing and always gives it would be certified; add a case with another answer")
			return
		}
	}
	if taken > 0 {
		l.at("$.checks", Warning, "%s (%d such pairs): a model that mixes its inputs up would not be noticed", first, taken)
	}
}

// passesUnexpected reports whether an answer passes in every case of which no right one is known, as far as those are tried.
func (l *linter) passesUnexpected(program *business.Program, from contracts.Case) bool {
	tried := 0
	for _, each := range l.c.Cases {
		if each.Expected != nil || tried == mostForeign {
			continue
		}
		if tried++; len(program.Judge(each.Input, from.Expected, nil)) > 0 {
			return false
		}
	}
	return true
}

// mutation demands that the checks refuse enough wrong answers.
func (l *linter) mutation(checker *structure.Checker, program *business.Program) *mutation.Report {
	report := mutation.Run(l.c, checker, program)
	if report.Total > 0 && report.Total < fewMutants {
		l.at("$.cases", Warning, "only %d wrong answers could be derived from the expected ones: what the checks are worth rests on few", report.Total)
	}
	if report.Total >= fewMutants && report.Passed() {
		for _, name := range report.Idle {
			l.at(l.checkPath(name), Warning, "check %q refuses none of the %d wrong answers that were tried: see whether it can refuse anything", name, report.Total)
		}
	}
	if report.Passed() {
		l.unchecked(report)
		return &report
	}
	at := "$.cases"
	for _, path := range []string{"$.checks", "$.mutation_floor"} { // the line that says most
		if report.Total > 0 && l.c.Line(path) > 0 {
			at = path
		}
	}
	l.at(at, Error, "%s, below mutation_floor %v: it can certify nothing", report, report.Floor)
	return &report
}

// unchecked names the places where every wrong answer passes: the others make up for them in the score.
func (l *linter) unchecked(report mutation.Report) {
	for _, place := range report.Pointers {
		if place.Killed == 0 && place.Total > 1 {
			l.at("$.checks", Warning, "nothing checks %s: none of the %d wrong answers that were tried there is refused; where any words will do, say free_text: [%[1]s]", place.Name, place.Total)
		}
	}
}

// floor warns of a contract that asks nothing of its own checks.
func (l *linter) floor(worth *mutation.Report) {
	if l.c.MutationFloor > 0 {
		return
	}
	refused := ""
	if worth != nil && worth.Total > 0 {
		refused = fmt.Sprintf(" (now the checks refuse %d of %d)", worth.Killed, worth.Total)
	}
	l.at("$.mutation_floor", Warning, "mutation_floor 0 asks nothing of the checks: wrong answers may pass unnoticed%s; leave it out, and 0.8 is asked", refused)
}

// unexpected warns of cases without an expected answer, whose samples the business dimension counts like the
// others. Where that is why nothing can be certified, it has been said.
func (l *linter) unexpected(worth *mutation.Report) {
	if worth != nil && worth.Cases == 0 && !worth.Passed() {
		return
	}
	first, without := 0, 0
	for i, each := range l.c.Cases {
		if each.Expected != nil {
			continue
		}
		if without++; without == 1 {
			first = i
		}
	}
	if without == 0 {
		return
	}
	more, have := "", "has"
	if without > 1 {
		more, have = fmt.Sprintf(" and %d more", without-1), "have"
	}
	l.report(l.c.Cases[first].File, 0, Warning,
		"case %q%s, of %d, %s no expected answer: whatever the checks' rules alone let pass there counts as right; say what is expected",
		l.c.Cases[first].Name, more, len(l.c.Cases), have)
}
