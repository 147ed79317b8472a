package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/providers/simulator"
)

func (p *program) simulateCommand() *cobra.Command {
	var listen string
	var models []string
	command := &cobra.Command{
		Use: "simulate", Short: "Run the provider simulator alone", Args: cobra.NoArgs,
		Long: "Serves a simulated OpenAI-compatible provider. A model whose name is a personality, or ends in one, behaves\n" +
			"that way; --model gives any other name one. They are:\n" + personalityNames() +
			"some take an argument, as in late:3s, overloaded:500, flaky:20, renamed:MODEL or hold:late:1s.\n" +
			"The first line on stdout is the base URL; the ledger of all requests is at /simulator/ledger, and models\n" +
			"are changed while it runs: PUT /simulator/models/NAME {\"personality\": …, \"questions\": …, \"idempotency\": …}.\n\n" +
			exits{ok: "it was told to stop (SIGTERM, SIGINT), and did", no: "it failed while it ran", usage: "the command is wrong, or the address cannot be listened on"}.String(),
		Example: "  fallproof simulate --listen 127.0.0.1:4010\n" +
			"  fallproof simulate --listen 127.0.0.1:0 --model alpha-large=faithful --model beta-medium=late:5s",
		RunE: func(cmd *cobra.Command, _ []string) error {
			personalities, err := parseModels(models)
			if err != nil {
				return err
			}
			return p.simulate(cmd.Context(), listen, personalities)
		},
	}
	command.Flags().StringVar(&listen, "listen", "127.0.0.1:4010", "address to listen on; port 0 takes a free one")
	command.Flags().StringArrayVar(&models, "model", nil, "NAME=PERSONALITY; may be repeated")
	return command
}

// personalityNames are all of them, in lines.
func personalityNames() string {
	var lines strings.Builder
	length := 0
	for _, kind := range simulator.Kinds() {
		if length += len(kind) + 2; length > 96 {
			lines.WriteString("\n")
			length = len(kind) + 2
		}
		lines.WriteString("  " + string(kind))
	}
	return lines.String() + "\n"
}

func parseModels(written []string) (map[string]simulator.Personality, error) {
	models := map[string]simulator.Personality{}
	for _, each := range written {
		name, text, found := strings.Cut(each, "=")
		if !found || name == "" {
			return nil, usagef("--model %q: want NAME=PERSONALITY", each)
		}
		personality, err := simulator.ParsePersonality(text)
		if err != nil {
			return nil, usagef("--model %s: %w", name, err)
		}
		models[name] = personality
	}
	return models, nil
}

func (p *program) simulate(ctx context.Context, listen string, models map[string]simulator.Personality) (err error) {
	server, err := simulator.Listen(listen, simulator.Config{Models: models})
	if err != nil {
		return usage(err)
	}
	defer closing(server, &err)
	if err := p.print(fmt.Sprintf("simulating a provider at %s\n", server.BaseURL())); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		if err != nil {
			return failed(err)
		}
		return nil
	}
}
