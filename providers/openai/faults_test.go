package openai_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

// TestConnections breaks real connections in the ways that providers, proxies and networks do. Whatever
// happens there is one POST a Send (far.send counts), and the exchange says what was seen. Each row runs
// on a fresh and on a reused connection: net/http treats the two differently.
func TestConnections(t *testing.T) {
	length := func(n int, body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", n, body)
	}
	chunk := func(body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body)
	}
	for _, row := range []struct {
		name     string
		answer   reply
		status   int
		body     string
		complete bool
		verdict  providers.Verdict
		reason   providers.Reason
	}{
		{"answers", sends(length(len(completion), completion), true), 200, completion, true, providers.Succeeded, providers.ReasonNone},
		{"answers in chunks", sends(chunk(completion)+"0\r\n\r\n", true), 200, completion, true, providers.Succeeded, providers.ReasonNone},
		{"answers after an interim status", sends("HTTP/1.1 103 Early Hints\r\n\r\n"+length(len(completion), completion), true), 200, completion, true, providers.Succeeded, providers.ReasonNone},
		{"closes after reading", hangsUp, 0, "", false, providers.InDoubt, providers.ReasonConnectionLost},
		{"resets after reading", resets, 0, "", false, providers.InDoubt, providers.ReasonConnectionLost},
		{"closes inside the header", sends("HTTP/1.1 200 OK\r\nContent-Le", false), 0, "", false, providers.InDoubt, providers.ReasonConnectionLost},
		{"talks nonsense", sends("hello\r\n\r\n", false), 0, "", false, providers.InDoubt, providers.ReasonConnectionLost},
		{"sends a header without end", endless("HTTP/1.1 200 OK\r\n", "X-Pad: "+strings.Repeat("x", 4000)+"\r\n"), 0, "", false, providers.InDoubt, providers.ReasonConnectionLost},
		{"half a body", sends(length(len(completion), completion[:30]), false), 200, completion[:30], false, providers.InDoubt, providers.ReasonConnectionLost},
		{"a whole envelope, more declared", sends(length(len(completion)+1, completion), false), 200, completion, false, providers.InDoubt, providers.ReasonConnectionLost},
		{"no last chunk", sends(chunk(completion), false), 200, completion, false, providers.InDoubt, providers.ReasonConnectionLost},
		{"no declared end, whole", sends("HTTP/1.0 200 OK\r\n\r\n"+completion, false), 200, completion, true, providers.Succeeded, providers.ReasonNone},
		{"no declared end, cut", sends("HTTP/1.0 200 OK\r\n\r\n"+completion[:40], false), 200, completion[:40], false, providers.InDoubt, providers.ReasonConnectionLost},
		{"no body at all", sends(length(0, ""), true), 200, "", true, providers.Failed, providers.ReasonMalformed},
		{"error with half a body", sends("HTTP/1.1 400 Bad\r\nContent-Length: 99\r\n\r\n{", false), 400, "{", false, providers.Failed, providers.ReasonRejected},
		{"compressed unasked", sends("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08", true), 200, "\x1f\x8b\x08", true, providers.Failed, providers.ReasonMalformed},
		{"switches protocols", sends("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", true), 101, "", false, providers.InDoubt, providers.ReasonConnectionLost},
		{"redirects 302", redirects(302), 302, "", true, providers.Failed, providers.ReasonRedirect},
		{"redirects 307", redirects(307), 307, "", true, providers.Failed, providers.ReasonRedirect},
		{"redirects 308", redirects(308), 308, "", true, providers.Failed, providers.ReasonRedirect},
		{"rate limits", sends("HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", true), 429, "", true, providers.Failed, providers.ReasonRateLimited},
	} {
		for _, reused := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/reused=%v", row.name, reused), func(t *testing.T) {
				first := reused
				far := listen(t, func(n int, conn net.Conn) bool {
					if n == 1 && first {
						return sends(answer200, true)(n, conn)
					}
					return row.answer(n, conn)
				})
				c := client(t, openai.Config{BaseURL: far.url})
				if reused {
					far.send(t, t.Context(), c, request())
				}
				ex := far.send(t, t.Context(), c, request())
				g := gomega.NewWithT(t)
				g.Expect(far.connections()).To(gomega.Equal(1))
				g.Expect(ex.Status).To(gomega.Equal(row.status))
				g.Expect(string(ex.Body)).To(gomega.Equal(row.body))
				g.Expect(ex.Complete).To(gomega.Equal(row.complete))
				if row.status == 0 {
					g.Expect(ex.Err).To(gomega.HaveOccurred())
				}
				out := read(ex)
				g.Expect(out.Verdict).To(gomega.Equal(row.verdict), out.Detail)
				g.Expect(out.Reason).To(gomega.Equal(row.reason), out.Detail)
			})
		}
	}
}

// TestIdempotentPOSTs: net/http sends a POST again, unasked, when a reused connection closes before the
// answer and the request looks idempotent to it. Whatever a profile declares, one Send stays one POST.
func TestIdempotentPOSTs(t *testing.T) {
	for _, name := range []string{"Idempotency-Key", "x-idempotency-key", "X-Request-Id"} {
		for _, reconcile := range []string{providers.ReconcileNone, providers.ReconcileStoredCompletions, providers.ReconcileResponses} {
			for fault, answer := range map[string]reply{"closes": hangsUp, "resets": resets, "closes inside the header": sends("HTTP/1.1 2", false)} {
				t.Run(name+" "+reconcile+" "+fault, func(t *testing.T) {
					first := answer200
					if reconcile == providers.ReconcileResponses {
						first = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(response("completed")), response("completed"))
					}
					far := listen(t, inTurn(sends(first, true), answer))
					c := client(t, openai.Config{BaseURL: far.url})
					r := request()
					r.Profile.IdempotencyHeader, r.Profile.Reconcile = name, reconcile
					g := gomega.NewWithT(t)
					g.Expect(read(far.send(t, t.Context(), c, r)).Verdict).To(gomega.Equal(providers.Succeeded))
					out := read(far.send(t, t.Context(), c, r))
					g.Expect(out.Verdict).To(gomega.Equal(providers.InDoubt), out.Detail)
					g.Expect(far.connections()).To(gomega.Equal(1))
					for _, seen := range far.requests() {
						g.Expect(seen.header.Values(name)).To(gomega.Equal([]string{"attempt-1"}))
					}
				})
			}
		}
	}
}

// resets closes so that the other side gets RST instead of FIN.
func resets(_ int, conn net.Conn) bool {
	_ = conn.(*net.TCPConn).SetLinger(0)
	return false
}

// redirects to the very server that answers, so that a followed redirect would be counted there.
func redirects(status int) reply {
	return func(_ int, conn net.Conn) bool {
		_, err := fmt.Fprintf(conn, "HTTP/1.1 %d Elsewhere\r\nLocation: http://%s/v2\r\nContent-Length: 0\r\n\r\n", status, conn.LocalAddr())
		return err == nil
	}
}

// endless begins with head and repeats part until the other side has had enough.
func endless(head, part string) reply {
	return func(_ int, conn net.Conn) bool {
		_, err := io.WriteString(conn, head)
		for err == nil {
			_, err = io.WriteString(conn, part)
		}
		return false
	}
}

// TestDeadlines: where ctx ends decides between not sent and in doubt, and the wait ends with it.
func TestDeadlines(t *testing.T) {
	soon := func(t *testing.T) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	for name, answer := range map[string]reply{
		"no header": silent,
		"a header that never ends": func(n int, conn net.Conn) bool {
			return sends("HTTP/1.1 200 OK\r\nX-Slow: ", true)(n, conn) && silent(n, conn)
		},
		"a body that never ends": func(n int, conn net.Conn) bool {
			return sends("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", true)(n, conn) && silent(n, conn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			far := listen(t, answer)
			ex := far.send(t, soon(t), client(t, openai.Config{BaseURL: far.url}), request())
			g := gomega.NewWithT(t)
			g.Expect(ex.Err).To(gomega.MatchError(context.DeadlineExceeded))
			g.Expect(read(ex).Verdict).To(gomega.Equal(providers.InDoubt))
			g.Expect(read(ex).Reason).To(gomega.Equal(providers.ReasonTimeout))
		})
	}
	t.Run("a cause of one's own keeps the deadline visible", func(t *testing.T) {
		far := listen(t, silent)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, fmt.Errorf("give up"))
		defer cancel()
		ex := far.send(t, ctx, client(t, openai.Config{BaseURL: far.url}), request())
		gomega.NewWithT(t).Expect(read(ex).Reason).To(gomega.Equal(providers.ReasonTimeout))
	})
	t.Run("cancelled while waiting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		far := listen(t, func(n int, conn net.Conn) bool { cancel(); return silent(n, conn) })
		ex := far.send(t, ctx, client(t, openai.Config{BaseURL: far.url}), request())
		gomega.NewWithT(t).Expect(read(ex).Reason).To(gomega.Equal(providers.ReasonConnectionLost))
	})
	t.Run("over before it began", func(t *testing.T) {
		far := listen(t, silent)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		notSent(t, client(t, openai.Config{BaseURL: far.url}).Send(ctx, request()))
		gomega.NewWithT(t).Expect(far.connections()).To(gomega.BeZero())
	})
	t.Run("before the first byte", func(t *testing.T) {
		ex := client(t, openai.Config{BaseURL: mute(t)}).Send(soon(t), request())
		notSent(t, ex)
		gomega.NewWithT(t).Expect(ex.Err).To(gomega.MatchError(context.DeadlineExceeded))
	})
	t.Run("dial timeout", func(t *testing.T) {
		c := client(t, openai.Config{BaseURL: mute(t), DialTimeout: 50 * time.Millisecond})
		notSent(t, c.Send(t.Context(), request()))
	})
}

// mute is the URL of a TLS endpoint that accepts a connection and never says a word. Its stop waits for
// that connection to end, hence for the client to let go of it.
func mute(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if conn, err := listener.Accept(); err == nil {
			silent(1, conn)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = listener.Close(); wg.Wait() })
	return "https://" + listener.Addr().String()
}

func notSent(t *testing.T, ex providers.Exchange) {
	t.Helper()
	g := gomega.NewWithT(t)
	g.Expect(ex.Wrote).To(gomega.BeFalse())
	g.Expect(ex.Status).To(gomega.BeZero())
	g.Expect(ex.Err).To(gomega.HaveOccurred())
	out := read(ex)
	g.Expect(out.Verdict).To(gomega.Equal(providers.Failed))
	g.Expect(out.Reason).To(gomega.Equal(providers.ReasonNotSent))
	g.Expect(out.Retryable).To(gomega.BeTrue())
}

func TestNothingWritten(t *testing.T) {
	t.Run("refused dial", func(t *testing.T) {
		far := listen(t, silent)
		far.stop()
		notSent(t, client(t, openai.Config{BaseURL: far.url}).Send(t.Context(), request()))
	})
	t.Run("no such host", func(t *testing.T) {
		host := strings.Repeat("a", 64) + ".invalid" // a label too long to be asked for: no query leaves
		notSent(t, client(t, openai.Config{BaseURL: "http://" + host}).Send(t.Context(), request()))
	})
	t.Run("certificate nobody trusts", func(t *testing.T) {
		far := listenTLS(t, certificate(t), sends(answer200, true))
		notSent(t, client(t, openai.Config{BaseURL: far.url}).Send(t.Context(), request()))
		gomega.NewWithT(t).Expect(far.requests()).To(gomega.BeEmpty())
	})
	t.Run("TLS to a plain server", func(t *testing.T) {
		far := listen(t, sends(answer200, true))
		notSent(t, client(t, openai.Config{BaseURL: strings.Replace(far.url, "http", "https", 1)}).Send(t.Context(), request()))
	})
}

// certificate is httptest's, valid for 127.0.0.1.
func certificate(t *testing.T) *tls.Config {
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	return &tls.Config{Certificates: server.TLS.Certificates}
}

// TestTLS: the same promises under TLS, where handshake and alerts are writes too.
func TestTLS(t *testing.T) {
	config := certificate(t)
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	far := listenTLS(t, config, func(n int, conn net.Conn) bool {
		if n < 3 {
			return sends(answer200, true)(n, conn)
		}
		return false
	})
	c := client(t, openai.Config{BaseURL: far.url, TLS: &tls.Config{RootCAs: roots}})
	g := gomega.NewWithT(t)
	for range 2 {
		g.Expect(read(far.send(t, t.Context(), c, request())).Verdict).To(gomega.Equal(providers.Succeeded))
	}
	g.Expect(read(far.send(t, t.Context(), c, request())).Verdict).To(gomega.Equal(providers.InDoubt))
	g.Expect(far.connections()).To(gomega.Equal(1), "connections are reused under TLS")
}

func TestSizeLimit(t *testing.T) {
	const limit = 1000
	exactly := strings.Replace(completion, "{}", "{"+strings.Repeat(" ", limit-len(completion))+"}", 1)
	for name, c := range map[string]struct {
		answer reply
		large  bool
	}{
		"at the limit":   {sends(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(exactly), exactly), true), false},
		"one beyond":     {sends(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s ", len(exactly)+1, exactly), true), true},
		"without an end": {endless("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 4096)), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			far := listen(t, c.answer)
			ex := far.send(t, t.Context(), client(t, openai.Config{BaseURL: far.url, MaxAnswerBytes: limit}), request())
			g.Expect(ex.Body).To(gomega.HaveLen(limit))
			g.Expect(ex.TooLarge).To(gomega.Equal(c.large))
			g.Expect(ex.Complete).To(gomega.Equal(!c.large))
			out := read(ex)
			if !c.large {
				g.Expect(out.Verdict).To(gomega.Equal(providers.Succeeded), out.Detail)
				return
			}
			g.Expect(out.Reason).To(gomega.Equal(providers.ReasonMalformed))
			g.Expect(out.Detail).To(gomega.Equal("answer larger than 1000 bytes"))
		})
	}
}

// TestEarlyAnswer: a server may answer before it has read the request, and then that answer counts.
func TestEarlyAnswer(t *testing.T) {
	g := gomega.NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.ReadFull(conn, make([]byte, 16))
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Too large\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	})
	r := request()
	r.Messages[1].Content = strings.Repeat("x", 2<<20)
	c := client(t, openai.Config{BaseURL: "http://" + listener.Addr().String()})
	ex := c.Send(t.Context(), r)
	c.Close()
	g.Expect(listener.Close()).To(gomega.Succeed())
	wg.Wait()
	g.Expect(ex.Status).To(gomega.Equal(413))
	g.Expect(ex.Wrote).To(gomega.BeTrue())
}

// TestConcurrently: one client, many Sends, each attempt's id at the far end exactly once.
func TestConcurrently(t *testing.T) {
	far := listen(t, func(n int, conn net.Conn) bool {
		if n%3 == 0 {
			return false
		}
		return sends(answer200, true)(n, conn)
	})
	c := client(t, openai.Config{BaseURL: far.url})
	const sends = 60
	var wg sync.WaitGroup
	for i := range sends {
		wg.Go(func() {
			r := request()
			r.AttemptID = fmt.Sprint("attempt-", i)
			c.Send(t.Context(), r)
		})
	}
	wg.Wait()
	posts := map[string]int{}
	for _, r := range far.requests() {
		posts[r.header.Get(openai.AttemptHeader)]++
	}
	g := gomega.NewWithT(t)
	g.Expect(posts).To(gomega.HaveLen(sends))
	g.Expect(posts).To(gomega.HaveEach(1))
}

// TestStaleConnection: a connection that the far end closed while it was idle is not written to.
func TestStaleConnection(t *testing.T) {
	gone := make(chan struct{})
	far := listen(t, func(n int, conn net.Conn) bool {
		if n > 1 {
			return sends(answer200, true)(n, conn)
		}
		_ = sends(answer200, true)(n, conn)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn) // ends when the client has noticed and closed its side
		close(gone)
		return false
	})
	c := client(t, openai.Config{BaseURL: far.url})
	g := gomega.NewWithT(t)
	g.Expect(read(far.send(t, t.Context(), c, request())).Verdict).To(gomega.Equal(providers.Succeeded))
	<-gone
	g.Expect(read(far.send(t, t.Context(), c, request())).Verdict).To(gomega.Equal(providers.Succeeded))
	g.Expect(far.connections()).To(gomega.Equal(2))
}
