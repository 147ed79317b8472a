package benchmarks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/api"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/postgres"
	"github.com/fallproof/fallproof/service/store/sqlite"
	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

func TestMain(m *testing.M) { pgcluster.Main(m) }

const configuration = `
server: {accept_sources: [simulated]}
providers:
  alpha: {base_url: %q, source: simulated, concurrency: 256, models: {faithful: {tokenizer: o200k_base, context_window: 128000}}}
routes:
  support-triage: {primary: alpha/faithful}
  invoice-extraction: {primary: alpha/faithful}
`

// deployment is the service in this process, with a simulated provider behind it.
type deployment struct {
	b      testing.TB
	url    string
	key    string
	client *http.Client
	clicks atomic.Int64
	config *config.Config
	store  store.Store
}

var engines = map[string]func(context.Context, testing.TB) (store.Store, error){
	"sqlite": func(ctx context.Context, b testing.TB) (store.Store, error) {
		return sqlite.Open(ctx, "sqlite:"+filepath.Join(b.TempDir(), "bench.db"))
	},
	"postgres": func(ctx context.Context, b testing.TB) (store.Store, error) {
		return postgres.Open(ctx, pgcluster.Database(b))
	},
}

// onBoth runs a benchmark on each engine.
func onBoth(b *testing.B, run func(*testing.B, *deployment)) {
	b.Helper()
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) { run(b, deploy(b, engines[name])) })
	}
}

func deploy(b testing.TB, open func(context.Context, testing.TB) (store.Store, error)) *deployment {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	sim, err := simulator.Listen("127.0.0.1:0", simulator.Config{})
	must(err)
	b.Cleanup(func() { must(sim.Close()) })
	opened, err := open(ctx, b)
	must(err)
	b.Cleanup(func() { must(opened.Close()) })
	cfg, err := config.Parse("bench.yaml", fmt.Appendf(nil, configuration, sim.BaseURL()), func(string) string { return "" })
	must(err)
	silent := slog.New(slog.DiscardHandler)
	dispatcher, err := dispatch.New(dispatch.Options{Store: opened, Config: cfg, Logger: silent})
	must(err)
	must(dispatcher.Start(ctx))
	b.Cleanup(func() { must(dispatcher.Shutdown(ctx)) })
	server := httptest.NewServer(api.New(api.Options{Dispatcher: dispatcher, Store: opened, Config: cfg, Logger: silent, Version: "bench"}))
	b.Cleanup(server.Close)
	d := &deployment{b: b, url: server.URL, key: api.NewKey(), client: server.Client(), config: cfg, store: opened}
	server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	must(opened.CreateKey(ctx, store.APIKey{ID: "bench", Owner: "bench", Hash: api.HashKey(d.key), Scopes: []string{store.ScopeClient}}))
	return d
}

func (d *deployment) intent() []byte {
	contract, _ := d.config.Catalog.Get("support-triage")
	return value.Encode(map[string]any{"contract": contract.Name, "input": contract.Cases[0].Input})
}

// post sends the intent and returns the status and the job's state.
func (d *deployment) post(key string, body []byte, wait bool) (int, string) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, d.url+"/v1/jobs", bytes.NewReader(body))
	if err != nil {
		d.b.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+d.key)
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("Content-Type", "application/json")
	if wait {
		request.Header.Set("Prefer", "wait=30")
	}
	response, err := d.client.Do(request)
	if err != nil {
		d.b.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		d.b.Fatal(err)
	}
	var job struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal(content, &job); err != nil {
		d.b.Fatalf("%d %s: %v", response.StatusCode, content, err)
	}
	return response.StatusCode, job.State
}

func (d *deployment) freshKey() string { return fmt.Sprintf("bench-%d", d.clicks.Add(1)) }

// median reports the middle of what was measured, which a noisy machine moves least.
func median(b *testing.B, measured []time.Duration) {
	b.Helper()
	slices.Sort(measured)
	b.ReportMetric(float64(measured[len(measured)/2].Microseconds())/1000, "median-ms")
}

// BenchmarkCreate: a POST that makes a job and starts its first attempt.
func BenchmarkCreate(b *testing.B) {
	onBoth(b, func(b *testing.B, d *deployment) {
		body, measured := d.intent(), make([]time.Duration, 0, b.N)
		for b.Loop() {
			began := time.Now()
			if status, _ := d.post(d.freshKey(), body, false); status != http.StatusCreated {
				b.Fatal(status)
			}
			measured = append(measured, time.Since(began))
		}
		median(b, measured)
	})
}

// BenchmarkReplay: the same POST again.
func BenchmarkReplay(b *testing.B) {
	onBoth(b, func(b *testing.B, d *deployment) {
		body, key := d.intent(), d.freshKey()
		if _, state := d.post(key, body, true); state != "succeeded" {
			b.Fatal(state)
		}
		measured := make([]time.Duration, 0, b.N)
		for b.Loop() {
			began := time.Now()
			if status, _ := d.post(key, body, false); status != http.StatusOK {
				b.Fatal(status)
			}
			measured = append(measured, time.Since(began))
		}
		median(b, measured)
	})
}

// BenchmarkCreateToComplete: from the POST to the job's result, 16 clients at once.
func BenchmarkCreateToComplete(b *testing.B) {
	onBoth(b, func(b *testing.B, d *deployment) {
		body := d.intent()
		b.SetParallelism(8)
		b.RunParallel(func(loop *testing.PB) {
			for loop.Next() {
				if _, state := d.post(d.freshKey(), body, true); state != "succeeded" {
					b.Error(state)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	})
}
