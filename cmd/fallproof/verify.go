package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/suites/breakpoints"
)

func (p *program) verifyCommand() *cobra.Command {
	options := breakpoints.Options{}
	command := &cobra.Command{
		Use: "verify", Short: "Put a running deployment through the breakpoints suite", Args: cobra.NoArgs,
		Long: "Double clicks, doubt, races and failover, from outside: over HTTP, against a deployment whose route leads to\n" +
			"the provider simulator. After every scenario the simulator's ledger is compared with the attempts, call for\n" +
			"call. What needs a restart, the command line or a second owner is left to the project's own tests: lost\n" +
			"replicas, shutdown, changed contracts and profiles, expiring and revoked proofs, owners, scopes, slots.\n\n" +
			"The key needs the scopes client and operator. The deployment should do nothing else meanwhile: personalities\n" +
			"of the route's models are changed, and restored. Each scenario of doubt waits for the primary's soft deadline,\n" +
			"so a short one makes this short. Contract and targets are found by themselves: the first contract whose route\n" +
			"has a certified fallback; for a contract that is not shipped, --input gives an input that the simulator can\n" +
			"answer.\n\n" +
			exits{ok: "every scenario passed", no: "some failed", usage: "they could not be run"}.String(),
		Example: "  fallproof verify --url http://127.0.0.1:8080 --key fp_0123 --simulator http://127.0.0.1:4010\n" +
			"  fallproof verify --url http://127.0.0.1:8080 --simulator http://127.0.0.1:4010 --contract triage --input @input.json --only doubt",
		RunE: func(cmd *cobra.Command, _ []string) error { return p.verify(cmd.Context(), options) },
	}
	flags := command.Flags()
	flags.StringVar(&options.Deployment.URL, "url", "", "address of the service (default "+urlVariable+", else this configuration's listener)")
	flags.StringVar(&options.Deployment.Key, "key", "", "API key (default "+keyVariable+")")
	flags.StringVar(&options.Deployment.Simulator, "simulator", "http://127.0.0.1:4010", "address of the simulator behind it")
	flags.StringVar(&options.Deployment.Contract, "contract", "", "the contract whose route is used")
	flags.StringVar(&options.Deployment.Input, "input", "", "an input of the contract as JSON, or @FILE")
	flags.DurationVar(&options.Deployment.Patience, "patience", 0, "how long to wait for anything to happen; more than the primary's soft deadline (default 2m)")
	flags.StringVar(&options.Only, "only", "", "only scenarios whose names match this regular expression")
	flags.BoolVar(&options.Verbose, "verbose", false, "name every scenario")
	flags.StringVar(&options.JUnit, "junit", "", "write a JUnit report to this file")
	return command
}

func (p *program) verify(ctx context.Context, options breakpoints.Options) error {
	deployment := &options.Deployment
	deployment.Key = strings.TrimSpace(deployment.Key)
	if deployment.Key == "" {
		deployment.Key = strings.TrimSpace(p.getenv(keyVariable))
	}
	if deployment.Key == "" {
		return usagef("--key is required: an API key with the scopes client and operator, from fallproof keys create")
	}
	base, err := p.serviceURL(deployment.URL)
	if err != nil {
		return err
	}
	deployment.URL = base
	if file, ok := strings.CutPrefix(deployment.Input, "@"); ok {
		content, err := os.ReadFile(file)
		if err != nil {
			return usage(err)
		}
		deployment.Input = string(content)
	}
	options.Out, options.Terminal = p.stdout, isTerminal(p.stdout)
	result, err := breakpoints.Verify(ctx, options)
	if err != nil {
		return usage(err)
	}
	if result.Failed > 0 {
		return failed(fmt.Errorf("%d of %d scenarios failed", result.Failed, result.Failed+result.Passed))
	}
	return p.print(fmt.Sprintf("%d scenarios passed\n", result.Passed))
}
