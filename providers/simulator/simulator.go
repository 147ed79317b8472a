package simulator

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// AttemptHeader carries the id of the attempt that a request belongs to.
const AttemptHeader = "X-Fallproof-Attempt"

// Config is what a simulator starts with; its zero value is usable.
type Config struct {
	// Models are the personalities of models by name. A model that stands here, was set later, or names
	// a personality exists; every other is answered 404.
	Models map[string]Personality

	// Seed shifts which answer in five a flaky model gets wrong, and the fingerprints and ids served.
	Seed int64

	// APIKey, where set, must come as "Authorization: Bearer KEY"; else 401.
	APIKey string
}

// Simulator is an [http.Handler]; see the package comment for what it answers.
type Simulator struct {
	config Config
	mux    *http.ServeMux
	ledger *ledger
	roster *roster

	running  context.Context // ends at Close
	stop     context.CancelFunc
	mu       sync.Mutex // guards closed, and Add before Wait on inFlight
	closed   bool
	inFlight sync.WaitGroup
}

// New starts nothing and opens nothing: requests arrive through ServeHTTP, or through [Simulator.Listen].
// It panics on a personality that does not exist, which is a mistake of the program.
func New(config Config) *Simulator {
	running, stop := context.WithCancel(context.Background())
	s := &Simulator{
		config: config, mux: http.NewServeMux(), ledger: newLedger(time.Now), roster: newRoster(config.Seed),
		running: running, stop: stop,
	}
	for model, p := range config.Models {
		s.SetPersonality(model, p)
	}
	s.mux.HandleFunc("GET /simulator/ledger", s.getLedger)
	s.mux.HandleFunc("DELETE /simulator/ledger", s.deleteLedger)
	s.mux.HandleFunc("GET /simulator/models", s.getModels)
	s.mux.HandleFunc("PUT /simulator/models/{model...}", s.putModel)
	s.mux.HandleFunc("POST /simulator/release", s.postRelease)
	s.mux.HandleFunc("/simulator/", unknownControl)
	s.mux.HandleFunc("/", s.provide)
	return s
}

// ServeHTTP answers one request. After Close it answers none.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		panic(http.ErrAbortHandler) // closes the connection: a server that is gone says nothing
	}
	defer s.inFlight.Done()
	s.mux.ServeHTTP(w, r)
}

func (s *Simulator) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.inFlight.Add(1)
	return true
}

// Close ends every request that is open, silent and held ones too, and returns when their handlers have.
func (s *Simulator) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.inFlight.Wait()
}

// Ledger returns every request received so far, in order of arrival.
func (s *Simulator) Ledger() []Entry { return s.ledger.snapshot(Filter{}) }

// Select returns the requests that match, in order of arrival.
func (s *Simulator) Select(f Filter) []Entry { return s.ledger.snapshot(f) }

// ResetLedger empties the ledger. Open requests go on, and sequence numbers do too.
func (s *Simulator) ResetLedger() { s.ledger.reset() }

// SetPersonality changes a model's behaviour for the requests that arrive from now on; the model exists
// afterwards. It panics on a personality that does not exist.
func (s *Simulator) SetPersonality(model string, p Personality) {
	if err := p.check(); err != nil {
		panic("simulator: " + err.Error())
	}
	s.roster.set(model, p)
}

// Release lets the open requests that match answer, and returns how many were waiting or about to. It
// reaches every request that the ledger shows unanswered; it is not remembered for later ones.
func (s *Simulator) Release(f Filter) int { return s.ledger.release(f) }

// WaitForRequests returns the matching requests as soon as n of them were read whole. When ctx ends
// first, it returns those that are there, and an error that says how many.
func (s *Simulator) WaitForRequests(ctx context.Context, n int, f Filter) ([]Entry, error) {
	return s.ledger.wait(ctx, n, f)
}
