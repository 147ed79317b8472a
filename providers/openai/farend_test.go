package openai_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	"go.uber.org/goleak"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// received is one request as the far end read it.
type received struct {
	method, path string
	uri          string // as it stood on the wire
	header       http.Header
	body         []byte
}

// farEnd is a server at the level of bytes: it reads requests properly and does with the connection
// whatever the test says. What it has read is the truth about what was sent.
type farEnd struct {
	url      string
	listener net.Listener

	mu    sync.Mutex
	seen  []received
	conns []net.Conn
	wg    sync.WaitGroup
}

// reply handles the n-th request (from 1) of the far end; false closes the connection.
type reply func(n int, conn net.Conn) (keep bool)

func listen(t *testing.T, answer reply) *farEnd { return listenTLS(t, nil, answer) }

func listenTLS(t *testing.T, config *tls.Config, answer reply) *farEnd {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &farEnd{url: "http://" + listener.Addr().String(), listener: listener}
	if config != nil {
		f.url = "https://" + listener.Addr().String()
	}
	f.wg.Go(func() { f.accept(config, answer) })
	t.Cleanup(f.stop)
	return f
}

func (f *farEnd) accept(config *tls.Config, answer reply) {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		if config != nil {
			conn = tls.Server(conn, config)
		}
		f.mu.Lock()
		f.conns = append(f.conns, conn)
		f.mu.Unlock()
		f.wg.Go(func() { f.serve(conn, answer) })
	}
}

func (f *farEnd) serve(conn net.Conn, answer reply) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		f.mu.Lock()
		f.seen = append(f.seen, received{request.Method, request.URL.Path, request.RequestURI, request.Header, body})
		n := len(f.seen)
		f.mu.Unlock()
		if !answer(n, conn) {
			return
		}
	}
}

func (f *farEnd) stop() {
	_ = f.listener.Close()
	f.mu.Lock()
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.mu.Unlock()
	f.wg.Wait()
}

func (f *farEnd) requests() []received {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]received(nil), f.seen...)
}

func (f *farEnd) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

// sends writes fixed bytes and then keeps the connection or closes it.
func sends(text string, keep bool) reply {
	return func(_ int, conn net.Conn) bool {
		_, err := io.WriteString(conn, text)
		return err == nil && keep
	}
}

// silent never answers; the connection ends when the other side closes it.
func silent(_ int, conn net.Conn) bool {
	_, _ = io.Copy(io.Discard, conn)
	return false
}

// answers writes a whole answer of JSON, with these header lines besides.
func answers(status int, body string, lines ...string) reply {
	head := fmt.Sprintf("HTTP/1.1 %d Said\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", status, len(body))
	for _, line := range lines {
		head += line + "\r\n"
	}
	return sends(head+"\r\n"+body, true)
}

// inTurn is one reply a request; the last one is repeated.
func inTurn(replies ...reply) reply {
	return func(n int, conn net.Conn) bool { return replies[min(n, len(replies))-1](n, conn) }
}

func hangsUp(int, net.Conn) bool { return false }

const completion = `{"model":"m","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}`

func request() providers.Request {
	return providers.Request{
		Target: providers.Target{Provider: "alpha", Model: "m"}, Profile: providers.Profile{Model: "m"},
		Messages:   []providers.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "u"}},
		SchemaName: "answer", Schema: []byte(`{"type":"object"}`), AttemptID: "attempt-1",
	}
}

func client(t *testing.T, config openai.Config) *openai.Client {
	t.Helper()
	c := openai.New(config)
	t.Cleanup(c.Close)
	return c
}

// send sends once and checks what holds of every exchange with a far end that reads whole requests: it
// saw exactly the POSTs that it should, and the bytes kept as evidence.
func (f *farEnd) send(t *testing.T, ctx context.Context, c *openai.Client, r providers.Request) providers.Exchange {
	t.Helper()
	before := len(f.requests())
	ex := c.Send(ctx, r)
	after := f.requests()
	if len(after) != before+1 {
		t.Fatalf("%d POSTs at the far end for one Send", len(after)-before)
	}
	last := after[before]
	g := gomega.NewWithT(t)
	g.Expect(last.method).To(gomega.Equal("POST"))
	g.Expect(bytes.Equal(last.body, ex.RequestBody)).To(gomega.BeTrue(), "evidence %s, far end %s", ex.RequestBody, last.body)
	g.Expect(ex.Wrote).To(gomega.BeTrue())
	g.Expect(ex.Unbuildable).To(gomega.BeFalse())
	g.Expect(ex.Started).NotTo(gomega.BeZero())
	g.Expect(ex.Finished).To(gomega.BeTemporally(">=", ex.Started))
	return ex
}

func read(ex providers.Exchange) providers.Outcome {
	return providers.Classify(ex, providers.Rules{ExpectJSON: true})
}
