package business

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
	"github.com/fallproof/fallproof/contracts"
)

// costLimit bounds what one check may cost, in CEL's own unit (about one operation, 2 µs): some five
// thousand lines of an invoice, each recalculated and summed up, are well within it.
const costLimit = 1_000_000

// Finding is one check that an answer did not pass, and why.
type Finding struct {
	Check  string
	Detail string
}

// CheckError is a check that cannot be compiled.
type CheckError struct {
	Check  string
	Detail string
}

func (e *CheckError) Error() string { return fmt.Sprintf("check %q: %s", e.Check, e.Detail) }

// Program is a contract's checks, compiled. It is safe for concurrent use.
type Program struct {
	checks []compiled
}

type compiled struct {
	name    string
	program cel.Program
}

// Compile compiles all checks. Its error is a *[CheckError], also for an expression that is not known
// to be a boolean.
func Compile(c *contracts.Contract) (*Program, error) {
	program := &Program{}
	for _, check := range c.Checks {
		one, err := compile(check)
		if err != nil {
			return nil, err
		}
		program.checks = append(program.checks, compiled{check.Name, one})
	}
	return program, nil
}

// Judge runs every check and returns those that did not come out true, in the contract's order.
// expected is nil where the case has none, and null in the expression.
func (p *Program) Judge(input, output, expected any) []Finding {
	var findings []Finding
	variables := variables(input, output, expected)
	for _, check := range p.checks {
		if detail := evaluate(check.program, variables); detail != "" {
			findings = append(findings, Finding{Check: check.name, Detail: detail})
		}
	}
	return findings
}

// Refuses reports whether any check but the excepted does not come out true; it stops at the first.
func (p *Program) Refuses(input, output, expected any, except map[string]bool) bool {
	variables := variables(input, output, expected)
	return slices.ContainsFunc(p.checks, func(check compiled) bool {
		return !except[check.name] && evaluate(check.program, variables) != ""
	})
}

func variables(input, output, expected any) map[string]any {
	if object, ok := expected.(map[string]any); ok && object == nil {
		expected = nil
	}
	return map[string]any{"input": input, "output": output, "expected": expected}
}

// evaluate is "" where the check holds.
func evaluate(program cel.Program, variables map[string]any) string {
	result, _, err := program.Eval(variables)
	switch {
	case err != nil:
		return "cannot be evaluated: " + err.Error()
	case result == types.True:
		return ""
	case result == types.False:
		return "does not hold"
	}
	return "is not a boolean"
}

// environment is the same for all contracts.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.CustomTypeAdapter(adapter{types.DefaultTypeAdapter}),
		cel.Variable("input", cel.DynType),
		cel.Variable("output", cel.DynType),
		cel.Variable("expected", cel.DynType),
		ext.Strings(),
	}
	return cel.NewEnv(slices.Concat(options, operatorOptions(), functionOptions(), setOptions())...)
})

func compile(check contracts.Check) (cel.Program, error) {
	env, err := environment()
	if err != nil { // unreachable: the options are constant, and tested
		return nil, err
	}
	parsed, issues := env.Parse(check.Expr)
	if issues.Err() != nil {
		return nil, checkError(check, issues)
	}
	exactLiterals(parsed, check.Expr)
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, checkError(check, issues)
	}
	if !checked.OutputType().IsExactType(cel.BoolType) {
		return nil, &CheckError{check.Name, fmt.Sprintf("is %s, not a boolean: compare it with something", describe(checked.OutputType()))}
	}
	return env.Program(checked, cel.CostLimit(costLimit), cel.CostTracking(costs{}))
}

func checkError(check contracts.Check, issues *cel.Issues) error {
	var lines []string
	for _, e := range issues.Errors() {
		lines = append(lines, fmt.Sprintf("column %d: %s", e.Location.Column()+1, e.Message))
	}
	return &CheckError{check.Name, strings.Join(lines, "; ")}
}

func describe(t *cel.Type) string {
	if t.IsExactType(cel.DynType) {
		return "a value of no certain type"
	}
	return t.String()
}
