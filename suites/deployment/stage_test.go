package deployment

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

const (
	faithful = "alpha/alpha-large" // answers well
	held     = "alpha/alpha-held"  // answers well when it is let go
)

const configuration = `
server: {accept_sources: [simulated]}
store: {url: "$STORE"}
providers:
  alpha:
    base_url: $SIMULATOR
    source: simulated
    timeout: 10m
    give_up: 20m
    models: {alpha-large: {context_window: 128000, tokenizer: o200k_base}, alpha-held: {context_window: 128000, tokenizer: o200k_base}}
routes:
  support-triage: {primary: alpha/alpha-large}
`

// stage is nginx before three replicas on one database, with a simulator behind them.
type stage struct {
	folder    string
	binary    string
	simulator client
	replicas  []*replica
	nginx     *balancer
}

// replica is one process of the service, at an address that outlives it.
type replica struct {
	address string
	session *gexec.Session
}

func (g *stage) prepare(ctx context.Context) {
	g.folder = GinkgoT().TempDir()
	g.build(ctx)
	cluster, err := pgcluster.Shared()
	Expect(err).NotTo(HaveOccurred())
	store, drop, err := cluster.NewDatabase("deployment")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(drop()).To(Succeed()) })

	base := address(g.run("simulate", "--listen", "127.0.0.1:0", "--model", model(faithful)+"=faithful", "--model", model(held)+"=hold"))
	g.simulator = newClient(strings.TrimSuffix(base, "/v1"), "")
	text := strings.NewReplacer("$STORE", store, "$SIMULATOR", base).Replace(configuration)
	Expect(os.WriteFile(filepath.Join(g.folder, "fallproof.yaml"), []byte(text), 0o600)).To(Succeed())
	keys := g.run("keys", "create", "--owner", "acme", "--scope", "client,operator")
	Eventually(keys).WithTimeout(patience).WithPolling(poll).Should(gexec.Exit(0))

	var addresses []string
	for range shippedReplicas {
		r := &replica{address: "127.0.0.1:0"}
		g.start(ctx, r)
		g.replicas = append(g.replicas, r)
		addresses = append(addresses, r.address)
	}
	g.nginx = startBalancer(ctx, addresses)
	g.nginx.key = strings.TrimSpace(string(keys.Out.Contents()))
}

func (g *stage) build(ctx context.Context) {
	g.binary = filepath.Join(g.folder, "fallproof")
	output, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", g.binary, "github.com/fallproof/fallproof/cmd/fallproof").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)
}

// run starts the binary; its process ends with the stage at the latest.
func (g *stage) run(arguments ...string) *gexec.Session {
	GinkgoHelper()
	command := exec.CommandContext(context.Background(), g.binary, arguments...) // it outlives the spec that starts it
	command.Dir = g.folder
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "DATABASE_URL=") && !strings.HasPrefix(variable, "FALLPROOF_") {
			command.Env = append(command.Env, variable)
		}
	}
	command.SysProcAttr = endsWithUs(syscall.SIGKILL)
	session, err := gexec.Start(command, nil, nil)
	Expect(err).NotTo(HaveOccurred())
	return session
}

// address is the URL that a server's first line names.
func address(server *gexec.Session) string {
	GinkgoHelper()
	Eventually(server).WithTimeout(patience).WithPolling(poll).Should(gbytes.Say(`http://\S+\n`), func() string { return string(server.Err.Contents()) })
	return regexp.MustCompile(`http://\S+`).FindString(string(server.Out.Contents()))
}

// start starts a replica, where it was if it was there before, and waits until it is ready.
func (g *stage) start(ctx context.Context, r *replica) {
	GinkgoHelper()
	r.session = g.run("serve", "--listen", r.address)
	base := address(r.session)
	r.address = strings.TrimPrefix(base, "http://")
	direct := newClient(base, "")
	Eventually(func(ctx context.Context) (int, error) {
		got, err := direct.call(ctx, http.MethodGet, "/readyz", "")
		return got.Status, err
	}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal(http.StatusOK))
}

// kill ends a replica without a word.
func (r *replica) kill() {
	GinkgoHelper()
	r.session.Kill().Wait(patience)
}

var posted = regexp.MustCompile(`msg=request method=POST route=/v1/jobs status=`)

// posts counts the clicks that the replica's own log tells of, since it was started.
func (r *replica) posts() int { return len(posted.FindAll(r.session.Err.Contents(), -1)) }

// at is the replica of an address.
func (g *stage) at(address string) *replica {
	GinkgoHelper()
	for _, r := range g.replicas {
		if r.address == address {
			return r
		}
	}
	Fail("no replica at " + address)
	return nil
}

// model is what a target's model is called on the wire.
func model(target string) string {
	_, name, _ := strings.Cut(target, "/")
	return name
}

// ledger waits until the simulator has seen count calls that the parameters select, and returns all of them.
func (g *stage) ledger(ctx context.Context, count int, parameters url.Values) []simulator.Entry {
	GinkgoHelper()
	parameters.Set("wait_for", strconv.Itoa(count))
	parameters.Set("timeout", patience.String())
	return read[simulator.LedgerPage](g.simulator.get(ctx, "/simulator/ledger?"+parameters.Encode()), http.StatusOK).Entries
}

// calls are those of one attempt, once the first has arrived.
func (g *stage) calls(ctx context.Context, attempt string) []simulator.Entry {
	GinkgoHelper()
	return g.ledger(ctx, 1, url.Values{"attempt": {attempt}})
}

// letGo lets the held calls of an attempt answer.
func (g *stage) letGo(ctx context.Context, attempt string) {
	GinkgoHelper()
	got := g.simulator.send(ctx, http.MethodPost, "/simulator/release", `{"attempt": "`+attempt+`"}`)
	Expect(got.Status).To(Equal(http.StatusOK), "%s", got)
}
