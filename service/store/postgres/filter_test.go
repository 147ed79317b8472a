package postgres_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega"
)

// filter stands between a store and PostgreSQL, and may swallow notifications or cut and refuse connections.
type filter struct {
	url      string
	swallow  atomic.Bool
	network  string
	address  string
	listener net.Listener

	mu      sync.Mutex
	refused bool
	open    map[net.Conn]bool
	work    sync.WaitGroup
}

func filterNotifications(t *testing.T, address string) *filter {
	t.Helper()
	g := gomega.NewWithT(t)
	f := &filter{open: map[net.Conn]bool{}}
	var err error
	f.network, f.address, err = socket(address)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	f.listener, err = net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	through, err := url.Parse(address)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	parameters := through.Query()
	parameters.Del("host")
	parameters.Set("sslmode", "disable")
	through.Host, through.RawQuery = f.listener.Addr().String(), parameters.Encode()
	f.url = through.String()
	f.work.Go(f.serve)
	t.Cleanup(func() {
		_ = f.listener.Close()
		f.refuse(true)
		f.work.Wait()
	})
	return f
}

func (f *filter) serve() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(f.network, f.address)
		if err != nil || !f.admit(client, server) {
			_ = client.Close()
			continue
		}
		f.work.Go(func() {
			defer f.dismiss(client, server)
			_, _ = io.Copy(server, client)
		})
		f.work.Go(func() {
			defer f.dismiss(client, server)
			f.answer(client, server)
		})
	}
}

func (f *filter) admit(client, server net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused {
		_ = server.Close()
		return false
	}
	f.open[client], f.open[server] = true, true
	return true
}

func (f *filter) dismiss(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(f.open, conn)
	}
}

// refuse cuts every connection and takes none, or takes them again.
func (f *filter) refuse(refused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = refused
	for conn := range f.open {
		_ = conn.Close()
	}
}

// answer passes the server's messages on: a type, a length that counts itself, and the rest.
func (f *filter) answer(client io.Writer, server io.Reader) {
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(server, head); err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(server, rest); err != nil {
			return
		}
		if head[0] == 'A' && f.swallow.Load() {
			continue
		}
		if _, err := client.Write(slices.Concat(head, rest)); err != nil {
			return
		}
	}
}
