package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	superuser  = "fallproof"
	socketName = ".s.PGSQL.5432"

	startLimit = 90 * time.Second // a loaded machine may take long over crash recovery; a healthy start takes a fraction of a second
	stopLimit  = 20 * time.Second
)

// settings make the server cheap, and leave alone whatever decides what a transaction means.
var settings = []string{
	"listen_addresses=",
	"max_connections=200",
	// Safe against the death of every process, which tests bring about; not against the death of the machine.
	// synchronous_commit stays on: without it an acknowledged commit may die with the server.
	"fsync=off",
	"full_page_writes=off",
	"wal_level=minimal",
	"max_wal_senders=0",
	"min_wal_size=32MB",
	"max_wal_size=256MB", // the folder may be in memory
	"jit=off",            // compiling a query that runs once takes longer than running it
	"lc_messages=C",
	"log_min_messages=warning", // the line that says "ready" is of level LOG, which stands above
}

// server is one running postgres process.
type server struct {
	process   *os.Process
	log       *serverLog
	gone      chan struct{}
	stopLimit time.Duration
}

// initialise makes the data folder inside the cluster's folder.
func initialise(programs, folder string, as account) error {
	command := prepare(exec.CommandContext(context.Background(), filepath.Join(programs, "initdb"),
		"--pgdata", dataFolder(folder), "--username", superuser, "--auth-local=trust", "--auth-host=reject",
		"--encoding=UTF8", "--locale=C", "--no-sync"), as, folder)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, lastLines(output))
	}
	return nil
}

// launch starts postgres on the data folder and returns once it accepts connections.
func launch(programs, folder string, as account) (*server, error) {
	arguments := []string{"-D", dataFolder(folder), "-k", folder}
	for _, setting := range settings {
		arguments = append(arguments, "-c", setting)
	}
	command := prepare(exec.CommandContext(context.Background(), filepath.Join(programs, "postgres"), arguments...), as, folder)
	log := &serverLog{ready: make(chan struct{})}
	command.Stderr = log
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting postgres: %w", err)
	}
	s := &server{process: command.Process, log: log, gone: make(chan struct{}), stopLimit: stopLimit}
	go func() {
		_ = command.Wait() // the log says more than an exit code
		close(s.gone)
	}()
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case <-log.ready:
		return s, nil
	case <-s.gone:
		return nil, fmt.Errorf("postgres ended while starting: %s", log.tail())
	case <-limit.C:
		return nil, errors.Join(fmt.Errorf("postgres was not ready after %s: %s", startLimit, log.tail()), s.stop(syscall.SIGQUIT))
	}
}

// stop sends the signal that asks for the wanted kind of shutdown, and returns when the server is gone.
func (s *server) stop(how os.Signal) error {
	if err := s.process.Signal(how); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping postgres: %w", err)
	}
	limit := time.NewTimer(s.stopLimit)
	defer limit.Stop()
	select {
	case <-s.gone:
		return nil
	case <-limit.C:
		_ = s.process.Kill()
		<-s.gone
		return fmt.Errorf("postgres had to be killed, it did not stop within %s: %s", s.stopLimit, s.log.tail())
	}
}

func dataFolder(folder string) string { return filepath.Join(folder, "data") }

// serverLog watches what the server says on standard error for the line that it is ready, and keeps it
// for the reason of a failure.
type serverLog struct {
	mu      sync.Mutex
	text    []byte
	ready   chan struct{}
	isReady bool
}

var readyLine = []byte("database system is ready to accept connections")

const keptLog = 64 << 10

func (l *serverLog) Write(piece []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, piece...)
	if !l.isReady && bytes.Contains(l.text, readyLine) {
		l.isReady = true
		close(l.ready)
	}
	if len(l.text) > keptLog {
		l.text = bytes.Clone(l.text[len(l.text)-keptLog/2:])
	}
	return len(piece), nil
}

func (l *serverLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lastLines(l.text)
}

// lastLines folds the end of a program's output into the one line of an error.
func lastLines(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return strings.Join(lines[max(0, len(lines)-6):], " / ")
}
