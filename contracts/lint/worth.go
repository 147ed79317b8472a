package lint

import (
	"fmt"

	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/contracts/structure"
)

// mutation demands that the checks refuse enough wrong answers.
func (l *linter) mutation(checker *structure.Checker, program *business.Program) *mutation.Report {
	report := mutation.Run(l.c, checker, program)
	if report.Passed() {
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
