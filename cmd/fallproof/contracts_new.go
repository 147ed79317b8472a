package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts/scaffold"
	"github.com/fallproof/fallproof/service/config"
)

// defaultContracts is where contracts go that nobody has named a folder for.
const defaultContracts = "contracts"

func (p *program) contractsNewCommand() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use: "new NAME", Short: "Make a folder with a contract to start from", Args: cobra.ExactArgs(1),
		Long: "The folder lints without a complaint at once: schema, two cases with the right answers, checks that refuse wrong\n" +
			"ones. It goes into --dir, by default the folder that the configuration names under contracts, else ./contracts.\n" +
			"Nothing is ever written over.",
		Example: "  fallproof contracts new order-intake\n  fallproof contracts new order-intake --dir ./contracts",
		RunE:    func(_ *cobra.Command, args []string) error { return p.newContract(args[0], dir) },
	}
	command.Flags().StringVar(&dir, "dir", "", "folder of contract folders (default as configured, else ./contracts)")
	return command
}

func (p *program) newContract(name, dir string) error {
	configured, err := config.ContractsFolder(p.configPath)
	if err != nil {
		return usage(err)
	}
	dir = cmp.Or(dir, configured, defaultContracts)
	files, err := scaffold.Write(dir, name)
	if err != nil {
		return usage(err)
	}
	var text strings.Builder
	for _, file := range files {
		fmt.Fprintln(&text, filepath.Join(dir, name, filepath.FromSlash(file)))
	}
	fmt.Fprintln(&text, "\nNext:")
	file := cmp.Or(p.configPath, config.DefaultPath)
	if !samePath(dir, configured) {
		fmt.Fprintf(&text, "  in %s, in place of the shipped contracts:\n    contracts: %s\n", file, asWritten(dir, file))
	}
	fmt.Fprintf(&text, "  in %s, who serves it:\n    routes:\n      %s: {primary: PROVIDER/MODEL}\n", file, name)
	for _, next := range []string{"contracts lint " + name, "contracts show " + name + " --case 'two articles and a day'", "certify --contract " + name} {
		fmt.Fprintf(&text, "  %s\n", p.command(next))
	}
	return p.print(text.String())
}

func samePath(a, b string) bool {
	left, err := filepath.Abs(a)
	right, wrong := filepath.Abs(b)
	return b != "" && err == nil && wrong == nil && left == right
}

// asWritten is a folder as the configuration names it: relative paths there start at the file's own folder.
func asWritten(dir, file string) string {
	from, err := filepath.Abs(filepath.Dir(file))
	to, wrong := filepath.Abs(dir)
	if err != nil || wrong != nil {
		return dir
	}
	relative, err := filepath.Rel(from, to)
	if err != nil || strings.HasPrefix(relative, "..") {
		return to
	}
	return "./" + filepath.ToSlash(relative)
}
