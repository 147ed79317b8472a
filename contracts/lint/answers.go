package lint

import (
	"fmt"
	"slices"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/contracts/structure"
)

// checks compiles the business checks; nil where one does not.
func (l *linter) checks() *business.Program {
	if len(l.c.Checks) == 0 {
		l.at("$.name", Warning, "no checks: an answer that fits the schema and is wrong will pass")
	}
	broken := false
	for i, check := range l.c.Checks {
		// One by one, so that each broken check is named and not only the first.
		_, err := business.Compile(&contracts.Contract{Checks: []contracts.Check{check}})
		if err != nil {
			broken = true
			l.at(fmt.Sprintf("$.checks[%d]", i), Error, "%s", err)
		}
	}
	if broken {
		return nil
	}
	program, err := business.Compile(l.c)
	if err != nil { // unreachable: each compiled alone
		l.at("$.checks", Error, "%s", err)
		return nil
	}
	return program
}

// expected demands that each expected answer would itself pass: satisfy the schema and every check. It
// reports whether all do.
func (l *linter) expected(checker *structure.Checker, program *business.Program) bool {
	before := len(l.problems)
	var refused []refusal
	cases := 0 // with an expected answer
	for _, each := range l.c.Cases {
		if each.Expected == nil {
			continue
		}
		cases++
		if checker != nil {
			for _, f := range checker.JudgeValue(each.Expected) {
				l.report(each.File, 0, Error, "expected answer: %s at %q: %s", f.Reason, f.InstancePath, f.Detail)
			}
		}
		if program != nil {
			wrong := program.Judge(each.Input, each.Expected, each.Expected)
			for _, f := range wrong {
				refused = append(refused, refusal{each.File, f})
			}
			if len(wrong) == 0 {
				l.asServed(program, each)
			}
			if other, differs := mutation.Reordered(l.c, each.Expected); differs && len(wrong) == 0 {
				for _, f := range program.Judge(each.Input, other, each.Expected) {
					l.report(each.File, 0, Error, "expected answer in another order, which unordered says is as right: check %q %s; compare it with sameSet", f.Check, f.Detail)
				}
			}
		}
	}
	l.refusals(refused, cases)
	return checker != nil && program != nil && len(l.problems) == before
}

// refusal is an expected answer that a check refuses.
type refusal struct {
	file string
	business.Finding
}

// refusals are the cases' fault, except where a check refuses all of several for one reason, as with a key that is misspelt.
func (l *linter) refusals(found []refusal, cases int) {
	times := map[business.Finding]int{}
	for _, each := range found {
		times[each.Finding]++
	}
	told := map[business.Finding]bool{}
	for _, each := range found {
		if cases == 1 || times[each.Finding] < cases {
			l.report(each.file, 0, Error, "expected answer: check %q %s", each.Check, each.Detail)
		} else if !told[each.Finding] {
			told[each.Finding] = true
			l.at(l.checkPath(each.Check), Error, "check %q refuses the expected answers of all %d cases that have one: it %s", each.Check, cases, each.Detail)
		}
	}
}

// asServed demands that a right answer passes where nobody knows that it is right, as in every job of the service:
// expected is null there.
func (l *linter) asServed(program *business.Program, each contracts.Case) {
	for _, f := range program.Judge(each.Input, each.Expected, nil) {
		message := fmt.Sprintf("check %q does not pass the right answer where expected is null, as it is in every job (%s): begin it with `expected == null ||`", f.Check, f.Detail)
		if !slices.ContainsFunc(l.problems, func(p Problem) bool { return p.Message == message }) {
			l.at(l.checkPath(f.Check), Error, "%s", message)
		}
	}
}

// checkPath is where a check stands.
func (l *linter) checkPath(name string) string {
	return fmt.Sprintf("$.checks[%d]", slices.IndexFunc(l.c.Checks, func(c contracts.Check) bool { return c.Name == name }))
}

// schema compiles the schema and looks at what it asks of targets; nil where it does not compile.
func (l *linter) schema() *structure.Checker {
	checker, err := structure.Compile(l.c)
	if err != nil {
		l.report(l.c.SchemaFile, 0, Error, "%s", err)
		return nil
	}
	for _, idle := range structure.Idles(l.c.Schema) {
		why := "JSON Schema has no such keyword, so it asks for nothing: see whether it is misspelt"
		if idle.Format != "" {
			why = fmt.Sprintf("no format %q is known, so it asks for nothing", idle.Format)
		}
		l.report(l.c.SchemaFile, 0, Warning, "%s: %s", idle.Pointer, why)
	}
	if !checker.DescribesObject() {
		l.report(l.c.SchemaFile, 0, Error, "the schema must describe an object and name its keys: an answer may hold no other")
	}
	return checker
}
