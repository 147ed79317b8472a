package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/lint"
	"github.com/fallproof/fallproof/service/config"
)

func (p *program) contractsCommand() *cobra.Command {
	return group("contracts", "Contract folders", p.contractsLintCommand())
}

func (p *program) contractsLintCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use: "lint [NAME|FOLDER…]", Short: "Say what is wrong with contracts before anybody pays for certifying them",
		Long:    "Without arguments all contracts of the catalogue are looked at. Exit 1 when there are errors; warnings alone are 0.",
		Example: "  fallproof contracts lint\n  fallproof contracts lint invoice-extraction ./contracts/my-contract --json",
		RunE:    func(_ *cobra.Command, args []string) error { return p.lint(args, asJSON) },
	}
	command.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts")
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

func (p *program) lint(names []string, asJSON bool) error {
	c, err := p.load()
	if err != nil {
		return err
	}
	linted, err := selectContracts(c, names)
	if err != nil {
		return err
	}
	code, findings := exitOK, []finding{}
	for _, contract := range linted {
		problems := lint.Lint(contract)
		if lint.Failed(problems) {
			code = exitNo
		}
		for _, each := range problems {
			findings = append(findings, finding{contract.Name, each.File, each.Line, each.Severity, each.Message})
		}
	}
	if asJSON {
		err = p.printJSON(findings)
	} else {
		err = p.printFindings(linted, findings)
	}
	if err != nil {
		return err
	}
	return exit(code)
}

func (p *program) printFindings(linted []*contracts.Contract, findings []finding) error {
	worst := map[string]lint.Severity{}
	for _, f := range findings {
		at := f.Contract + "/" + f.File
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, f.Line)
		}
		s := doubt
		if f.Severity == lint.Error {
			s = bad
		}
		if worst[f.Contract] != lint.Error {
			worst[f.Contract] = f.Severity
		}
		if err := p.print(fmt.Sprintf("%s: %s: %s\n", visible(at), p.paint(s, string(f.Severity)), visible(f.Message))); err != nil {
			return err
		}
	}
	for _, contract := range linted {
		word := p.paint(good, "good")
		switch worst[contract.Name] {
		case lint.Error:
			word = p.paint(bad, "has errors")
		case lint.Warning:
			word = p.paint(doubt, "usable, with warnings")
		}
		if err := p.print(fmt.Sprintf("%s: %s\n", contract.Name, word)); err != nil {
			return err
		}
	}
	return nil
}

// selectContracts takes each name as one of the catalogue, else as a contract folder.
func selectContracts(c *config.Config, names []string) ([]*contracts.Contract, error) {
	if len(names) == 0 {
		return c.Catalog.All(), nil
	}
	var selected []*contracts.Contract
	for _, name := range names {
		contract, ok := c.Catalog.Get(name)
		if !ok {
			var err error
			if contract, err = loadFolder(c, name); err != nil {
				return nil, err
			}
		}
		selected = append(selected, contract)
	}
	return selected, nil
}

func loadFolder(c *config.Config, folder string) (*contracts.Contract, error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		_, err := contractNamed(c, folder)
		return nil, usage(fmt.Errorf("%w; nor is there such a folder", err))
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, usage(err)
	}
	contract, err := contracts.Load(os.DirFS(filepath.Dir(absolute)), filepath.Base(absolute))
	var fault *contracts.FileError
	if errors.As(err, &fault) {
		located := *fault
		located.File = filepath.Join(filepath.Dir(folder), filepath.FromSlash(fault.File))
		return nil, usage(&located)
	}
	if err != nil {
		return nil, usage(err)
	}
	return contract, nil
}
