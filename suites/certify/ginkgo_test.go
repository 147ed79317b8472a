package certify_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/sqlite"
)

// Ginkgo runs once in a process, so each way of running the suite is a process of its own: this test
// binary again, with TestCertify alone, a configuration and Ginkgo's own flags. What counts is what
// the store holds afterwards.
func TestTheSuiteWritesOnlyCompleteRuns(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		name    string
		model   string
		flags   []string
		passes  bool
		only    string // contract; "" = both
		records string // contract=verdict, sorted
		says    string
	}{
		{
			name: "certifies", model: "faithful", passes: true, records: "invoice-extraction=certified support-triage=certified",
			says: "2 certified, 0 rejected",
		},
		{
			name: "rejects, and says why", model: "plausible", only: "invoice-extraction", records: "invoice-extraction=rejected",
			says: "lines minus discount plus tax is the total × ",
		},
		{
			name: "is inconclusive", model: "overloaded", only: "support-triage", records: "support-triage=inconclusive",
			says: "server_error",
		},
		{name: "dry run", model: "dry-faithful", only: "support-triage", flags: []string{"-ginkgo.dry-run"}, says: "it was a dry run"},
		{name: "skip", model: "faithful", only: "support-triage", flags: []string{"-ginkgo.skip=business"}, says: "specs were filtered"},
		{name: "focus", model: "faithful", only: "support-triage", flags: []string{"-ginkgo.focus=structure"}, says: "specs were filtered"},
		{name: "a skip that matches nothing", model: "faithful", only: "support-triage", flags: []string{"-ginkgo.skip=nothing like this"}, says: "specs were filtered"},
		{name: "empty", model: "faithful", only: "support-triage", flags: []string{"-ginkgo.label-filter=none"}, says: "specs were filtered"},
		{name: "flake attempts", model: "flaky", only: "support-triage", flags: []string{"-ginkgo.flake-attempts=3"}, says: "flake attempts"},
		{name: "stopped at the first failure", model: "plausible", only: "support-triage", flags: []string{"-ginkgo.fail-fast"}, says: "is skipped"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g, w := NewWithT(t), w.in(t)
			folder := t.TempDir()
			database := "sqlite:" + filepath.Join(folder, "records.db")
			out, err := w.suite(folder, database, row.model, row.only, row.flags)
			g.Expect(err == nil).To(Equal(row.passes), out)
			g.Expect(out).To(ContainSubstring(row.says))
			g.Expect(recordsIn(t, database)).To(Equal(row.records), out)
			if row.name == "dry run" {
				g.Expect(w.simulator.Select(simulator.Filter{Model: row.model})).To(BeEmpty(), "a dry run pays nothing")
			}
		})
	}
}

// suite runs TestCertify in a process of its own.
func (w *world) suite(folder, database, model, contract string, flags []string) (string, error) {
	path := filepath.Join(folder, "fallproof.yaml")
	text := fmt.Sprintf(`
store: {url: %q}
providers:
  sim:
    base_url: %s
    source: simulated
    timeout: 20s
    concurrency: 8
    models:
      %s: {context_window: 128000, tokenizer: o200k_base}
routes:
  invoice-extraction: {primary: sim/%s}
  support-triage: {primary: sim/%s}
`, database, w.simulator.BaseURL(), model, model, model)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	child := exec.CommandContext(w.t.Context(), os.Args[0], append([]string{"-test.run=^TestCertify$", "-test.v"}, flags...)...)
	child.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "DATABASE_URL=")
	}), "FALLPROOF_CONFIG="+path, "FALLPROOF_CERTIFY_CONTRACT="+contract)
	out, err := child.CombinedOutput()
	return string(out), err
}

func recordsIn(t *testing.T, database string) string {
	kept, err := sqlite.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	records, _, err := kept.Records(t.Context(), store.RecordFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, r := range records {
		if len(r.Dimensions) != 4 || r.Source != "simulated" || r.RunOn == "" || r.ExpiresAt.Before(r.IssuedAt) {
			t.Errorf("record %s is not whole: %+v", r.ID, r)
		}
		if r.Verdict == certification.Certified && r.Dimensions[1].Samples != 40 {
			t.Errorf("record %s: certified on %d samples", r.ID, r.Dimensions[1].Samples)
		}
		found = append(found, r.Contract+"="+string(r.Verdict))
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}
