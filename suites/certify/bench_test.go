package certify_test

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers/openai"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/suites/certify"
)

// BenchmarkJudge counts samples that are there and judges them.
func BenchmarkJudge(b *testing.B) {
	w := newWorld(b)
	_, evidence := w.certify(w.pair("invoice-extraction", "faithful"), w.options())
	samples := w.samples(evidence)
	for b.Loop() {
		if _, err := certify.Judge(evidence.Resting(samples)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(samples)), "µs/sample")
}

// callTime is how long the provider of the benchmarks below takes for an answer.
const callTime = 200 * time.Millisecond

// BenchmarkCertifyAgainstTheIdeal: all shipped contracts at a provider that takes 200 ms a call, sixteen at
// once. x is the time against calls × 200 ms / 16, which nothing can undercut; cpu-ms/sample is what this
// process worked for it, the provider being another one. x-first is the first run of the process, which reads
// vocabularies and tries the contracts' checks besides.
func BenchmarkCertifyAgainstTheIdeal(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(certify.GCPercent)) // as the command does
	w := newWorld(b)
	w.provider(b)
	first := w.timed(b)
	var all timing
	for b.Loop() {
		all = all.plus(w.timed(b))
	}
	b.ReportMetric(first.againstIdeal(), "x-first")
	b.ReportMetric(all.againstIdeal(), "x")
	b.ReportMetric(float64(all.calls)/float64(b.N), "calls")
	b.ReportMetric(all.worked.Seconds()*1000/float64(all.samples), "cpu-ms/sample")
}

// timing is what runs took.
type timing struct {
	calls, samples  int
	elapsed, worked time.Duration
}

func (t timing) plus(o timing) timing {
	return timing{t.calls + o.calls, t.samples + o.samples, t.elapsed + o.elapsed, t.worked + o.worked}
}

func (t timing) againstIdeal() float64 {
	return float64(t.elapsed) / float64(time.Duration(t.calls)*callTime/16)
}

// timed certifies all shipped contracts once.
func (w *world) timed(b *testing.B) timing {
	b.Helper()
	shipped, err := contracts.Shipped()
	if err != nil {
		b.Fatal(err)
	}
	options := w.options()
	options.Complete = true
	for _, c := range shipped.All() {
		pair := w.pair(c.Name, "slow:"+callTime.String())
		pair.Concurrency = 16
		options.Pairs = append(options.Pairs, pair)
	}
	began, before := time.Now(), processorTime(b)
	result, err := certify.Conclude(b.Context(), options)
	if err != nil {
		b.Fatal(err)
	}
	t := timing{elapsed: time.Since(began), worked: processorTime(b) - before}
	for _, record := range result.Records {
		if record.Verdict != certification.Certified {
			b.Fatalf("%s: %s", record.Contract, record.Verdict)
		}
		t.samples += record.Taken
		t.calls += record.Taken + 3
	}
	return t
}

// BenchmarkMemory: what is held of a run when it is judged, with 25 and with 250 samples a case; B/sample is
// what each further sample adds.
func BenchmarkMemory(b *testing.B) {
	w := newWorld(b)
	w.provider(b)
	held := func(samples int) (bytes, taken int) {
		options := w.options()
		options.Complete, options.Samples = true, samples
		pair := w.pair("invoice-extraction", "faithful")
		pair.Concurrency = 16
		before := heap()
		_, evidence := w.certify(pair, options)
		bytes = heap() - before
		runtime.KeepAlive(evidence)
		return bytes, len(pair.Contract.Cases) * samples
	}
	held(1) // reads vocabularies
	for b.Loop() {
		few, fewTaken := held(25)
		many, manyTaken := held(250)
		b.ReportMetric(float64(few), "held-by-200-B")
		b.ReportMetric(float64(many), "held-by-2000-B")
		b.ReportMetric(float64(many-few)/float64(manyTaken-fewTaken), "B/sample")
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// simulatorVariable makes this test binary a simulator instead.
const simulatorVariable = "FALLPROOF_TEST_SIMULATOR"

// TestMain is the simulator where it is asked for by that variable.
func TestMain(m *testing.M) {
	if os.Getenv(simulatorVariable) != "" {
		simulate()
		return
	}
	os.Exit(m.Run())
}

// simulate serves until its standard input ends.
func simulate() {
	server, err := simulator.Listen("127.0.0.1:0", simulator.Config{})
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(server.BaseURL() + "\n")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = server.Close()
}

// provider is a simulator in a process of its own, which the world's pairs then call.
func (w *world) provider(b *testing.B) {
	b.Helper()
	command := exec.CommandContext(b.Context(), os.Args[0]) //nolint:gosec // this very binary
	command.Env = append(os.Environ(), simulatorVariable+"=1")
	stdin, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = command.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	w.baseURL = strings.TrimSpace(line)
	w.client = openai.New(openai.Config{BaseURL: w.baseURL})
	b.Cleanup(w.client.Close)
}
