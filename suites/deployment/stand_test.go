package deployment

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	. "github.com/onsi/ginkgo/v2"
)

// stand stands in for replicas where a fault must come at one certain moment: three servers that behave alike.
type stand struct {
	replicas []string
	mu       sync.Mutex
	requests []string // method and address as sent
}

// newStand starts the servers. Each request is noted, and read whole, before answer gets it.
func newStand(answer http.HandlerFunc) *stand {
	s := &stand{}
	for range shippedReplicas {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // what is cut short is the test's to notice
			s.mu.Lock()
			s.requests = append(s.requests, r.Method+" "+r.RequestURI)
			s.mu.Unlock()
			answer(w, r)
		}))
		DeferCleanup(server.Close)
		s.replicas = append(s.replicas, server.Listener.Addr().String())
	}
	return s
}

// seen are the requests so far.
func (s *stand) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

// hangUp closes the connection after the request was read, without a word.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close() // nothing was written that could be lost
	}
}

func answerOK(http.ResponseWriter, *http.Request) {}
