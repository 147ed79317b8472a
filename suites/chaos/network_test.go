package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// path is a connection that can be cut and slowed: to the database for one replica, or to one provider.
type path struct {
	proxy *toxiproxy.Proxy
	mu    sync.Mutex // one fault at a time
}

// newPath opens a path to an address.
func newPath(name, to string) *path {
	GinkgoHelper()
	server := &toxiproxy.ApiServer{Collection: toxiproxy.NewProxyCollection(), Metrics: toxiproxy.NewMetricsContainer(nil)}
	silent(&server.Logger)
	p := &path{proxy: toxiproxy.NewProxy(server, name, "127.0.0.1:0", to)}
	Expect(p.proxy.Start()).To(Succeed())
	DeferCleanup(p.proxy.Stop)
	return p
}

// silent makes a logger that logs nothing, which is what the zero value of its type does. To name the type
// would be to depend on its module.
func silent[T any](logger **T) { *logger = new(T) }

// address is where the path begins.
func (p *path) address() string { return p.proxy.Listen }

// poison puts a toxic on the path, e.g. latency with {"latency": 200}, until ctx ends. It says how often
// a lostCommit lost an answer.
func (p *path) poison(ctx context.Context, kind, stream, attributes string) (lost int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name": "fault", "type": %q, "stream": %q, "attributes": %s}`, kind, stream, attributes)))
	if err != nil {
		return 0, err
	}
	<-ctx.Done()
	if toxic, ok := p.proxy.Toxics.GetToxic("fault").Toxic.(*lostCommit); ok {
		lost = toxic.lost.Load()
	}
	return lost, p.proxy.Toxics.RemoveToxic(context.WithoutCancel(ctx), "fault")
}

// cut breaks every connection and refuses new ones until ctx ends.
func (p *path) cut(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proxy.Stop()
	<-ctx.Done()
	// The port is free to be taken meanwhile, by an outgoing connection that does not last.
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for {
		err := p.proxy.Start()
		if err == nil || !rest(limit, 50*time.Millisecond) {
			return err
		}
	}
}

// bridge leads from a port to the Unix socket that is the only way to a private cluster, since the proxy
// knows TCP alone.
type bridge struct {
	listener net.Listener
	socket   string
}

func newBridge(socket string) *bridge {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	b := &bridge{listener: listener, socket: socket}
	go b.serve()
	DeferCleanup(listener.Close)
	return b
}

func (b *bridge) address() string { return b.listener.Addr().String() }

func (b *bridge) serve() {
	for {
		near, err := b.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go b.carry(near)
		}
	}
}

// carry copies both ways until either side ends, which ends both.
func (b *bridge) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("unix", b.socket)
	if err != nil {
		return // the server is down: the caller sees a connection that closes
	}
	defer far.Close()
	ended := make(chan struct{}, 2)
	copying := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from) // how it ended is for the two ends to know
		ended <- struct{}{}
	}
	go copying(near, far)
	go copying(far, near)
	<-ended
}

// rest waits, and says whether ctx goes on.
func rest(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
