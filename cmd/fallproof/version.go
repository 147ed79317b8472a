package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build (-ldflags "-X main.version=…"); else the module's own says it.
var version = ""

func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  fallproof version",
		RunE: func(*cobra.Command, []string) error {
			return p.print(fmt.Sprintf("fallproof %s %s %s/%s\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
		},
	}
}
