package openai

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/onsi/gomega"
)

// scripted is a connection whose writes take a given number of bytes and then fail.
type scripted struct {
	net.Conn
	takes int
	err   error
	wrote func()
}

func (s *scripted) Write(p []byte) (int, error) {
	if s.wrote != nil {
		s.wrote()
	}
	return min(s.takes, len(p)), s.err
}
func (s *scripted) Close() error { return nil }

func over(s *scripted) *conn {
	raw := &rawConn{Conn: s}
	return &conn{Conn: raw, raw: raw}
}

// TestFence: "nothing was written" is said only where it is true, and stays true once it is said.
func TestFence(t *testing.T) {
	broken := errors.New("broken pipe")
	for name, c := range map[string]struct {
		takes     int
		err       error
		unwritten bool
	}{
		"the kernel took all":     {9, nil, false},
		"the kernel took a part":  {1, broken, false},
		"the kernel took nothing": {0, broken, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			connection := over(&scripted{takes: c.takes, err: c.err})
			before := connection.writes()
			_, err := connection.Write([]byte("POST"))
			g.Expect(errors.Is(err, c.err)).To(gomega.BeTrue())
			g.Expect(connection.fence(before)).To(gomega.Equal(c.unwritten))
		})
	}
	t.Run("nothing is written after the fence", func(t *testing.T) {
		g := gomega.NewWithT(t)
		reached := false
		connection := over(&scripted{takes: 9, wrote: func() { reached = true }})
		g.Expect(connection.fence(connection.writes())).To(gomega.BeTrue())
		_, err := connection.Write([]byte("POST"))
		g.Expect(err).To(gomega.MatchError(net.ErrClosed))
		g.Expect(reached).To(gomega.BeFalse())
	})
	t.Run("earlier requests on the connection do not count", func(t *testing.T) {
		g := gomega.NewWithT(t)
		connection := over(&scripted{takes: 9})
		_, _ = connection.Write([]byte("POST"))
		g.Expect(connection.fence(connection.writes())).To(gomega.BeTrue())
	})
	t.Run("a write that has not returned may have left", func(t *testing.T) {
		g := gomega.NewWithT(t)
		far, near := net.Pipe()
		raw := &rawConn{Conn: near}
		connection := &conn{Conn: raw, raw: raw}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = connection.Write([]byte("POST"))
		}()
		_, err := io.ReadFull(far, make([]byte, 2)) // half of it has left, the write is still waiting
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(connection.fence(0)).To(gomega.BeFalse())
		g.Expect(near.Close()).To(gomega.Succeed())
		<-done
	})
}
