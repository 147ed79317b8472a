package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// tollgate stands before a provider, counts the calls, and keeps one of them until its caller is gone.
type tollgate struct {
	proxy *httputil.ReverseProxy
	hold  int           // the call that is kept; 0 = none
	held  chan struct{} // closed when it has come

	mu    sync.Mutex
	calls int
	ids   map[string]bool
	moved chan struct{} // closed, and replaced, at every call
}

func newTollgate(t *testing.T, base string, hold int) (*tollgate, string) {
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	gate := &tollgate{
		hold: hold, held: make(chan struct{}), ids: map[string]bool{}, moved: make(chan struct{}),
		proxy: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host}),
	}
	server := httptest.NewServer(gate)
	t.Cleanup(server.Close)
	return gate, server.URL + target.Path
}

func (g *tollgate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.calls++
	mine := g.calls
	g.ids[r.Header.Get("X-Fallproof-Attempt")] = true
	close(g.moved)
	g.moved = make(chan struct{})
	g.mu.Unlock()
	if mine == g.hold {
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body) // so that the server notices when the caller goes
		close(g.held)
		<-r.Context().Done()
		return
	}
	g.proxy.ServeHTTP(w, r)
}

// count is how many calls came, and how many ids they had.
func (g *tollgate) count() (calls, ids int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls, len(g.ids)
}

// reaches waits until so many calls have come.
func (g *tollgate) reaches(ctx context.Context, calls int) error {
	for {
		g.mu.Lock()
		came, moved := g.calls, g.moved
		g.mu.Unlock()
		if came >= calls {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d calls: %w", came, calls, ctx.Err())
		}
	}
}

// otherCalls are those that are no sample of a case: the canary and the two probes.
const otherCalls = 3

const togetherConfig = `
providers:
  sim: {base_url: %s, source: simulated, concurrency: %d, models: {faithful: {}, wrong: {}}}
routes:
  support-triage: {primary: sim/faithful}
`

// eachEngine runs a test on a SQLite file and on PostgreSQL.
func eachEngine(t *testing.T, test func(t *testing.T, s *terminal, base string)) {
	for engine, store := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "sqlite:together.db" },
		"PostgreSQL": func(t *testing.T) string { return pgcluster.Database(t) },
	} {
		t.Run(engine, func(t *testing.T) {
			s := newTerminal(t)
			base, _ := s.background("simulate", "--listen", "127.0.0.1:0", "--model", "faithful=slow:5ms", "--model", "wrong=plausible")
			s.env["DATABASE_URL"] = store(t)
			test(t, s, base)
		})
	}
}

// Two processes that were started for the same night do the work once and agree on one record.
func TestTwoProcessesShareOneRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *terminal, base string) {
		gate, address := newTollgate(t, base, 0)
		s.write("fallproof.yaml", fmt.Sprintf(togetherConfig, address, 2))
		first, second := s.together(exitOK, "--samples", "6", "--complete")
		s.Expect(second).To(gomega.Equal(first), "one record")
		s.Expect(first.Verdict).To(gomega.Equal("certified"))
		s.Expect(first.Taken).To(gomega.Equal(first.Planned))
		calls, ids := gate.count()
		s.Expect(calls).To(gomega.Equal(first.Planned+otherCalls), "the work was done once")
		s.Expect(ids).To(gomega.Equal(calls))
	})
}

// Both stop early where the verdict is certain, and agree on it: each needs at most what one alone would need.
func TestTwoProcessesStopEarly(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *terminal, base string) {
		gate, address := newTollgate(t, base, 0)
		s.write("fallproof.yaml", fmt.Sprintf(togetherConfig, address, 2))
		first, second := s.together(exitNo, "--samples", "40", "--target", "sim/wrong", "--contract", "support-triage")
		s.Expect(second).To(gomega.Equal(first), "one record")
		s.Expect(first.Verdict).To(gomega.Equal("rejected"))
		calls, ids := gate.count()
		s.Expect(ids).To(gomega.Equal(calls))
		s.Expect(first.Planned).To(gomega.Equal(320))
		s.Expect(calls).To(gomega.BeNumerically("<", 120))
		// What was under way when it became certain is paid for, and may have come too late for the record.
		s.Expect(calls).To(gomega.BeNumerically(">=", first.Taken+otherCalls))
	})
}

// together is two processes with one run; it returns the record that each of them ended with.
func (s *terminal) together(code int, more ...string) (first, second recordRead) {
	s.t.Helper()
	var runners [2]*exec.Cmd
	var output [2]strings.Builder
	for i := range runners {
		arguments := append([]string{"certify", "--run", "tonight", "--json", fmt.Sprintf("%d.json", i)}, more...)
		runners[i] = s.process(s.t.Context(), arguments...)
		runners[i].Stdout, runners[i].Stderr = &output[i], &output[i]
		s.Expect(runners[i].Start()).To(gomega.Succeed())
	}
	for i := range runners {
		_ = runners[i].Wait() // the code says it
		s.Expect(runners[i].ProcessState.ExitCode()).To(gomega.Equal(code), output[i].String())
	}
	return s.records("0.json")[0], s.records("1.json")[0]
}

// A runner that is killed leaves what it has paid for to the other one, and one call without an answer. Where
// the verdict is certain without that, nobody waits for its claim to run out.
func TestAKilledRunnersWorkIsNotLost(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *terminal, base string) {
		const hold = 20
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		gate, address := newTollgate(t, base, hold)
		s.write("fallproof.yaml", fmt.Sprintf(togetherConfig, address, 1))
		start := func(name string) (*exec.Cmd, *strings.Builder) {
			runner, output := s.process(ctx, "certify", "--run", "tonight", "--samples", "12", "--json", name), &strings.Builder{}
			runner.Stdout, runner.Stderr = output, output
			s.Expect(runner.Start()).To(gomega.Succeed())
			return runner, output
		}
		victim, _ := start("victim.json")
		select {
		case <-gate.held:
		case <-ctx.Done():
			t.Fatal("the call to be kept never came")
		}
		heir, said := start("heir.json")
		s.Expect(gate.reaches(ctx, hold+5)).To(gomega.Succeed())
		s.Expect(victim.Process.Kill()).To(gomega.Succeed())
		s.Expect(victim.Wait()).NotTo(gomega.Succeed())
		s.Expect(heir.Wait()).To(gomega.Succeed(), said.String())

		record := s.records("heir.json")[0]
		s.Expect(record.Verdict).To(gomega.Equal("certified"))
		calls, ids := gate.count()
		s.Expect(ids).To(gomega.Equal(calls))
		s.Expect(calls).To(gomega.Equal(record.Taken+otherCalls+1), "every call is in the record but the one that was cut")
		s.Expect(record.Taken).To(gomega.BeNumerically("<", record.Planned))

		late, said := start("late.json")
		s.Expect(late.Wait()).To(gomega.Succeed(), said.String())
		s.Expect(said.String()).To(gomega.ContainSubstring("nothing was called now"))
		s.Expect(s.records("late.json")[0]).To(gomega.Equal(record))
		again, _ := gate.count()
		s.Expect(again).To(gomega.Equal(calls))
	})
}
