package readme

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/fallproof/fallproof/service/config"
)

const root = "../.."

// shell runs a script as a person's terminal would, and ends whatever it left in the background.
func shell(t *testing.T, folder, script string) (output string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	command.Dir = folder
	command.Env = append(os.Environ(), "DATABASE_URL=", "FALLPROOF_API_KEY=")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = 10 * time.Second // a background process may keep the pipe open
	said := gbytes.NewBuffer()
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		return "", err
	}
	t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) })
	err = command.Wait()
	return string(said.Contents()), err
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the README's shell blocks, in order.
func blocks(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, match := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(readme(t), -1) {
		found = append(found, match[1])
	}
	return found
}

func TestTheFirstScreenHasTwoCommands(t *testing.T) {
	gomega.NewWithT(t).Expect(blocks(t)[0]).To(gomega.Equal("make demo\nmake test\n"))
}

func TestMakeDemo(t *testing.T) {
	g := gomega.NewWithT(t)
	said, err := shell(t, root, "make demo")
	g.Expect(err).NotTo(gomega.HaveOccurred(), said)
	for _, word := range []string{"unknown", "superseded", "certified", "rejected", "attempt-in-doubt"} {
		g.Expect(said).To(gomega.ContainSubstring(word))
	}
}

// TestFiveMinutes follows the README from the build to the second contract.
func TestFiveMinutes(t *testing.T) {
	g := gomega.NewWithT(t)
	script := strings.Join(blocks(t)[1:], "\n")
	g.Expect(script).To(gomega.ContainSubstring("/tmp/fallproof-try"))
	for _, port := range []string{"4010", "4011"} {
		script = strings.ReplaceAll(script, "127.0.0.1:"+port, freeAddress(t))
	}
	script = strings.ReplaceAll(script, "/tmp/fallproof-try", filepath.Join(t.TempDir(), "try"))
	script += "\nkill $(jobs -p)\n"
	said, err := shell(t, root, script)
	g.Expect(err).NotTo(gomega.HaveOccurred(), said)
	g.Expect(said).To(gomega.MatchRegexp(`HTTP/1.1 201`))
	g.Expect(said).To(gomega.MatchRegexp(`(?s)HTTP/1.1 200.*Idempotency-Replayed: true`))
	g.Expect(said).To(gomega.MatchRegexp(`support-triage at beta/acme-faithful: certified`))
	g.Expect(said).To(gomega.MatchRegexp(`support-triage at beta/plausible: rejected`))
	g.Expect(said).To(gomega.MatchRegexp(`in doubt: attempt 1 at gamma/silent, since .*: timeout`))
	g.Expect(said).To(gomega.MatchRegexp(`(?s)completed by attempt 2.*1 +released.*2 +succeeded +fallback +beta/acme-faithful`))
	g.Expect(said).To(gomega.MatchRegexp(`(?s)order-intake: good.*mutation score.*certification at alpha/faithful: 43 calls.*POST http://127\.0\.0\.1:\d+/v1/chat/completions.*order-intake at alpha/faithful: rejected.*business\s+failed`))
}

// freeAddress is an address on loopback that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestMakeContracts counts the records that the target writes: a folder of the same name must not turn
// it into a no-op.
func TestMakeContracts(t *testing.T) {
	g := gomega.NewWithT(t)
	folder := t.TempDir()
	address := freeAddress(t)
	config := filepath.Join(folder, "fallproof.yaml")
	g.Expect(os.WriteFile(config, []byte(`
store: {url: "sqlite:`+filepath.Join(folder, "store.db")+`"}
providers:
  x: {base_url: "http://`+address+`/v1", source: simulated, models: {faithful: {}}}
  y: {base_url: "http://`+address+`/v1", source: simulated, models: {acme-faithful: {}}}
routes:
  support-triage: {primary: x/faithful, fallbacks: [y/acme-faithful]}
  invoice-extraction: {primary: x/faithful}
`), 0o600)).To(gomega.Succeed())
	records := func(script string) int {
		t.Helper()
		said, err := shell(t, root, `make build >/dev/null
			bin/fallproof simulate --listen `+address+` >/dev/null & simulator=$!
			`+script+` CONFIG=`+config+` >&2
			kill $simulator
			bin/fallproof certifications list --json --config `+config)
		g.Expect(err).NotTo(gomega.HaveOccurred(), said)
		var page struct {
			Items []any `json:"items"`
		}
		g.Expect(json.Unmarshal([]byte(said[strings.LastIndex(said, "\n{\n"):]), &page)).To(gomega.Succeed(), said)
		return len(page.Items)
	}
	g.Expect(records("make contracts PROVIDER=x")).To(gomega.Equal(2), "one provider's")
	g.Expect(records("make contracts")).To(gomega.Equal(2+3), "everybody's")
}

// TestMakeBench runs one benchmark once: what it reports is for people.
func TestMakeBench(t *testing.T) {
	g := gomega.NewWithT(t)
	said, err := shell(t, root, "make bench PACKAGES=./suites/benchmarks BENCH=Replay TESTFLAGS=-benchtime=1x")
	g.Expect(err).NotTo(gomega.HaveOccurred(), said)
	g.Expect(said).To(gomega.And(gomega.MatchRegexp(`BenchmarkReplay/sqlite.*median-ms`), gomega.MatchRegexp(`BenchmarkReplay/postgres.*median-ms`)))
}

func TestLinksLeadSomewhere(t *testing.T) {
	g := gomega.NewWithT(t)
	links := regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(readme(t), -1)
	g.Expect(links).NotTo(gomega.BeEmpty())
	for _, link := range links {
		g.Expect(filepath.Join(root, link[1])).To(gomega.Or(gomega.BeAnExistingFile(), gomega.BeADirectory()), link[1])
	}
}

// TestConfigurationIsWhole: the configuration that the README shows is read, and says what the defaults are.
func TestConfigurationIsWhole(t *testing.T) {
	g := gomega.NewWithT(t)
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(readme(t))
	g.Expect(shown).To(gomega.HaveLen(2))
	getenv := func(name string) string { return map[string]string{"ALPHA_API_KEY": "secret"}[name] }
	parse := func(text string) *config.Config {
		parsed, err := config.Parse("fallproof.yaml", []byte(text), getenv)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		return parsed
	}
	full := parse(shown[1])
	short := parse(`
providers:
  alpha: {base_url: "https://alpha.example/v1", api_key_env: ALPHA_API_KEY, models: {alpha-large: {context_window: 128000, tokenizer: o200k_base}, alpha-small: {}}}
routes:
  invoice-extraction: {primary: alpha/alpha-large, fallbacks: [alpha/alpha-small]}
`)
	g.Expect(full.Server).To(gomega.Equal(short.Server))
	g.Expect(full.Store).To(gomega.Equal(short.Store))
	g.Expect(full.Routes).To(gomega.Equal(short.Routes))
	a, _ := full.Provider("alpha")
	b, _ := short.Provider("alpha")
	g.Expect(a.Models).To(gomega.Equal(b.Models))
	g.Expect([]any{a.Source, a.Timeout, a.GiveUp, a.Concurrency, a.QueueTimeout, a.ServerErrors}).To(
		gomega.Equal([]any{b.Source, b.Timeout, b.GiveUp, b.Concurrency, b.QueueTimeout, b.ServerErrors}))
	g.Expect(a.Circuit).To(gomega.Equal(b.Circuit))

	optional := regexp.MustCompile(`(?m)^( *)# ([a-z_]+:)`)
	g.Expect(optional.FindAllString(shown[1], -1)).NotTo(gomega.BeEmpty())
	everything := parse(optional.ReplaceAllString(shown[1], "$1$2"))
	g.Expect(everything.Routes).NotTo(gomega.Equal(full.Routes), "what is commented out is read when it is not")
}

// TestCommandsOutsideBlocks: what the text names in passing exists as well.
func TestCommandsOutsideBlocks(t *testing.T) {
	g := gomega.NewWithT(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	named := regexp.MustCompile("`make ([a-z]+)").FindAllStringSubmatch(readme(t), -1)
	g.Expect(named).NotTo(gomega.BeEmpty())
	for _, target := range named {
		g.Expect(string(makefile)).To(gomega.MatchRegexp(`(?m)^` + target[1] + `:`))
	}
	ci, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(string(ci)).To(gomega.And(gomega.MatchRegexp("(?m)^make test$"), gomega.MatchRegexp("(?m)^make lint$")))
}
