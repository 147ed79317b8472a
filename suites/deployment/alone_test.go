package deployment

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// alone is about what nginx does and says by itself.
func alone() {
	faults()
	limits()

	It("hands events on as they come", func(ctx context.Context) {
		more := make(chan struct{})
		s := newStand(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Transfer-Encoding", "identity") // the harder case: without chunks a buffer is sent when it is full
			_, _ = io.WriteString(w, "data: one\n\n")       // a client that has gone fails the spec by itself
			w.(http.Flusher).Flush()
			select {
			case <-more:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, "data: two\n\n")
		})
		b := startBalancer(ctx, s.replicas)
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		response, err := b.open(ctx, http.MethodGet, "/v1/jobs/some-job/events", "")
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		Expect(lines.Scan()).To(BeTrue())
		Expect(lines.Text()).To(Equal("data: one"), "before the second is sent")
		close(more)
		var rest []string
		for lines.Scan() {
			rest = append(rest, lines.Text())
		}
		Expect(lines.Err()).NotTo(HaveOccurred())
		Expect(rest).To(Equal([]string{"", "data: two", ""}))
	})

	It("gives away the keys of a replica that is removed, and no others", func(ctx context.Context) {
		s := newStand(answerOK)
		b := startBalancer(ctx, s.replicas)
		homes := func() map[string]string {
			found := map[string]string{}
			for i := range 30 {
				key := strconv.Itoa(i)
				before := len(b.log(Default, with(key)))
				Expect(b.send(ctx, http.MethodPost, "/v1/jobs", "{}", header{"Idempotency-Key", key}).Status).To(Equal(http.StatusOK))
				found[key] = b.logged(ctx, before+1, with(key))[before].Replicas
			}
			return found
		}
		before := homes()
		removed := before["0"]
		b.edit(edit{"fallproof/replicas.conf", "server " + removed + " max_fails=1 fail_timeout=5s;", ""})
		b.reload()
		after := homes()
		Expect(after).NotTo(ContainElement(removed))
		for key, home := range before {
			if home != removed {
				Expect(after).To(HaveKeyWithValue(key, home))
			}
		}
	})
}

// faults are about replicas that fail.
func faults() {
	It("never hands a POST on that a replica has read", func(ctx context.Context) {
		s := newStand(hangUp)
		b := startBalancer(ctx, s.replicas)
		for _, headers := range [][]header{{{"Idempotency-Key", "one"}}, nil} {
			before := len(s.seen())
			told := unanswered(b.send(ctx, http.MethodPost, "/v1/jobs", "{}", headers...), http.StatusBadGateway)
			Expect(s.seen()[before:]).To(Equal([]string{"POST /v1/jobs"}))
			Expect(b.logged(ctx, 1, byInstance(told))[0].asked()).To(HaveLen(1))
		}
	})

	It("hands a GET on that a replica has read", func(ctx context.Context) {
		var once sync.Once
		s := newStand(func(w http.ResponseWriter, r *http.Request) { once.Do(func() { hangUp(w, r) }) })
		b := startBalancer(ctx, s.replicas)
		Expect(b.get(ctx, "/v1/jobs/some-job").Status).To(Equal(http.StatusOK))
		Expect(s.seen()).To(Equal([]string{"GET /v1/jobs/some-job", "GET /v1/jobs/some-job"}))
	})

	It("leaves a dead replica alone in every worker", func(ctx context.Context) {
		s := newStand(answerOK)
		const dead = "127.0.0.1:1" // nobody's
		b := startBalancer(ctx, []string{dead, s.replicas[1], s.replicas[2]},
			edit{"fallproof/replicas.conf", shippedReplicas[0] + " max_fails=1 fail_timeout=5s", shippedReplicas[0] + " max_fails=1 fail_timeout=1h"})
		Eventually(func(ctx context.Context) []string {
			Expect(b.get(ctx, "/v1/first").Status).To(Equal(http.StatusOK))
			return everybody(b.log(Default, at("/v1/first")))
		}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(ContainElement(dead))
		const count = 100
		for _, got := range simultaneously(count, func(int) (answer, error) { return b.call(ctx, http.MethodGet, "/v1/then", "") }) {
			Expect(got.err).NotTo(HaveOccurred())
			Expect(got.Status).To(Equal(http.StatusOK))
		}
		Expect(everybody(b.logged(ctx, count, at("/v1/then")))).To(ConsistOf(s.replicas[1], s.replicas[2]))
	})

	It("says so where no replica can be reached, and what that means", func(ctx context.Context) {
		b := startBalancer(ctx, []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}) // nobody's
		told := unanswered(b.send(ctx, http.MethodPost, "/v1/jobs", "{}", header{"Idempotency-Key", "one"}), http.StatusBadGateway)
		Expect(b.logged(ctx, 1, byInstance(told))[0].asked()).To(ConsistOf(b.replicas), "nothing was sent, so each is tried")
		told = unanswered(b.get(ctx, "/v1/jobs"), http.StatusBadGateway)
		Expect(string(b.get(ctx, told.Type).Body)).To(ContainSubstring("Repeat it after Retry-After, with the same idempotency key"))
	})

	It("gives a silent replica up, and asks no other", func(ctx context.Context) {
		s := newStand(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		b := startBalancer(ctx, s.replicas, edit{"conf.d/fallproof.conf", "proxy_read_timeout 90s", "proxy_read_timeout 200ms"})
		unanswered(b.send(ctx, http.MethodPost, "/v1/jobs", "{}", header{"Idempotency-Key", "one"}), http.StatusGatewayTimeout)
		Expect(s.seen()).To(Equal([]string{"POST /v1/jobs"}))
	})

	It("leaves what a replica answers as it is", func(ctx context.Context) {
		const theirs = `{"type": "/problems/shutting-down", "status": 503}`
		s := newStand(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, theirs)
		})
		b := startBalancer(ctx, s.replicas)
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			before := len(s.seen())
			got := b.send(ctx, method, "/v1/jobs", "", header{"Idempotency-Key", "one"})
			Expect(got.Status).To(Equal(http.StatusServiceUnavailable))
			Expect(got.Header.Get("Retry-After")).To(Equal("7"))
			Expect(string(got.Body)).To(Equal(theirs))
			Expect(s.seen()).To(HaveLen(before+1), method)
		}
	})
}

// limits are about what nginx does not let through.
func limits() {
	It("lets through what clients need, as it was written, and nothing else", func(ctx context.Context) {
		s := newStand(answerOK)
		b := startBalancer(ctx, s.replicas)
		for _, path := range []string{"/metrics", "//metrics", "/v1/../metrics", "/v1/..%2fmetrics", "/simulator/ledger", "/debug/pprof/", "/"} {
			refused(b.get(ctx, path), http.StatusNotFound, "/problems/not-found")
		}
		Expect(s.seen()).To(BeEmpty())
		var wanted []string
		for _, path := range []string{"/v1/contracts/a%2Fb/targets?x=%20", "/ui/", "/problems/", "/openapi.json", "/healthz", "/readyz"} {
			Expect(b.get(ctx, path).Status).To(Equal(http.StatusOK), path)
			wanted = append(wanted, "GET "+path)
		}
		Expect(s.seen()).To(Equal(wanted))
	})

	It("takes bodies up to the service's limit", func(ctx context.Context) {
		s := newStand(answerOK)
		b := startBalancer(ctx, s.replicas)
		Expect(b.send(ctx, http.MethodPost, "/v1/jobs", strings.Repeat("x", 1<<20)).Status).To(Equal(http.StatusOK))
		refused(b.send(ctx, http.MethodPost, "/v1/jobs", strings.Repeat("x", 1<<20+1)), http.StatusRequestEntityTooLarge, "/problems/body-too-large")
		Expect(s.seen()).To(HaveLen(1))
	})

	It("answers with a problem what it cannot read", func(ctx context.Context) {
		s := newStand(answerOK)
		b := startBalancer(ctx, s.replicas)
		long := strings.Repeat("x", 64<<10)
		refused(b.get(ctx, "/v1/jobs", header{"Idempotency-Key", long}), http.StatusBadRequest, "about:blank")
		refused(b.get(ctx, "/v1/"+long), http.StatusBadRequest, "about:blank")

		connection, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(b.folder, "socket"))
		Expect(err).NotTo(HaveOccurred())
		defer connection.Close()
		Expect(connection.SetDeadline(time.Now().Add(patience))).To(Succeed())
		_, err = io.WriteString(connection, "GET no-address HTTP/1.1\r\n\r\n")
		Expect(err).NotTo(HaveOccurred())
		said, err := io.ReadAll(connection)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(said)).To(And(HavePrefix("HTTP/1.1 400 "), ContainSubstring("application/problem+json"), ContainSubstring("about:blank")))
		Expect(s.seen()).To(BeEmpty())
	})
}
