package certify_test

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/postgres"
	"github.com/fallproof/fallproof/service/store/sqlite"
	"github.com/fallproof/fallproof/suites/certify"
)

// TestCertify is the suite under go test and ginkgo. With FALLPROOF_CONFIG it certifies the pairs of
// that configuration into its store; without, a simulated model into a temporary one, so that it is
// never empty. Environment variables FALLPROOF_CERTIFY_PROVIDER, _TARGET and _CONTRACT limit the pairs.
func TestCertify(t *testing.T) {
	var options certify.Options
	if path := os.Getenv("FALLPROOF_CONFIG"); path != "" {
		options = configured(t, path)
	} else {
		w := newWorld(t)
		options = w.options()
		options.Pairs = []certify.Pair{w.pair("invoice-extraction", "faithful"), w.pair("support-triage", "faithful")}
	}
	options.Out, options.T = os.Stdout, t
	options.JUnit, options.JSON = filepath.Join(t.TempDir(), "junit.xml"), filepath.Join(t.TempDir(), "records.json")
	result, err := certify.Run(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, options, result)
	if got, want := len(result.Records), len(options.Pairs); got != want {
		t.Fatalf("%d records were written for %d pairs", got, want)
	}
	if result.ExitCode() != 0 && !t.Failed() {
		t.Fatal("not everything is certified, and no spec failed")
	}
	if _, err := certify.Run(t.Context(), options); !errors.Is(err, certify.ErrSecondRun) {
		t.Fatalf("a second run in one process: %v", err)
	}
}

// checkFiles compares the files that a run leaves with what it says.
func checkFiles(t *testing.T, options certify.Options, result certify.Result) {
	t.Helper()
	text, err := os.ReadFile(options.JSON)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Complete bool                   `json:"complete"`
		Records  []certification.Record `json:"records"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if !document.Complete || len(document.Records) != len(result.Records) || document.Records[0].ID != result.Records[0].ID {
		t.Errorf("the JSON file does not hold what the run says:\n%s", text)
	}
	junit, err := os.ReadFile(options.JUnit)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(string(junit), `<testcase `), 4*len(options.Pairs); got != want {
		t.Errorf("the JUnit file holds %d dimensions, want %d", got, want)
	}
}

func configured(t *testing.T, path string) certify.Options {
	t.Helper()
	cfg, err := config.Load(path, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	pairs, release, err := certify.Pairs(cfg, certify.Selection{
		Provider: os.Getenv("FALLPROOF_CERTIFY_PROVIDER"),
		Target:   os.Getenv("FALLPROOF_CERTIFY_TARGET"),
		Contract: os.Getenv("FALLPROOF_CERTIFY_CONTRACT"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	kept, err := open(t.Context(), cfg.Store.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	host, _ := os.Hostname()
	who := "go test"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return certify.Options{Pairs: pairs, Store: kept, RunName: os.Getenv("FALLPROOF_CERTIFY_RUN"), Version: "go test", RunBy: who, RunOn: host}
}

func open(ctx context.Context, url string) (store.Store, error) {
	if strings.HasPrefix(url, "postgres") {
		return postgres.Open(ctx, url)
	}
	return sqlite.Open(ctx, url)
}
