package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/service/config"
)

// Exit codes that hold for every verb; verbs whose answer is a code say so in their help.
const (
	exitOK    = 0
	exitNo    = 1 // the answer is no, or the thing asked for did not happen
	exitUsage = 2 // usage, configuration, or a store that cannot be opened
)

// program is one run of the command line with everything that it touches of the outside.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	configPath     string
}

// Run is the whole program but for the process around it. The result is the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = usage(err) // what is left are cobra's own: unknown verbs and flags
	}
	if exit.err != nil {
		fmt.Fprintln(stderr, "fallproof: "+oneLine(exit.err.Error()))
	}
	return exit.code
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "fallproof",
		Short: "A fallback you have proof for",
		Long: "fallproof certifies LLM targets against written contracts, and runs jobs through a service that fails\n" +
			"over only where an unexpired certification says that the target honours the contract.\n\n" +
			"Every verb exits with 0 for done or yes, 1 for no or not done, 2 where the command, the configuration or the\n" +
			"store is wrong; certify also with 3. What a verb means by each stands in its --help.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&p.configPath, "config", "", "configuration file (default "+config.DefaultPath+", which may be absent)")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		p.demoCommand(), p.serveCommand(), p.certifyCommand(), p.canFailoverCommand(), p.certificationsCommand(), p.contractsCommand(),
		p.jobsCommand(), p.keysCommand(), p.migrateCommand(), p.simulateCommand(), p.verifyCommand(), p.versionCommand(),
	)
	root.SetHelpCommand(helpCommand())
	explainUsage(root)
	return root
}

// helpCommand is cobra's, except that a verb that there is none of is a mistake.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB…]", Short: "Help about any verb",
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = wrongArguments(verb, rest, fmt.Errorf("it has no verb %q", rest[0]))
			}
			if err != nil {
				return usage(err)
			}
			verb.InitDefaultHelpFlag()
			return verb.Help()
		},
	}
}

// group is a verb that only has further verbs.
func group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(verbs...)
	return command
}

// exitError ends the program with a code, and with one line where there is something to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) *exitError { return &exitError{exitUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

func failed(err error) error { return &exitError{exitNo, err} }

// exit ends with a code that is an answer: everything has been said already.
func exit(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
