package chaos

import (
	"bytes"
	"testing"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/onsi/gomega"
)

// TestLostCommit: the answer to a COMMIT is lost wherever it is cut into chunks, and what came before its last
// byte has passed.
func TestLostCommit(t *testing.T) {
	const selected = "C\x00\x00\x00\x0dSELECT 1\x00"
	whole := selected + string(committed) + "Z\x00\x00\x00\x05I"
	for cut := range len(whole) {
		g := gomega.NewWithT(t)
		l := &lostCommit{OneIn: 1}
		passed, ended := pass(l, whole[:cut], whole[cut:])
		g.Expect(ended).To(gomega.BeTrue())
		g.Expect(l.lost.Load()).To(gomega.BeEquivalentTo(1), "cut at %d", cut)
		g.Expect(passed).NotTo(gomega.ContainSubstring(string(committed)))
	}
}

// One in so many is lost, counted over all connections; everything else passes unchanged.
func TestOneInSoManyCommitsIsLost(t *testing.T) {
	g := gomega.NewWithT(t)
	l := &lostCommit{OneIn: 3}
	for range 2 {
		passed, ended := pass(l, string(committed), "next")
		g.Expect(ended).To(gomega.BeFalse())
		g.Expect(passed).To(gomega.Equal(string(committed) + "next"))
	}
	passed, ended := pass(l, string(committed), "next")
	g.Expect(ended).To(gomega.BeTrue())
	g.Expect(passed).To(gomega.BeEmpty())
}

// pass sends chunks through the toxic on a connection of its own, and says what came out and whether the
// toxic closed it before they had all passed.
func pass(l *lostCommit, chunks ...string) (passed string, ended bool) {
	in, out := make(chan *stream.StreamChunk), make(chan *stream.StreamChunk, len(chunks))
	stub := toxics.NewToxicStub(in, out)
	stub.State = l.NewState()
	done := make(chan struct{})
	go func() { defer close(done); l.Pipe(stub) }()
	for _, chunk := range chunks {
		in <- &stream.StreamChunk{Data: []byte(chunk)}
	}
	lost := l.lost.Load()
	close(in)
	<-done
	var text bytes.Buffer
	for chunk := range out {
		text.Write(chunk.Data)
	}
	return text.String(), lost < l.lost.Load() || stub.Closed() && text.Len() < len(bytes.Join(asBytes(chunks), nil))
}

func asBytes(chunks []string) (all [][]byte) {
	for _, chunk := range chunks {
		all = append(all, []byte(chunk))
	}
	return all
}
