package openai

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// idleTimeout is shorter than the five seconds after which common servers (uvicorn, node) close an idle
// connection. A request written into a connection that closes at that moment is in doubt, which costs a
// job far more than a new handshake.
const idleTimeout = 4 * time.Second

func newTransport(config Config) *http.Transport {
	dialer := &net.Dialer{KeepAlive: 15 * time.Second}
	connect := func(ctx context.Context, network, address string, secure bool) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, config.DialTimeout)
		defer cancel()
		dialed, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		raw := &rawConn{Conn: dialed}
		if !secure {
			return &conn{Conn: raw, raw: raw}, nil
		}
		return handshake(ctx, raw, address, config.TLS)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy: nil, // see the package comment
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return connect(ctx, network, address, false)
		},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return connect(ctx, network, address, true)
		},
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// handshake completes TLS below the connection that net/http gets, so that a write to that connection is
// always part of a request and never of the handshake.
func handshake(ctx context.Context, raw *rawConn, address string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		config.ServerName = host
	}
	secured := tls.Client(raw, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return &conn{Conn: secured, raw: raw}, nil
}

// rawConn counts the bytes that the kernel took.
type rawConn struct {
	net.Conn
	taken atomic.Int64
}

func (c *rawConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.taken.Add(int64(n))
	return n, err
}

// conn answers one question: may a byte of this request have left the machine? Every write that began
// counts, unless it ended with the kernel having taken nothing at all.
type conn struct {
	net.Conn
	raw *rawConn

	mu     sync.Mutex
	begun  int64
	fenced bool
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.fenced {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	c.begun++
	c.mu.Unlock()

	taken := c.raw.taken.Load()
	n, err := c.Conn.Write(p)
	if err != nil && n == 0 && c.raw.taken.Load() == taken {
		c.mu.Lock()
		c.begun--
		c.mu.Unlock()
	}
	return n, err
}

// writes is how many writes have begun so far.
func (c *conn) writes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun
}

// fence reports whether nothing was written since writes returned before, and if so makes sure that
// nothing ever will be: net/http writes from a goroutine of its own, and "not sent" must stay true.
func (c *conn) fence(before int64) bool {
	c.mu.Lock()
	unwritten := c.begun == before
	c.fenced = c.fenced || unwritten
	c.mu.Unlock()
	if unwritten {
		_ = c.Close()
	}
	return unwritten
}
