package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// roleVariable makes the test binary behave as the command under test, or as a command that it is given.
const roleVariable = "PGCLUSTER_WITH_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "with":
		main()
	case "probe":
		if err := probe(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

// probe is a command that needs a server: it uses the one it finds and prints where that is.
func probe() error {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, os.Getenv(pgcluster.URLVariable))
	if err != nil {
		return err
	}
	_, err = connection.Exec(ctx, "CREATE TEMPORARY TABLE probe ()")
	fmt.Println(os.Getenv(pgcluster.URLVariable))
	return errors.Join(err, connection.Close(ctx))
}

// with is the command under test, run with these arguments and no server lent to it.
func with(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], arguments...)
	command.Env = append(os.Environ(), pgcluster.URLVariable+"=", roleVariable+"=with")
	return command
}

// nowhere lends a server that is never contacted, to tests about the command alone.
const nowhere = pgcluster.URLVariable + "=postgres://nobody@127.0.0.1:1/none"

func TestTheCommandFindsAServerThatIsGoneAfterwards(t *testing.T) {
	g := gomega.NewWithT(t)
	output, err := with(t, "--", "env", roleVariable+"=probe", os.Args[0]).CombinedOutput()
	g.Expect(err).NotTo(gomega.HaveOccurred(), string(output))
	at, err := url.Parse(strings.TrimSpace(string(output)))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	folder := at.Query().Get("host")
	g.Expect(filepath.Base(folder)).To(gomega.HavePrefix("fallproof-pg-"))
	g.Expect(folder).NotTo(gomega.BeAnExistingFile())
}

func TestALentServerIsPassedOn(t *testing.T) {
	g := gomega.NewWithT(t)
	lender, err := pgcluster.Start()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	defer func() { g.Expect(lender.Stop()).To(gomega.Succeed()) }()
	command := with(t, "env", roleVariable+"=probe", os.Args[0])
	command.Env = append(command.Env, pgcluster.URLVariable+"="+lender.URL())
	output, err := command.CombinedOutput()
	g.Expect(err).NotTo(gomega.HaveOccurred(), string(output))
	g.Expect(strings.TrimSpace(string(output))).To(gomega.Equal(lender.URL()))
}

func TestExitCodes(t *testing.T) {
	cases := map[string]struct {
		arguments   []string
		environment string
		code        int
		says        string
	}{
		"success":              {[]string{"true"}, nowhere, 0, ""},
		"the command's own":    {[]string{"--", "sh", "-c", "exit 7"}, nowhere, 7, ""},
		"ended by a signal":    {[]string{"sh", "-c", "kill -KILL $$"}, nowhere, 128 + 9, ""},
		"no such command":      {[]string{"./no-such-command"}, nowhere, 127, "no such file"},
		"nothing to run":       {nil, nowhere, 2, "usage: with"},
		"nothing after dashes": {[]string{"--"}, nowhere, 2, "usage: with"},
		"a server to be had":   {[]string{"-check"}, pgcluster.URLVariable + "=", 0, ""},
		"none to be had":       {[]string{"-check"}, pgcluster.URLVariable + "=nonsense", 2, "must be a URL"},
		"no usable server":     {[]string{"true"}, pgcluster.URLVariable + "=nonsense", 2, "must be a URL"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			command := with(t, c.arguments...)
			command.Env = append(command.Env, c.environment)
			var trouble bytes.Buffer
			command.Stderr = &trouble
			_ = command.Run() // the code below says how it ended
			g.Expect(command.ProcessState.ExitCode()).To(gomega.Equal(c.code))
			if c.says == "" {
				g.Expect(trouble.String()).To(gomega.BeEmpty())
			} else {
				g.Expect(trouble.String()).To(gomega.ContainSubstring(c.says))
			}
		})
	}
}

func TestTheServerStopsAfterACommandThatWasStopped(t *testing.T) {
	g := gomega.NewWithT(t)
	seen := interrupt(t, syscall.SIGTERM, with(t, trap("TERM")...))
	at, err := url.Parse(seen)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(at.Query().Get("host")).NotTo(gomega.BeAnExistingFile())
}

func TestSignalsReachTheCommand(t *testing.T) {
	for name, sent := range map[string]syscall.Signal{"INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT} {
		t.Run(name, func(t *testing.T) {
			command := with(t, trap(name)...)
			command.Env = append(command.Env, nowhere)
			interrupt(t, sent, command)
		})
	}
}

// trap is a command that prints the URL of its server and then goes on until the signal comes.
func trap(signal string) []string {
	return []string{"sh", "-c", `trap 'echo took it; exit 9' ` + signal + `; echo $` + pgcluster.URLVariable + `; while :; do sleep 0.02; done`}
}

// interrupt starts the command, sends it the signal once it runs, and expects the trapped command's own
// ending. It returns the URL that the command saw.
func interrupt(t *testing.T, sent syscall.Signal, command *exec.Cmd) (seen string) {
	t.Helper()
	g := gomega.NewWithT(t)
	output, err := command.StdoutPipe()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(command.Start()).To(gomega.Succeed())
	lines := bufio.NewScanner(output)
	g.Expect(lines.Scan()).To(gomega.BeTrue())
	seen = lines.Text()
	g.Expect(command.Process.Signal(sent)).To(gomega.Succeed())
	g.Expect(lines.Scan()).To(gomega.BeTrue())
	g.Expect(lines.Text()).To(gomega.Equal("took it"))
	g.Expect(command.Wait()).To(gomega.MatchError("exit status 9"))
	return seen
}
