package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fallproof/fallproof/contracts"
)

// exits are the codes of a verb, as its help text lists them.
type exits struct{ ok, no, usage, inconclusive string }

const exitsHeading = "Exit codes:"

func (e exits) String() string {
	text := fmt.Sprintf("%s\n  %d  %s\n  %d  %s\n  %d  %s", exitsHeading, exitOK, cmp.Or(e.ok, "done"),
		exitNo, cmp.Or(e.no, "it did not happen, or there is no such thing"),
		exitUsage, cmp.Or(e.usage, "the command or the configuration is wrong, or the store cannot be opened"))
	if e.inconclusive != "" {
		text += fmt.Sprintf("\n  %d  %s", exitInconclusive, e.inconclusive)
	}
	return text
}

// explainUsage has every verb say its exit codes in its help, and of a wrong call what the right one is.
func explainUsage(command *cobra.Command) {
	command.SetFlagErrorFunc(wrongFlag)
	if check := command.Args; check != nil {
		command.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return wrongArguments(cmd, args, err)
			}
			return nil
		}
	}
	if !command.HasSubCommands() && !strings.Contains(command.Long, exitsHeading) {
		command.Long = cmp.Or(command.Long, command.Short) + "\n\n" + exits{}.String()
	}
	for _, verb := range command.Commands() {
		explainUsage(verb)
	}
}

func wrongArguments(cmd *cobra.Command, args []string, err error) error {
	const distance = 2 // letters that a typing error changes
	switch cmd.SuggestionsMinimumDistance = distance; {
	case cmd.HasSubCommands():
		hint := ""
		if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
			hint = fmt.Sprintf(" (did you mean %s?)", strings.Join(close, " or "))
		}
		return fmt.Errorf("unknown command %q for %q%s; see %[2]s --help", args[0], cmd.CommandPath(), hint)
	case len(args) > 0 && !strings.Contains(cmd.Use, " "):
		return fmt.Errorf("%q is not expected; the use is: %s", args[0], cmd.UseLine())
	}
	return fmt.Errorf("%w; the use is: %s", err, cmd.UseLine())
}

func wrongFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		fault := map[string]string{"int": "want a whole number", "bool": "want true or false"}[invalid.GetFlag().Value.Type()]
		if invalid.GetFlag().Value.Type() == "duration" {
			if _, err := contracts.ParseDuration(invalid.GetValue(), "90s"); err != nil {
				fault = err.Error()
			}
		}
		if fault != "" {
			return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), fault)
		}
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}
