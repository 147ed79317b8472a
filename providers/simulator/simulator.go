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

	// Candour is how questions are answered about models that have no candour of their own.
	Candour Candour

	// Idempotency is what holds for models that have none of their own.
	Idempotency Idempotency
}

// Simulator is an [http.Handler]; see the package comment for what it answers.
type Simulator struct {
	config    Config
	mux       *http.ServeMux
	ledger    *ledger // of requests for work
	questions *ledger // of those about earlier ones
	roster    *roster
	archive   *archive
	keys      keyring

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
		config: config, mux: http.NewServeMux(), ledger: newLedger(time.Now), questions: newLedger(time.Now),
		roster: newRoster(config), archive: newArchive(), keys: keyring{claims: map[string]claim{}},
		running: running, stop: stop,
	}
	mustBeValid(config.Candour.check())
	for model, p := range config.Models {
		s.SetPersonality(model, p)
	}
	s.routeControl()
	s.mux.HandleFunc("/", s.provide)
	return s
}

// ServerName is what every answer says in its Server header, so that nobody takes it for a provider's.
const ServerName = "fallproof-simulator"

// ServeHTTP answers one request. After Close it answers none.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		panic(http.ErrAbortHandler) // closes the connection: a server that is gone says nothing
	}
	defer s.inFlight.Done()
	w.Header().Set("Server", ServerName)
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

// Close ends every request and every work that is open, silent and held ones too, and returns when their
// handlers have.
func (s *Simulator) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.inFlight.Wait()
}
