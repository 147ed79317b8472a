// Command with runs another command while a PostgreSQL server for tests is up:
//
//	with go test ./...
//
// The server is a private throwaway cluster, or the one that FALLPROOF_TEST_DATABASE_URL names already.
// In either case the command finds its URL in that variable, so that all packages of a test run share one
// server instead of starting one each. With -check alone, it runs nothing and says whether there is a server to be had.
//
// Signals go on to the command, and its exit code becomes that of with: 128 + n where signal n ended it,
// 127 where it could not be started, 2 where with itself was called wrongly or had no server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

const (
	exitUsage      = 2
	exitNotStarted = 127
	exitSignalled  = 128
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(arguments []string, trouble io.Writer) int {
	if len(arguments) == 1 && arguments[0] == "-check" {
		return check(trouble)
	}
	if len(arguments) > 0 && arguments[0] == "--" {
		arguments = arguments[1:]
	}
	if len(arguments) == 0 {
		complain(trouble, "usage: with [--] COMMAND [ARGUMENT]..., or with -check")
		return exitUsage
	}
	// Before the server: a signal that comes while it starts waits for the command, instead of leaving the server behind.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)

	cluster, err := pgcluster.Open()
	if err != nil {
		complain(trouble, err)
		return exitUsage
	}
	code := supervise(arguments, cluster.URL(), signals, trouble)
	if err := cluster.Stop(); err != nil {
		complain(trouble, err)
		return max(code, 1)
	}
	return code
}

func check(trouble io.Writer) int {
	if err := pgcluster.Check(); err != nil {
		complain(trouble, err)
		return exitUsage
	}
	return 0
}

// supervise runs the command to its end, hands signals on to it, and returns its exit code.
func supervise(arguments []string, url string, signals <-chan os.Signal, trouble io.Writer) int {
	command := exec.CommandContext(context.Background(), arguments[0], arguments[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), pgcluster.URLVariable+"="+url)
	if err := command.Start(); err != nil {
		complain(trouble, err)
		return exitNotStarted
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case received := <-signals:
			_ = command.Process.Signal(received) // it may have ended just now, which the other case is about to say
		case err := <-ended:
			return exitCode(command.ProcessState, err, trouble)
		}
	}
}

func exitCode(state *os.ProcessState, err error, trouble io.Writer) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		complain(trouble, err)
		return 1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignalled + int(status.Signal())
	}
	return state.ExitCode()
}

func complain(trouble io.Writer, what any) { _, _ = fmt.Fprintln(trouble, "with:", what) }
