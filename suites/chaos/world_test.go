package chaos

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// world is everything that a run consists of.
type world struct {
	seed  uint64
	jobs  int
	over  time.Duration
	again string // the command that replays the run
	book  *book
	past  *past // what was read after the run; nil before

	folder    string // of the undisturbed command line
	cluster   *pgcluster.Cluster
	db        *pgxpool.Pool // undisturbed, but for the server's own end
	provider  *provider
	providers map[string]*path // by name
	replicas  []*replica
	key       string
	idle      footprint // of a replica that has not had anything to do yet
	sent      submissions
}

const replicas = 3

// models are what each provider serves.
var models = map[string]string{"alpha": "alpha-large", "beta": "beta-medium", "gamma": "gamma-small", "delta": "delta-mini"}

// targets are all of them.
var targets = []string{"alpha/alpha-large", "beta/beta-medium", "gamma/gamma-small", "delta/delta-mini"}

// contracts are copies of a shipped contract under other names, with what is changed in it.
var contracts = map[string][]string{
	"steady": {"effects: none\nrelease_after: 20s", "effects: external\n"},
	"racing": {"release_after: 20s", "release_after: 2s"},
	"keyed":  {"effects: none\nrelease_after: 20s", "effects: idempotent\n"},
}

// configuration of all replicas. Only the database is another path for each of them.
const configuration = `
server:
  listen: 127.0.0.1:0
  accept_sources: [simulated]
  shutdown_timeout: 5s
store: {url: "$STORE"}
contracts: $CONTRACTS
providers:
  alpha: {base_url: $ALPHA, source: simulated, timeout: 1s, give_up: 6s, concurrency: 8, queue_timeout: 8s, $CIRCUIT,
    reconcile: stored_completions, reconcile_horizon: 5s, models: {alpha-large: $MODEL}}
  beta: {base_url: $BETA, source: simulated, timeout: 1s, give_up: 4s, concurrency: 4, queue_timeout: 8s, $CIRCUIT,
    server_errors: failed, models: {beta-medium: $MODEL}}
  gamma: {base_url: $GAMMA, source: simulated, timeout: 2s, give_up: 5s, concurrency: 16, $CIRCUIT,
    idempotent: Idempotency-Key, models: {gamma-small: $MODEL}}
  delta: {base_url: $DELTA, source: simulated, timeout: 2s, give_up: 5s, concurrency: 16, $CIRCUIT,
    reconcile: responses, reconcile_horizon: 5s, models: {delta-mini: $MODEL}}
routes:
  steady: {primary: alpha/alpha-large, fallbacks: [beta/beta-medium, gamma/gamma-small], max_attempts: 5}
  racing: {primary: beta/beta-medium, fallbacks: [alpha/alpha-large, gamma/gamma-small], max_attempts: 5, on_refusal: fallback, on_unknown: release}
  keyed: {primary: gamma/gamma-small, fallbacks: [alpha/alpha-large, beta/beta-medium], max_attempts: 4, on_unknown: resend}
`

// shortened makes the time after which a replica counts as lost fit a test.
var shortened = []string{"--lease", "3s", "--renew", "1s", "--sweep", "1s"}

// prepare builds the world, and leaves it with every replica ready and every route certified.
func (w *world) prepare(ctx context.Context) {
	By("building the binary")
	build(ctx, *race)
	By("starting PostgreSQL")
	registerLostCommit()
	w.folder = GinkgoT().TempDir()
	address := w.openDatabase(ctx)
	w.provider = newProvider(chance(w.seed, "moods"))
	w.providers = map[string]*path{}
	for name := range models {
		w.providers[name] = newPath(name, w.provider.address)
	}
	w.writeContracts()
	w.configure(w.folder, address)
	w.key = strings.TrimSpace(w.cli(ctx, "keys", "create", "--owner", "acme", "--scope", "client,operator"))
	By("certifying every route")
	w.cli(ctx, "certify")
	By("starting the replicas")
	for i := range replicas {
		w.replicas = append(w.replicas, w.newReplica(i, address))
	}
	w.idle = w.untouched(ctx, address)
	for _, r := range w.replicas {
		r.supervise()
	}
	for _, r := range w.replicas {
		r.ready(ctx)
	}
}

// openDatabase starts a server of our own, and returns the URL of a database on it.
func (w *world) openDatabase(ctx context.Context) string {
	GinkgoHelper()
	var err error
	w.cluster, err = pgcluster.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.cluster.Stop)
	address, _, err := w.cluster.NewDatabase("chaos")
	Expect(err).NotTo(HaveOccurred())
	w.db, err = pgxpool.New(ctx, address)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.db.Close)
	return address
}

func (w *world) writeContracts() {
	GinkgoHelper()
	for name, edits := range contracts {
		folder := filepath.Join(w.folder, "contracts", name)
		Expect(os.CopyFS(folder, os.DirFS("../../contracts/catalog/support-triage"))).To(Succeed())
		at := filepath.Join(folder, "contract.yaml")
		content, err := os.ReadFile(at)
		Expect(err).NotTo(HaveOccurred())
		text := string(content)
		edits = append([]string{
			"name: support-triage", "name: " + name, "samples: 5", "samples: 1",
			"structure: 0.90, business: 0.90, round_trip: 0.90", "structure: 0.50, business: 0.50, round_trip: 0.50",
		}, edits...)
		for i := 0; i < len(edits); i += 2 {
			Expect(text).To(ContainSubstring(edits[i]))
			text = strings.Replace(text, edits[i], edits[i+1], 1)
		}
		Expect(os.WriteFile(at, []byte(text), 0o600)).To(Succeed())
	}
}

// configure writes the configuration of one process.
func (w *world) configure(folder, store string) {
	GinkgoHelper()
	words := []string{
		"$STORE", store, "$CONTRACTS", filepath.Join(w.folder, "contracts"), "$CIRCUIT", "circuit: {failures: 8, cool_down: 1s}",
		"$MODEL", "{context_window: 128000, tokenizer: o200k_base}",
	}
	for name, way := range w.providers {
		words = append(words, "$"+strings.ToUpper(name), "http://"+way.address()+"/v1")
	}
	text := strings.NewReplacer(words...).Replace(configuration)
	Expect(os.WriteFile(filepath.Join(folder, "fallproof.yaml"), []byte(text), 0o600)).To(Succeed())
}

// newReplica prepares a replica with a path of its own to the database.
func (w *world) newReplica(number int, address string) *replica {
	GinkgoHelper()
	direct, err := url.Parse(address)
	Expect(err).NotTo(HaveOccurred())
	r := &replica{name: fmt.Sprintf("replica %d", number+1)}
	r.folder = ownFolder(r.name)
	bridge := newBridge(filepath.Join(direct.Query().Get("host"), ".s.PGSQL.5432"))
	r.database = newPath(r.name, bridge.address())
	store := url.URL{
		Scheme: "postgres", User: direct.User, Host: r.database.address(), Path: direct.Path,
		RawQuery: "sslmode=disable&connect_timeout=3",
	}
	w.configure(r.folder, store.String())
	if takes(r.folder, "--lease") {
		r.flags = shortened
	}
	return r
}

// ownFolder is a folder for one process, which goes with the run unless it is to be kept.
func ownFolder(name string) string {
	GinkgoHelper()
	if *keep == "" {
		return GinkgoT().TempDir()
	}
	folder := filepath.Join(*keep, name)
	Expect(os.MkdirAll(folder, 0o700)).To(Succeed())
	return folder
}

// cli runs a verb of the undisturbed command line, and returns what it printed.
func (w *world) cli(ctx context.Context, args ...string) string {
	GinkgoHelper()
	printed, err := w.try(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return printed
}

// try runs a verb until it ends, or ctx does.
func (w *world) try(ctx context.Context, args ...string) (string, error) {
	command := program(w.folder, args...)
	var printed, complaints strings.Builder
	command.Stdout, command.Stderr = &printed, &complaints
	if err := command.Start(); err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = command.Process.Kill() })()
	if err := command.Wait(); err != nil {
		return "", fmt.Errorf("fallproof %s: %w\n%s%s", strings.Join(args, " "), err, printed.String(), complaints.String())
	}
	return printed.String(), nil
}

// somewhere is the address of a replica that serves, whether it answers or not; "" where none does.
func (w *world) somewhere(number int) string {
	for i := range w.replicas {
		if address := w.replicas[(number+i)%len(w.replicas)].address(); address != "" {
			return address
		}
	}
	return ""
}
