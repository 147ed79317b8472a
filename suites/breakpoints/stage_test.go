package breakpoints

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/go-json-experiment/json"
)

// patience bounds what a spec waits for; nothing takes nearly so long unless it is broken.
const patience = 20 * time.Second

// binary is the built program.
var binary string

// build makes the binary once for all stages.
func build(ctx context.Context) {
	binary = filepath.Join(GinkgoT().TempDir(), "fallproof")
	output, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", binary, "github.com/fallproof/fallproof/cmd/fallproof").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)
}

// stage is a deployment of its own: a folder with a configuration, a database, a simulator and, between
// start and stop, the service.
type stage struct {
	Deployment
	folder   string
	store    string
	config   string // template of fallproof.yaml
	service  *gexec.Session
	sessions []*gexec.Session // all that was started
}

// prepare sets a deployment up, without starting the service; it ends with the container or the spec that
// it is called in. In config, $STORE, $SIMULATOR and $CLOSED stand for the database, the base URL of the
// simulator, and one where nobody listens; models are those that the simulator serves.
func (g *stage) prepare(on engine, config string, models ...string) {
	GinkgoHelper()
	g.folder, g.config = GinkgoT().TempDir(), config
	g.store = on.fresh(g.folder)
	DeferCleanup(g.end)
	g.Patience, g.Input = patience, inputs["support-triage"]
	g.simulate(models)
	g.configure(config)
}

// end ends every process of the stage.
func (g *stage) end() {
	for _, session := range g.sessions {
		session.Kill().Wait(patience)
	}
}

// simulate starts the simulator with models that are all faithful.
func (g *stage) simulate(models []string) {
	GinkgoHelper()
	args := []string{"simulate", "--listen", "127.0.0.1:0"}
	for _, name := range models {
		args = append(args, "--model", name+"=faithful")
	}
	g.Simulator = strings.TrimSuffix(address(g.run(args...)), "/v1")
}

// run starts the binary.
func (g *stage) run(args ...string) *gexec.Session {
	GinkgoHelper()
	command := exec.CommandContext(context.Background(), binary, args...) // it outlives the spec that starts it
	command.Dir = g.folder
	command.Env = without(os.Environ(), "DATABASE_URL", "FALLPROOF_")
	command.SysProcAttr = endsWithUs()
	session, err := gexec.Start(command, nil, nil)
	Expect(err).NotTo(HaveOccurred())
	g.sessions = append(g.sessions, session)
	return session
}

// without leaves out the variables whose names begin in one of these ways.
func without(environment []string, prefixes ...string) []string {
	var kept []string
next:
	for _, entry := range environment {
		for _, prefix := range prefixes {
			if strings.HasPrefix(entry, prefix) {
				continue next
			}
		}
		kept = append(kept, entry)
	}
	return kept
}

// address is the URL that a server's first line names.
func address(server *gexec.Session) string {
	GinkgoHelper()
	Eventually(server).WithTimeout(patience).WithPolling(poll).Should(gbytes.Say(`http://\S+\n`), func() string { return string(server.Err.Contents()) })
	line, _, _ := strings.Cut(string(server.Out.Contents()), "\n")
	_, rest, _ := strings.Cut(line, "http://")
	return "http://" + rest
}

// cli runs a verb to its end, which must have the exit code.
func (g *stage) cli(code int, args ...string) *gexec.Session {
	GinkgoHelper()
	session := g.run(args...)
	Eventually(session).WithTimeout(time.Minute).WithPolling(poll).Should(gexec.Exit())
	Expect(session.ExitCode()).To(Equal(code), "fallproof %s\n%s%s", strings.Join(args, " "), session.Out.Contents(), session.Err.Contents())
	return session
}

// configure writes fallproof.yaml.
func (g *stage) configure(config string) {
	GinkgoHelper()
	text := strings.NewReplacer("$STORE", g.store, "$SIMULATOR", g.Simulator+"/v1", "$CLOSED", "http://127.0.0.1:1/v1").Replace(config)
	Expect(os.WriteFile(filepath.Join(g.folder, "fallproof.yaml"), []byte(text), 0o600)).To(Succeed())
}

// reconfigure changes a part of the configuration.
func (g *stage) reconfigure(before, after string) {
	GinkgoHelper()
	Expect(g.config).To(ContainSubstring(before))
	g.config = strings.Replace(g.config, before, after, 1)
	g.configure(g.config)
}

// makeKey makes an API key.
func (g *stage) makeKey(owner, scopes string) string {
	GinkgoHelper()
	return strings.TrimSpace(string(g.cli(0, "keys", "create", "--owner", owner, "--scope", scopes).Out.Contents()))
}

// start starts the service and waits until it is ready.
func (g *stage) start(ctx context.Context) {
	GinkgoHelper()
	if g.Key == "" {
		g.Key = g.makeKey("acme", "client,operator")
	}
	g.service = g.run("serve")
	g.URL = address(g.service)
	Eventually(func(ctx context.Context) (int, error) {
		got, err := g.api().call(ctx, http.MethodGet, "/readyz", nil)
		return got.Status, err
	}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal(http.StatusOK))
}

// kill ends the service without a word.
func (g *stage) kill() {
	GinkgoHelper()
	g.service.Kill().Wait(patience)
}

// terminate asks the service to end, and waits until it has.
func (g *stage) terminate() {
	GinkgoHelper()
	Eventually(g.service.Signal(syscall.SIGTERM)).WithTimeout(patience).WithPolling(poll).Should(gexec.Exit(0))
}

// target is what the service says about a target of a contract.
func (g *stage) target(ctx context.Context, contract, target string) targetView {
	GinkgoHelper()
	got, err := g.api().call(ctx, http.MethodGet, "/v1/contracts/"+contract+"/targets", nil)
	Expect(err).NotTo(HaveOccurred())
	for _, each := range find[page[targetView]](got).Items {
		if each.Target == target {
			return each
		}
	}
	Fail("no target " + target + " of contract " + contract)
	return targetView{}
}

// decode reads what a verb printed.
func decode[T any](session *gexec.Session) T {
	GinkgoHelper()
	var document T
	Expect(json.Unmarshal(session.Out.Contents(), &document)).To(Succeed(), "%s", session.Out.Contents())
	return document
}
