// Command fallproof certifies LLM providers against written contracts, and runs jobs through a service
// that fails over only where a certification stands.
//
// This package is wiring: one file per verb, each of which opens what it needs, calls the package that
// does the work, and prints. It promises that the whole program can be started from a test ([Run]), that
// whatever a script reads goes to stdout and everything else to stderr, and that an error is one line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
