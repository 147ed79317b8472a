package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/lint"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/service/config"
)

func (p *program) contractsShowCommand() *cobra.Command {
	var named, target string
	var asJSON bool
	command := &cobra.Command{
		Use: "show NAME|FOLDER", Short: "Show a contract, or the exact request that a case sends to a target", Args: cobra.ExactArgs(1),
		Long: "Without --case: what the contract promises and asks, and what certifying it costs. With --case: the request as\n" +
			"it would leave for --target (default the primary of the contract's route), without the key, the prompt as the\n" +
			"target's chat template renders it, where one is declared, what is wrong with either, and what it costs.\n" +
			"Nobody is called, and nothing is paid for.",
		Example: "  fallproof contracts show invoice-extraction\n" +
			"  fallproof contracts show support-triage --case 'charged twice' --target alpha/alpha-large",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.load()
			if err != nil {
				return err
			}
			chosen, err := selectContracts(c, args)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("case") {
				return p.showRequest(c, chosen[0], named, target, asJSON)
			}
			return p.showContract(c, chosen[0], target, asJSON)
		},
	}
	command.Flags().StringVar(&named, "case", "", "the case whose request is shown")
	command.Flags().StringVar(&target, "target", "", "the PROVIDER/MODEL (default those of the contract's route)")
	command.Flags().BoolVar(&asJSON, "json", false, "JSON for scripts")
	return command
}

// shownContract is a contract as scripts read it.
type shownContract struct {
	Name         string             `json:"name"`
	Digest       string             `json:"digest"`
	Effects      contracts.Effects  `json:"effects"`
	ReleaseAfter string             `json:"release_after,omitzero"`
	ValidFor     string             `json:"valid_for"`
	Require      []string           `json:"require,omitempty"`
	Keys         []string           `json:"keys"`
	Variants     []string           `json:"variants,omitempty"`
	Samples      int                `json:"samples"`
	Temperature  float64            `json:"temperature"`
	MaxOutput    int                `json:"max_output_tokens,omitzero"`
	Checks       []shownCheck       `json:"checks"`
	Cases        []shownCase        `json:"cases"`
	Prompt       float64            `json:"prompt_threshold"`
	Thresholds   []thresholdFigures `json:"thresholds"`
	Mutation     *mutationFigures   `json:"mutation"`
	Targets      []targetFigures    `json:"targets"`
}

type shownCheck struct {
	Name string `json:"name"`
	Expr string `json:"expr"`
}

type shownCase struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Expected bool   `json:"expected"` // whether the right answer is known
}

func (p *program) showContract(c *config.Config, contract *contracts.Contract, target string, asJSON bool) error {
	shown := shownContract{
		Name: contract.Name, Digest: contract.Digest(), Effects: contract.Effects, ValidFor: contract.ValidFor.String(),
		Require: contract.Require, Keys: keysOf(contract.Schema), Samples: contract.Sampling.Samples,
		Temperature: contract.Sampling.Temperature, MaxOutput: contract.Sampling.MaxOutputTokens,
		Prompt: contract.Thresholds.Prompt, Thresholds: thresholdsOf(contract), Targets: []targetFigures{},
		Checks: []shownCheck{}, Cases: []shownCase{}, Mutation: mutationOf(lint.Examine(contract).Mutation),
	}
	if contract.ReleaseAfter > 0 {
		shown.ReleaseAfter = contract.ReleaseAfter.String()
	}
	shown.Variants = slices.Sorted(maps.Keys(contract.Variants))
	for _, check := range contract.Checks {
		shown.Checks = append(shown.Checks, shownCheck(check))
	}
	for _, each := range contract.Cases {
		shown.Cases = append(shown.Cases, shownCase{each.Name, each.File, each.Expected != nil})
	}
	pairs, err := pairsOf(c, contract, target)
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		figures, err := figuresAt(c, pair)
		if err != nil {
			return failed(fmt.Errorf("at %s: %w (fallproof contracts lint %s says where)", pair.Target, err, contract.Name))
		}
		shown.Targets = append(shown.Targets, figures)
	}
	if asJSON {
		return p.printJSON(shown)
	}
	return p.print(shown.text(p, contract))
}

// keysOf are the keys of the answer that a schema names at its top, required or not.
func keysOf(schema []byte) []string {
	document, _ := value.Decode(schema) // what does not decode is lint's to say
	object, _ := document.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

func (s shownContract) text(p *program, contract *contracts.Contract) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-11s %s\n", label, visible(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintln(&b, p.paint(strong, s.Name))
	effects := string(s.Effects)
	if s.ReleaseAfter != "" {
		effects += ", an attempt in doubt may be released after " + s.ReleaseAfter
	}
	line("effects", "%s", effects)
	line("answer", "%s", strings.Join(s.Keys, ", "))
	line("sampling", "temperature %v, %d samples of each case, %s", s.Temperature, s.Samples, limitWords(s.MaxOutput))
	line("valid for", "%s", s.ValidFor)
	if len(s.Require) > 0 {
		line("requires", "%s", strings.Join(s.Require, ", "))
	}
	if len(s.Variants) > 0 {
		line("variants", "%s", strings.Join(s.Variants, ", "))
	}
	for _, check := range s.Checks {
		line("check", "%s", check.Name)
	}
	for _, each := range s.Cases {
		words := each.Name
		if !each.Expected {
			words += " (the right answer is not known)"
		}
		line("case", "%s", words)
	}
	if s.Mutation != nil {
		line("checks kill", "%d of %d wrong answers, %d by rules alone (floor %v)", s.Mutation.Killed, s.Mutation.Total, s.Mutation.ByRules, s.Mutation.Floor)
	}
	line("thresholds", "prompt %v exactly; perfect answers needed: %s", s.Prompt, thresholdWords(contract))
	for _, at := range s.Targets {
		line("costs", "%s: %s", at.Target, at.Most)
	}
	return b.String()
}

func limitWords(limit int) string {
	if limit == 0 {
		return "no limit of tokens"
	}
	return fmt.Sprintf("at most %d tokens", limit)
}
