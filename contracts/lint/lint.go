// Package lint says what is wrong with a contract before anybody pays for a certification of it.
//
// It promises to find every fault that needs no provider: a schema, message or check that does not
// compile, a case that a message cannot render or does not use, an expected answer that its own
// contract would refuse, checks that let too many wrong answers pass, a threshold that no perfect provider
// could reach. What may work but often does not, such as schema keywords that strict modes refuse, is a
// warning; so is what makes a certification prove less than it seems to, such as cases that expect no
// answer in particular.
//
// What a target makes of the contract is certification's to say.
package lint

import (
	"fmt"
	"slices"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/contracts/structure"
	"github.com/fallproof/fallproof/contracts/value"
)

// Severity says whether a contract may be used in spite of a problem.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one thing wrong with a contract.
type Problem struct {
	File     string // path inside the contract's folder
	Line     int    // 0 = the file as a whole
	Severity Severity
	Message  string
}

// String is the problem as "FILE:LINE: severity: message".
func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s: %s: %s", at, p.Severity, p.Message)
}

const contractFile = "contract.yaml"

// Report is what was found about one contract.
type Report struct {
	Problems []Problem
	Mutation *mutation.Report // nil where other errors have to be mended first
}

// Examine lists a contract's problems, in an order that does not change (schema, messages, checks, expected answers,
// what the checks are worth, thresholds, cases), with the figures.
func Examine(c *contracts.Contract) Report {
	l := &linter{c: c}
	checker := l.schema()
	l.messages()
	program := l.checks()
	sound := l.expected(checker, program)
	var worth *mutation.Report
	if sound {
		if checker.DescribesObject() {
			l.keys()
		}
		worth = l.mutation(checker, program)
	}
	if sound && worth.Passed() {
		l.foreign(program)
	}
	l.floor(worth)
	l.unexpected(worth)
	l.thresholds()
	l.places()
	l.sameInputs()
	return Report{l.problems, worth}
}

// Faults lists what makes a contract certify nothing at any target, whatever it costs: a schema or a check that does not
// compile, an expected answer that the contract itself would refuse, a threshold that no number of answers proves. What
// its checks are worth is not looked at. checker and program are nil where they do not compile.
func Faults(c *contracts.Contract) (faults []Problem, checker *structure.Checker, program *business.Program) {
	l := &linter{c: c}
	checker, program = l.schema(), l.checks()
	l.expected(checker, program)
	l.unprovable()
	return slices.DeleteFunc(l.problems, func(p Problem) bool { return p.Severity != Error }), checker, program
}

// Failed reports whether any of the problems is an error.
func Failed(problems []Problem) bool {
	for _, p := range problems {
		if p.Severity == Error {
			return true
		}
	}
	return false
}

type linter struct {
	c        *contracts.Contract
	problems []Problem
}

func (l *linter) report(file string, line int, severity Severity, format string, args ...any) {
	l.problems = append(l.problems, Problem{file, line, severity, fmt.Sprintf(format, args...)})
}

// at reports a problem at a YAML path of contract.yaml.
func (l *linter) at(path string, severity Severity, format string, args ...any) {
	l.report(contractFile, l.c.Line(path), severity, format, args...)
}

// places warns of what is said of a part of answers that they do not have.
func (l *linter) places() {
	for _, said := range []struct {
		key    string
		places []string
	}{{"unordered", l.c.Unordered}, {"free_text", l.c.FreeText}} {
		for _, place := range said.places {
			if !mutation.Knows(l.c, place) {
				l.at("$."+said.key, Warning, "%s %s: no answer has such a place, by the schema or by what is expected; * stands for any index", said.key, place)
			}
		}
	}
}

// sameInputs warns of cases that draw the same sample twice, and so prove less than they count for.
func (l *linter) sameInputs() {
	first := map[string]contracts.Case{}
	for _, each := range l.c.Cases {
		input := string(value.Canonical(each.Input))
		other, known := first[input]
		switch {
		case !known:
			first[input] = each
		case each.Expected != nil && other.Expected != nil && !mutation.Alike(l.c, each.Expected, other.Expected):
			l.report(each.File, 0, Warning, "case %q has the same input as %s and another expected answer: unless the checks take one answer for both, no model is right in both", each.Name, other.File)
		default:
			l.report(each.File, 0, Warning, "case %q has the same input as %s: its samples prove nothing more", each.Name, other.File)
		}
	}
}
