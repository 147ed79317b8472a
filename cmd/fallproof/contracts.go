package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/suites/certify"
)

func (p *program) contractsCommand() *cobra.Command {
	return group("contracts", "Contract folders", p.contractsLintCommand(), p.contractsShowCommand(), p.contractsNewCommand())
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

// pairsOf are a contract's pairs with a target that was asked for, or with those of its route.
func pairsOf(c *config.Config, contract *contracts.Contract, asked string) ([]certify.Pair, error) {
	route, routed := c.Routes[contract.Name]
	var targets []providers.Target
	switch {
	case asked != "":
		target, err := declaredTarget(c, asked)
		if err != nil {
			return nil, err
		}
		targets = []providers.Target{target}
	case routed:
		targets = append([]providers.Target{route.Primary}, route.Fallbacks...)
	}
	pairs := []certify.Pair{}
	for _, target := range targets {
		profile, _ := c.Profile(target) // routes name declared targets only
		pairs = append(pairs, certify.Pair{Contract: contract, Target: target, Profile: profile})
	}
	return pairs, nil
}
