package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/lint"
	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/suites/certify"
)

func (p *program) contractsLintCommand() *cobra.Command {
	var asJSON bool
	var target string
	command := &cobra.Command{
		Use: "lint [NAME|FOLDER…]", Short: "Say what is wrong with contracts before anybody pays for certifying them",
		Long: "Without arguments all contracts of the catalogue are looked at, each at the targets of its route, or at --target.\n" +
			"The checks are tried on wrong answers that are derived from the expected ones: a contract that refuses too few of\n" +
			"them (mutation_floor, 0.8 if not said) can certify nothing. Nobody is called, and nothing is paid for.\n" +
			"\n" + exits{ok: "there are no errors; there may be warnings", no: "there are errors", usage: "the command or the configuration is wrong, or a contract cannot be read"}.String(),
		Example: "  fallproof contracts lint\n  fallproof contracts lint invoice-extraction --target alpha/alpha-large\n" +
			"  fallproof contracts lint ./contracts/my-contract --json",
		RunE: func(_ *cobra.Command, args []string) error { return p.lint(args, target, asJSON) },
	}
	command.Flags().StringVar(&target, "target", "", "this PROVIDER/MODEL (default those of each contract's route)")
	command.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts, with every wrong answer that passes")
	return command
}

// finding is one problem as scripts read it.
type finding struct {
	Contract string        `json:"contract"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Severity lint.Severity `json:"severity"`
	Message  string        `json:"message"`
}

// linted is what was found of one contract.
type linted struct {
	Contract   string             `json:"contract"`
	Mutation   *mutationFigures   `json:"mutation"` // null where errors have to be mended first
	Thresholds []thresholdFigures `json:"thresholds"`
	Targets    []targetFigures    `json:"targets"`

	contract *contracts.Contract
	findings []finding
	worth    *mutation.Report
}

func (p *program) lint(names []string, target string, asJSON bool) error {
	c, err := p.load()
	if err != nil {
		return err
	}
	chosen, err := selectContracts(c, names)
	if err != nil {
		return err
	}
	code := exitOK
	all, findings := []linted{}, []finding{}
	for _, contract := range chosen {
		one, err := lintOne(c, contract, target)
		if err != nil {
			return err
		}
		if one.worst() == lint.Error {
			code = exitNo
		}
		all, findings = append(all, one), append(findings, one.findings...)
	}
	if asJSON {
		err = p.printJSON(map[string]any{"findings": findings, "contracts": all})
	} else {
		err = p.printLinted(all)
	}
	if err != nil {
		return err
	}
	return exit(code)
}

func lintOne(c *config.Config, contract *contracts.Contract, target string) (linted, error) {
	report := lint.Examine(contract)
	one := linted{
		Contract: contract.Name, Thresholds: thresholdsOf(contract), Targets: []targetFigures{},
		Mutation: mutationOf(report.Mutation), contract: contract, worth: report.Mutation,
	}
	one.add(report.Problems)
	one.add(strangers(c, contract))
	pairs, err := pairsOf(c, contract, target)
	if strict := func(p certify.Pair) bool { return p.Profile.StructuredOutput == providers.StructuredJSONSchema }; len(pairs) == 0 || slices.ContainsFunc(pairs, strict) {
		one.add(lint.Strict(contract))
	}
	if err != nil || one.worst() == lint.Error && report.Mutation == nil {
		return one, err // what does not compile is the same everywhere
	}
	for _, pair := range pairs {
		problems := lint.At(contract, pair.Target, pair.Profile, certify.Count)
		one.add(problems)
		if lint.Failed(problems) || !lint.Renders(contract, pair.Target) {
			continue
		}
		figures, err := figuresAt(c, pair)
		if err != nil {
			return one, failed(err)
		}
		one.Targets = append(one.Targets, figures)
	}
	return one, nil
}

// strangers warns of variants for targets that the configuration does not declare: nobody will ever be sent them.
func strangers(c *config.Config, contract *contracts.Contract) (problems []lint.Problem) {
	for _, name := range slices.Sorted(maps.Keys(contract.Variants)) {
		target, err := providers.ParseTarget(name)
		if _, declared := c.Profile(target); err != nil || declared || len(c.Providers) == 0 {
			continue
		}
		problems = append(problems, lint.Problem{
			File: "contract.yaml", Line: contract.Line(fmt.Sprintf("$.variants.'%s'", name)), Severity: lint.Warning,
			Message: fmt.Sprintf("variant %s is never used: %s", name, c.Undeclared(target)),
		})
	}
	return problems
}

func (l *linted) add(problems []lint.Problem) {
	for _, each := range problems {
		l.findings = append(l.findings, finding{l.Contract, each.File, each.Line, each.Severity, each.Message})
	}
}

// worst is "" where there is nothing to say.
func (l *linted) worst() lint.Severity {
	worst := lint.Severity("")
	for _, f := range l.findings {
		if worst != lint.Error {
			worst = f.Severity
		}
	}
	return worst
}

func (p *program) printLinted(all []linted) error {
	for _, one := range all {
		for _, f := range one.findings {
			if err := p.printFinding(f); err != nil {
				return err
			}
		}
		word := p.paint(good, "good")
		switch one.worst() {
		case lint.Error:
			word = p.paint(bad, "has errors")
		case lint.Warning:
			word = p.paint(doubt, "usable, with warnings")
		}
		if err := p.print(fmt.Sprintf("%s: %s\n", one.Contract, word)); err != nil {
			return err
		}
		if err := p.printFigures(one); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) printFinding(f finding) error {
	at := f.Contract + "/" + f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, f.Line)
	}
	s := doubt
	if f.Severity == lint.Error {
		s = bad
	}
	return p.print(fmt.Sprintf("%s: %s: %s\n", visible(at), p.paint(s, string(f.Severity)), visible(f.Message)))
}

// printFigures says what the checks are worth and what a certification costs.
func (p *program) printFigures(one linted) error {
	if one.worth == nil {
		return nil
	}
	if err := p.printWorth(one.Contract, *one.worth); err != nil {
		return err
	}
	if err := p.print("  perfect answers needed: " + thresholdWords(one.contract) + "\n"); err != nil {
		return err
	}
	for _, at := range one.Targets {
		text := fmt.Sprintf("  certification at %s: %s\n", at.Target, at.Most)
		if at.Least != nil && at.Least.Calls < at.Most.Calls {
			text += fmt.Sprintf("    of these at least: %s\n", at.Least)
		}
		if err := p.print(text); err != nil {
			return err
		}
	}
	return nil
}
