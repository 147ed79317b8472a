package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts/value"
)

func (p *program) jobsResolveCommand(flags *jobsFlags) *cobra.Command {
	var outcome, result, note string
	command := &cobra.Command{
		Use: "resolve ID NUMBER", Short: "Say how an attempt in doubt ended", Args: cobra.ExactArgs(2),
		Long: "Use it when you have found out at the provider. A result that is given must meet the contract's schema and checks.",
		Example: "  fallproof jobs resolve 0197b1c4-0000-7000-8000-000000000000 1 --outcome failed --note 'not in the provider log'\n" +
			"  fallproof jobs resolve 0197b1c4-0000-7000-8000-000000000000 1 --outcome succeeded --result @answer.json --note 'found in the provider log'",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := attemptPath(args)
			if err != nil {
				return err
			}
			body, err := p.resolution(outcome, result, note)
			if err != nil {
				return err
			}
			return p.show(cmd.Context(), flags, http.MethodPost, path+"/resolve", nil, body, p.describeAttempt)
		},
	}
	command.Flags().StringVar(&outcome, "outcome", "", "failed or succeeded (required)")
	command.Flags().StringVar(&result, "result", "", "the answer as JSON, @FILE, or - for stdin; with --outcome succeeded")
	command.Flags().StringVar(&note, "note", "", "how you know (required); kept in the job's history")
	return command
}

func (p *program) resolution(outcome, result, note string) (map[string]any, error) {
	switch {
	case outcome != "failed" && outcome != "succeeded":
		return nil, usagef("--outcome %q: want failed or succeeded", outcome)
	case strings.TrimSpace(note) == "":
		return nil, usagef("--note is required: how you know; it is kept in the job's history")
	case outcome == "failed" && result != "":
		return nil, usagef("--result goes with --outcome succeeded only")
	case outcome == "succeeded" && result == "":
		return nil, usagef("--result is required with --outcome succeeded: what the answer was")
	}
	body := map[string]any{"outcome": outcome, "note": note}
	if result != "" {
		text, err := p.readArgument(result)
		if err != nil {
			return nil, usagef("--result: %w", err)
		}
		if _, err := value.Decode(text); err != nil {
			return nil, usagef("--result: %w", err)
		}
		body["result"] = jsontext.Value(bytes.TrimSpace(text))
	}
	return body, nil
}

// readArgument is the text itself, the content of @FILE, or stdin for -.
func (p *program) readArgument(argument string) ([]byte, error) {
	if argument == "-" {
		return io.ReadAll(p.stdin)
	}
	if path, ok := strings.CutPrefix(argument, "@"); ok {
		return os.ReadFile(path)
	}
	return []byte(argument), nil
}

func (p *program) jobsReleaseCommand(flags *jobsFlags) *cobra.Command {
	var note string
	command := &cobra.Command{
		Use: "release ID NUMBER", Short: "Stop waiting for an attempt in doubt; it may still win", Args: cobra.ExactArgs(2),
		Example: "  fallproof jobs release 0197b1c4-0000-7000-8000-000000000000 1 --note 'a second answer does no harm'",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := attemptPath(args)
			if err != nil {
				return err
			}
			return p.show(cmd.Context(), flags, http.MethodPost, path+"/release", nil, noteBody(note), p.describeAttempt)
		},
	}
	command.Flags().StringVar(&note, "note", "", "why; kept in the job's history")
	return command
}

func (p *program) jobsCancelCommand(flags *jobsFlags) *cobra.Command {
	var note string
	command := &cobra.Command{
		Use: "cancel ID [NUMBER]", Short: "Cancel a job, or one attempt of it, which can then never win", Args: cobra.RangeArgs(1, 2),
		Example: "  fallproof jobs cancel 0197b1c4-0000-7000-8000-000000000000\n  fallproof jobs cancel 0197b1c4-0000-7000-8000-000000000000 2 --note 'wrong target'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if note != "" {
					return usagef("--note goes with the cancelling of an attempt")
				}
				return p.show(cmd.Context(), flags, http.MethodPost, jobPath(args[0])+"/cancel", nil, nil, p.describeJob)
			}
			path, err := attemptPath(args)
			if err != nil {
				return err
			}
			return p.show(cmd.Context(), flags, http.MethodPost, path+"/cancel", nil, noteBody(note), p.describeAttempt)
		},
	}
	command.Flags().StringVar(&note, "note", "", "why; kept in the job's history")
	return command
}

func attemptPath(args []string) (string, error) {
	number, err := strconv.Atoi(args[1])
	if err != nil || number < 1 {
		return "", usagef("attempt %q: want its number, from 1", args[1])
	}
	return jobPath(args[0]) + "/attempts/" + strconv.Itoa(number), nil
}

func noteBody(note string) map[string]any {
	if note == "" {
		return map[string]any{}
	}
	return map[string]any{"note": note}
}
