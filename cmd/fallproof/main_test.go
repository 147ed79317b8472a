package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// asProgram makes the test binary be the program, for what needs a process of its own: signals, and
// Ginkgo's one run.
const asProgram = "FALLPROOF_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	pgcluster.Main(m)
}

// terminal is a working folder with an environment to type commands in.
type terminal struct {
	*gomega.WithT
	t   *testing.T
	dir string
	env map[string]string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	return &terminal{WithT: gomega.NewWithT(t), t: t, dir: dir, env: map[string]string{}}
}

func (s *terminal) getenv(name string) string { return s.env[name] }

func (s *terminal) write(name, text string) {
	s.t.Helper()
	s.Expect(os.MkdirAll(filepath.Dir(name), 0o700)).To(gomega.Succeed())
	s.Expect(os.WriteFile(name, []byte(text), 0o600)).To(gomega.Succeed())
}

// read is a file's text.
func (s *terminal) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(name)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	return string(text)
}

// ran is what a command left behind.
type ran struct {
	code           int
	stdout, stderr string
}

// run types a command in this process.
func (s *terminal) run(args ...string) ran {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(s.t.Context(), args, strings.NewReader(""), &stdout, &stderr, s.getenv)
	return ran{code, stdout.String(), stderr.String()}
}

// must is a run that succeeds; it returns stdout.
func (s *terminal) must(args ...string) string {
	s.t.Helper()
	done := s.run(args...)
	s.Expect(done.code).To(gomega.Equal(exitOK), done.stderr)
	return done.stdout
}

// refuses is a run that ends with a code and one line that says why; it returns the line.
func (s *terminal) refuses(code int, args ...string) string {
	s.t.Helper()
	done := s.run(args...)
	s.Expect(done.code).To(gomega.Equal(code), done.stdout+done.stderr)
	s.Expect(strings.Count(done.stderr, "\n")).To(gomega.Equal(1), done.stderr)
	s.Expect(done.stderr).To(gomega.HavePrefix("fallproof: "))
	return strings.TrimSuffix(strings.TrimPrefix(done.stderr, "fallproof: "), "\n")
}

// process is a command in a process of its own, not yet started.
func (s *terminal) process(ctx context.Context, args ...string) *exec.Cmd {
	s.t.Helper()
	self, err := os.Executable()
	s.Expect(err).NotTo(gomega.HaveOccurred())
	command := exec.CommandContext(ctx, self, args...)
	command.Env = append(slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "DATABASE_URL=") || strings.HasPrefix(pair, "FALLPROOF_")
	}), asProgram+"=1")
	for name, value := range s.env {
		command.Env = append(command.Env, name+"="+value)
	}
	return command
}

func (s *terminal) files() []string {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestEveryVerbExplainsItself(t *testing.T) {
	root := (&program{getenv: func(string) string { return "" }}).root()
	var visit func(*cobra.Command)
	visit = func(command *cobra.Command) {
		t.Run(command.CommandPath(), func(t *testing.T) {
			g := gomega.NewWithT(t)
			g.Expect(command.Short).NotTo(gomega.BeEmpty())
			if command.HasSubCommands() {
				return
			}
			g.Expect(command.Example).To(gomega.ContainSubstring(command.CommandPath()), "an example that types the verb")
			g.Expect(command.InheritedFlags().Lookup("config")).NotTo(gomega.BeNil())
			g.Expect(command.Long).To(gomega.MatchRegexp(`\n\nExit codes:\n  0  .+\n  1  .+\n  2  .+`), "what a script may rely on")
			_, codes, _ := strings.Cut(command.Long, "Exit codes:\n")
			g.Expect(strings.Contains(codes, "\n  3  ")).To(gomega.Equal(command.Name() == "certify"), codes)
		})
		for _, child := range command.Commands() {
			visit(child)
		}
	}
	visit(root)
}

// What a verb says of its exit codes is what its answers are tested for elsewhere.
func TestHelpListsTheExitCodes(t *testing.T) {
	s := newTerminal(t)
	for verb, want := range map[string]string{
		"certify":               `(?s)0  all are certified.*1  some are rejected.*2  .*3  none is rejected.*the run is not complete, as after an interrupt`,
		"can-failover":          `0  it may\n  1  it may not\n  2  .*the store cannot be opened or read`,
		"contracts lint":        `0  there are no errors; there may be warnings\n  1  there are errors\n  2  .*a contract cannot be read`,
		"migrate status":        `0  the schema is up to date\n  1  it is not`,
		"verify":                `0  every scenario passed\n  1  some failed\n  2  they could not be run`,
		"certifications revoke": `0  it is revoked, now or before\n  1  there is no such record`,
		"jobs doubts":           `1  the service says no, or does not answer`,
		"":                      `0 for done or yes, 1 for no or not done, 2 where the command, the configuration or the\nstore is wrong; certify also with 3`,
	} {
		s.Expect(s.must(append(strings.Fields(verb), "--help")...)).To(gomega.MatchRegexp(want), verb)
	}
}

func TestAServiceThatIsNotThereIsSaidToBeSo(t *testing.T) {
	s := newTerminal(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(listener.Close()).To(gomega.Succeed())
	s.env[keyVariable], s.env[urlVariable] = "fp_x", "http://"+listener.Addr().String()
	s.Expect(s.refuses(exitNo, "jobs", "list")).To(gomega.HavePrefix("the service at " + s.env[urlVariable] + " does not answer: dial tcp "))
}

func TestHelpIsNoError(t *testing.T) {
	s := newTerminal(t)
	for _, args := range [][]string{{}, {"--help"}, {"keys"}, {"help", "certify"}, {"jobs", "resolve", "--help"}} {
		s.Expect(s.must(args...)).To(gomega.ContainSubstring("Usage:"), fmt.Sprint(args))
	}
	s.Expect(s.must("version")).To(gomega.HavePrefix("fallproof "))
	s.Expect(s.files()).To(gomega.BeEmpty())
}

func TestUsageErrorsAreOneLineAndExitTwo(t *testing.T) {
	s := newTerminal(t)
	s.env[keyVariable] = "fp_x"
	for _, row := range []struct{ command, want string }{
		{"nothing", `unknown command "nothing" for "fallproof"; see fallproof --help`},
		{"certfy", `unknown command "certfy" for "fallproof" (did you mean certify or verify?); see fallproof --help`},
		{"certification list", `did you mean certifications?`},
		{"help nothing", `unknown command "nothing" for "fallproof"; see fallproof --help`},
		{"help keys nothing", `unknown command "nothing" for "fallproof keys"; see fallproof keys --help`},
		{"help keys create nothing", `"nothing"`},
		{"keys nothing", `unknown command "nothing" for "fallproof keys"; see fallproof keys --help`},
		{"contracts lnit", "did you mean lint?"},
		{"serve now", `"now" is not expected; the use is: fallproof serve [flags]`},
		{"certify support-triage", `"support-triage" is not expected; the use is: fallproof certify [flags]`},
		{"serve --nothing", "unknown flag: --nothing; see fallproof serve --help"},
		{"certify --samples many", `--samples "many": want a whole number`},
		{"certify --complete=perhaps", `--complete "perhaps": want true or false`},
		{"verify --patience long", `--patience "long": want a positive duration such as 90s`},
		{"verify --patience 99999999h", `--patience "99999999h": too long; the longest duration is 2562047h`},
		{"serve --log xml", `--log "xml": want text, json or off`},
		{"keys create", "--owner is required"},
		{"keys create --owner a\x01b", "--owner: want at most 128 visible ASCII"},
		{"keys create --owner a --scope admin", `--scope "admin": want client, operator, or both`},
		{"keys create --owner a --scope", "flag needs an argument"},
		{"keys revoke", "accepts 1 arg(s), received 0"},
		{"can-failover", "--contract and --to are required"},
		{"can-failover --contract nothing --to a/b", `no contract is named "nothing"; the catalogue has invoice-extraction, meeting-actions, support-triage`},
		{"can-failover --contract support-triage --to a", `target "a": want PROVIDER/MODEL`},
		{"can-failover --contract support-triage --to a/b", "target a/b is not declared; declared are: none"},
		{"certify", "nothing to certify: no route names such a pair, for fallproof.yaml has no routes; name one with --target PROVIDER/MODEL"},
		{"certify --contract support-triage", "nothing to certify (contract support-triage): no route"},
		{"certify --samples 0", "--samples 0: want a whole number from 1 to 10000"},
		{"certify --samples 99999", "--samples 99999: want a whole number from 1 to 10000"},
		{"certify --html x --markdown x", "--html and --markdown name the same file, x: give each its own"},
		{"certify --junit x --json ./y/../x", "--junit and --json name the same file, ./y/../x, which is x: give each its own"},
		{"certifications report a --html x --markdown ./x", "--html and --markdown name the same file, ./x, which is x"},
		{"certify --provider a", `provider "a" is not declared; declared are: none`},
		{"certify --target a/b", "target a/b is not declared; declared are: none"},
		{"certify --target a/b --contract support-triage", "target a/b is not declared; declared are: none"},
		{"certify --replay absent", "--replay: the folder of cassettes absent does not exist; certify --record absent makes one"},
		{"certify --replay=", "--replay: want a folder"},
		{"certify --record=", "--record: want a folder"},
		{"certify --replay . --record .", "--record and --replay exclude each other"},
		{"certify --contract nothing", `contract "nothing" is not known`},
		{"certifications show", "accepts 1 arg(s), received 0; the use is: fallproof certifications show ID [flags]"},
		{"contracts show a b", "accepts 1 arg(s), received 2; the use is: fallproof contracts show NAME|FOLDER [flags]"},
		{"certifications revoke x", "--reason is required"},
		{"certifications list --target x", `--target "x": want PROVIDER/MODEL`},
		{"certifications list --limit 0", "--limit 0: want at least 1"},
		{"certifications list --cursor next", `--cursor "next": is not the cursor of an earlier page`},
		{"contracts lint nothing", `no contract is named "nothing"`},
		{"simulate --listen nowhere", "listen tcp"},
		{"simulate --model x", `--model "x": want NAME=PERSONALITY`},
		{"simulate --model x=y", `--model x: personality "y" is not known`},
		{"jobs get", "accepts 1 arg(s), received 0"},
		{"jobs list --url ftp://x", "--url: want an http or https address"},
		{"jobs resolve x 0 --outcome failed --note n", `attempt "0": want its number, from 1`},
		{"jobs resolve x 1", `--outcome "": want failed or succeeded`},
		{"jobs resolve x 1 --outcome failed", "--note is required"},
		{"jobs resolve x 1 --outcome failed --note n --result {}", "--result goes with --outcome succeeded only"},
		{"jobs resolve x 1 --outcome succeeded --note n", "--result is required"},
		{"jobs resolve x 1 --outcome succeeded --note n --result {", "--result: JSON value cut short"},
		{"jobs resolve x 1 --outcome succeeded --note n --result @absent.json", "--result: open absent.json"},
		{"jobs cancel x --note n", "--note goes with the cancelling of an attempt"},
		{"jobs release x y", `attempt "y": want its number, from 1`},
	} {
		t.Run(row.command, func(t *testing.T) {
			each := &terminal{WithT: gomega.NewWithT(t), t: t, dir: s.dir, env: s.env}
			each.Expect(each.refuses(exitUsage, strings.Split(row.command, " ")...)).To(gomega.ContainSubstring(row.want))
		})
	}
	s.env[keyVariable] = ""
	s.Expect(s.refuses(exitUsage, "jobs", "list")).To(gomega.HavePrefix("FALLPROOF_API_KEY is not set"))
	s.Expect(s.files()).To(gomega.BeEmpty(), "what is refused creates nothing")
}
