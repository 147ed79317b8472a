package certify_test

import (
	"context"
	"io"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/sqlite"
	"github.com/fallproof/fallproof/suites/certify"
)

// world is a provider on loopback and a store in a temporary folder.
type world struct {
	t         testing.TB
	simulator *simulator.Server
	store     store.Store
	client    *openai.Client
	baseURL   string // of the simulator, or of another one
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server, err := simulator.Listen("127.0.0.1:0", simulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := sqlite.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "certify.db"))
	if err != nil {
		t.Fatal(err)
	}
	client := openai.New(openai.Config{BaseURL: server.BaseURL(), PollPause: 2 * time.Millisecond})
	t.Cleanup(func() {
		client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{t: t, simulator: server, store: kept, client: client, baseURL: server.BaseURL()}
}

// in is the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	t.Helper()
	inner := *w
	inner.t = t
	return &inner
}

func (w *world) contract(name string) *contracts.Contract {
	w.t.Helper()
	catalog, err := contracts.Shipped()
	if err != nil {
		w.t.Fatal(err)
	}
	c, ok := catalog.Get(name)
	if !ok {
		w.t.Fatalf("no shipped contract %q", name)
	}
	return c
}

// changed is a shipped contract in whose folder each match of a pattern is replaced.
func (w *world) changed(name, pattern, by string) *contracts.Contract {
	w.t.Helper()
	return changed(w.t, w.contract(name), pattern, by)
}

// changed is a contract in whose folder each match of a pattern is replaced.
func changed(t testing.TB, from *contracts.Contract, pattern, by string) *contracts.Contract {
	t.Helper()
	c, err := contracts.FromArchive(regexp.MustCompile(pattern).ReplaceAll(from.Archive(), []byte(by)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Digest() == from.Digest() {
		t.Fatalf("%s changes nothing in %s", pattern, from.Name)
	}
	return c
}

// pair is a contract at a simulated model whose name is its personality.
func (w *world) pair(contract, model string) certify.Pair {
	return certify.Pair{
		Contract: w.contract(contract),
		Target:   providers.Target{Provider: "sim", Model: model},
		Profile: providers.Profile{
			BaseURL: w.baseURL, Model: model, Source: providers.SourceSimulated,
			ContextWindow: 128_000, Tokenizer: providers.TokenizerO200K,
		}.WithDefaults(),
		Timeout: 20 * time.Second, Concurrency: 8, Client: w.client,
	}
}

func (w *world) options() certify.Options {
	return certify.Options{
		Store: w.store, Version: "test", RunBy: "a test", RunOn: "loopback", Out: io.Discard,
		Retry: certify.Retry{Base: time.Millisecond, Max: 5 * time.Millisecond, Poll: 20 * time.Millisecond},
	}
}

// certify collects and judges without Ginkgo.
func (w *world) certify(pair certify.Pair, options certify.Options) (certification.Record, certify.Evidence) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	evidence, err := certify.Collect(ctx, pair, options)
	if err != nil {
		w.t.Fatal(err)
	}
	record, err := certify.Judge(evidence)
	if err != nil {
		w.t.Fatal(err)
	}
	return record, evidence
}

// opened is the id of a pair's run that was opened before anybody works on it.
func (w *world) opened(pair certify.Pair, name string) string {
	w.t.Helper()
	run, err := w.store.OpenRun(w.t.Context(), store.Run{
		ID: uuid.NewString(), Name: name, Contract: pair.Contract.Name, Target: pair.Target,
		ProofDigest: pair.Contract.ProofDigest(pair.Target, pair.Profile),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return run.ID
}

// samples are those on which evidence rests.
func (w *world) samples(evidence certify.Evidence) []certify.Sample {
	w.t.Helper()
	samples, err := certify.Samples(w.t.Context(), evidence)
	if err != nil {
		w.t.Fatal(err)
	}
	return samples
}

// stored are all calls of a run as the store has them.
func (w *world) stored(runID string) []store.Sample {
	w.t.Helper()
	const more = 10_000
	stored, err := w.store.Samples(w.t.Context(), runID, store.FirstPlace, more)
	if err != nil {
		w.t.Fatal(err)
	}
	return stored
}

func dimension(r certification.Record, name string) certification.Dimension {
	return certification.Judgement{Dimensions: r.Dimensions}.Dimension(name)
}

func reasonsOf(d certification.Dimension) []string {
	var reasons []string
	for _, f := range d.Findings {
		reasons = append(reasons, f.Reason)
	}
	return reasons
}

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
