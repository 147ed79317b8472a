package pgcluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

func TestACrashKeepsWhatWasCommittedAndARestartBringsItBack(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster := start(t)
	url, _, err := cluster.NewDatabase("crash")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	before := connect(t, url)
	execute(t, before, "CREATE TABLE notes AS SELECT 'committed' AS body")

	g.Expect(cluster.StopImmediate()).To(gomega.Succeed())
	g.Expect(cluster.StopImmediate()).To(gomega.Succeed(), "a server that is down may be stopped again")
	_, err = before.Exec(t.Context(), "SELECT 1")
	g.Expect(err).To(gomega.HaveOccurred(), "open connections break")
	_, err = tryConnect(t, url)
	g.Expect(err).To(gomega.HaveOccurred(), "new ones are refused")

	g.Expect(cluster.Restart()).To(gomega.Succeed())
	g.Expect(query[string](t, connect(t, url), "SELECT body FROM notes")).To(gomega.Equal("committed"))
	g.Expect(cluster.Restart()).To(gomega.Succeed(), "a running server restarts too")
	g.Expect(query[string](t, connect(t, url), "SELECT body FROM notes")).To(gomega.Equal("committed"))
}

func TestStopLeavesNothingAndIsFinal(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster := start(t)
	pid := cluster.server.process.Pid
	g.Expect(alive(pid)).To(gomega.BeTrue())
	g.Expect(cluster.Stop()).To(gomega.Succeed())
	beGone(g, cluster.folder, pid)
	g.Expect(cluster.Stop()).To(gomega.Succeed())
	g.Expect(cluster.Restart()).To(gomega.MatchError("the cluster was stopped for good"))
}

func TestNobodyElseCanReachTheServerAndItIsNotRoot(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster := start(t)
	info, err := os.Stat(cluster.folder)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(info.Mode().Perm()).To(gomega.Equal(os.FileMode(0o700)))
	g.Expect(info.Sys().(*syscall.Stat_t).Uid).NotTo(gomega.BeZero())
	connection := connect(t, cluster.URL())
	g.Expect(query[string](t, connection, "SHOW listen_addresses")).To(gomega.BeEmpty())
	g.Expect(query[string](t, connection, "SHOW max_connections")).To(gomega.Equal("200"))
	g.Expect(query[string](t, connection, "SHOW synchronous_commit")).To(gomega.Equal("on"))
}

func TestAKilledProcessLeavesNoServer(t *testing.T) {
	kills := map[string]func(process *os.Process) error{
		"with its whole group":  func(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) },
		"an interrupt typed in": func(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGINT) },
	}
	for name, kill := range kills {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			process, folder := play(t, "hold a cluster")
			pid := postmaster(t, folder)
			g.Expect(alive(pid)).To(gomega.BeTrue())
			g.Expect(kill(process.Process)).To(gomega.Succeed())
			g.Expect(process.Wait()).NotTo(gomega.Succeed())
			g.Eventually(func(g gomega.Gomega) { beGone(g, folder, pid) }).
				WithTimeout(30 * time.Second).WithPolling(10 * time.Millisecond).Should(gomega.Succeed())
		})
	}
}

func TestMainStopsTheServerAndKeepsTheExitCode(t *testing.T) {
	g := gomega.NewWithT(t)
	process, folder := play(t, "run one test")
	g.Expect(process.Wait()).To(gomega.MatchError("exit status 3"))
	g.Expect(folder).NotTo(gomega.BeAnExistingFile())
}

func TestALentServerIsUsedAndLeftAlone(t *testing.T) {
	g := gomega.NewWithT(t)
	lender := start(t)
	t.Setenv(URLVariable, lender.URL())
	borrower := &sharedCluster{}
	cluster, err := borrower.open()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	template, err := borrower.template(func(string) error { return nil })
	g.Expect(err).NotTo(gomega.HaveOccurred())
	url, drop, err := cluster.copyDatabase("lent", template)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(query[string](t, connect(t, url), "SELECT current_database()")).To(gomega.HavePrefix("fallproof_lent_"))
	g.Expect(databases(t, lender, namePrefix)).To(gomega.Equal(2))

	g.Expect(cluster.Restart()).To(gomega.MatchError(ErrNotOwned))
	g.Expect(cluster.StopImmediate()).To(gomega.MatchError(ErrNotOwned))
	g.Expect(drop()).To(gomega.Succeed())
	g.Expect(borrower.close()).To(gomega.Succeed())
	g.Expect(databases(t, lender, namePrefix)).To(gomega.Equal(0), "the template goes, the server stays")
}

func TestALentServerMustBeNamedByAURL(t *testing.T) {
	for _, value := range []string{"host=localhost password=hunter2", "sqlite:hunter2.db", "postgres://u:hunter2@[::1"} {
		t.Run(value, func(t *testing.T) {
			g := gomega.NewWithT(t)
			t.Setenv(URLVariable, value)
			_, err := Open()
			g.Expect(err).To(gomega.MatchError(gomega.HavePrefix(URLVariable + " must be a URL")))
			g.Expect(err.Error()).NotTo(gomega.ContainSubstring("hunter2"))
		})
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster := start(t)
	g.Expect(cluster.StopImmediate()).To(gomega.Succeed())
	g.Expect(os.WriteFile(filepath.Join(dataFolder(cluster.folder), "postgresql.conf"), []byte("no_such_setting = 1\n"), 0o600)).To(gomega.Succeed())
	err := cluster.Restart()
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(`unrecognized configuration parameter "no_such_setting"`)))
	g.Expect(err.Error()).NotTo(gomega.ContainSubstring("\n"))
}

func TestAServerThatCannotBeMadeLeavesNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	programs := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		g.Expect(os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\necho broken >&2\nexit 1\n"), 0o755)).To(gomega.Succeed())
	}
	openUp(t, programs)
	temporary := t.TempDir()
	openUp(t, temporary)
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", temporary)
	_, err := Start()
	g.Expect(err).To(gomega.MatchError("initdb: exit status 1: broken"))
	left, err := os.ReadDir(temporary)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(left).To(gomega.BeEmpty())
}

// openUp lets the server's account into a folder below a test's own, which is private.
func openUp(t *testing.T, folder string) {
	t.Helper()
	for _, at := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func postmaster(t *testing.T, folder string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dataFolder(folder), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.SplitN(string(content), "\n", 2)[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// A server that stays hung must not hang its test. The stand-in ignores the signals of a shutdown.
func TestAHungServerIsKilled(t *testing.T) {
	g := gomega.NewWithT(t)
	command := exec.CommandContext(context.Background(), "/bin/sh", "-c", `trap "" INT; echo ready; while :; do sleep 1; done`)
	output, err := command.StdoutPipe()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(command.Start()).To(gomega.Succeed())
	_, err = output.Read(make([]byte, 16)) // the trap is set
	g.Expect(err).NotTo(gomega.HaveOccurred())
	hung := &server{process: command.Process, log: &serverLog{ready: make(chan struct{})}, gone: make(chan struct{}), stopLimit: time.Millisecond}
	go func() {
		_ = command.Wait()
		close(hung.gone)
	}()
	g.Expect(hung.stop(syscall.SIGINT)).To(gomega.MatchError(gomega.HavePrefix("postgres had to be killed")))
	g.Expect(alive(command.Process.Pid)).To(gomega.BeFalse())
}
