package simulator

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is a simulator that listens on an address of its own.
type Server struct {
	*Simulator
	http   *http.Server
	addr   net.Addr
	served chan error
}

// Listen serves s on addr, e.g. "127.0.0.1:0", in the background until [Server.Close].
func (s *Simulator) Listen(addr string) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("simulator: listen on %s: %w", addr, err)
	}
	server := &Server{
		Simulator: s,
		http:      &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second},
		addr:      listener.Addr(),
		served:    make(chan error, 1),
	}
	go func() { server.served <- server.http.Serve(listener) }()
	return server, nil
}

// Listen is [New] and [Simulator.Listen] in one call.
func Listen(addr string, config Config) (*Server, error) { return New(config).Listen(addr) }

// URL is the root that the control paths stand under, e.g. http://127.0.0.1:4020.
func (s *Server) URL() string { return "http://" + s.addr.String() }

// BaseURL is what a provider's base_url names: URL with /v1.
func (s *Server) BaseURL() string { return s.URL() + "/v1" }

// Wait returns when the server has ended: nil after Close, else what ended it.
func (s *Server) Wait() error {
	err := <-s.served
	s.served <- err // for the next caller
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close stops listening, breaks every connection and returns when all handlers have ended.
func (s *Server) Close() error {
	err := s.http.Close()
	s.Simulator.Close()
	if waited := s.Wait(); err == nil {
		err = waited
	}
	return err
}
