package breakpoints

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/jackc/pgx/v5"

	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// across are the scenarios of waiting at one replica for what another one does.
func (g *stage) across(s *scene) {
	var second client
	BeforeEach(func() {
		process := g.run("serve")
		second = client{base: address(process), key: g.Key}
		DeferCleanup(func() { process.Kill().Wait(patience) })
	})

	It("streams what happens at the other, each event once, also to a client that comes back", func(ctx context.Context) {
		s.behaves(ctx, fallback, "hold")
		made := s.newJob(ctx, fallback)
		attempt := s.arrives(ctx, made.ID, 1)
		first := second.follow(ctx, made.ID, 0)
		begun := first.events(2)
		Expect(begun[1].Type).To(Equal("attempt_created"))
		first.leave()
		again := second.follow(ctx, made.ID, begun[0].Seq)
		Expect(again.events(1)).To(Equal(begun[1:]))
		s.letGo(ctx, attempt.ID)
		Expect(append(begun, again.events(0)...)).To(Equal(s.events(ctx, made.ID)))
		Expect(s.job(ctx, made.ID).State).To(Equal("succeeded"))
	})

	It("goes on where nobody is notified any more, and says so", func(ctx context.Context) {
		if !strings.HasPrefix(g.store, "postgres") {
			Expect(second.readiness(ctx)).To(Equal("ready"), "one file has no notifications to lose")
			return
		}
		Eventually(second.readiness).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal("ready"))
		end := g.forbidListening(ctx)
		Eventually(second.readiness).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal("degraded"))

		s.behaves(ctx, fallback, "hold")
		made := s.newJob(ctx, fallback)
		attempt := s.arrives(ctx, made.ID, 1)
		stream := second.follow(ctx, made.ID, 0)
		stream.events(2)
		s.letGo(ctx, attempt.ID)
		told := stream.events(0)
		Expect(told[len(told)-1].Type).To(Equal("job_succeeded"))

		end(ctx)
		Eventually(second.readiness).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal("ready"))
	})
}

// forbidListening cuts off whoever listens and lets no new connection in; the others go on.
func (g *stage) forbidListening(ctx context.Context) (end func(context.Context)) {
	GinkgoHelper()
	cluster, err := pgcluster.Shared()
	Expect(err).NotTo(HaveOccurred())
	address, err := url.Parse(g.store)
	Expect(err).NotTo(HaveOccurred())
	database := strings.TrimPrefix(address.Path, "/")
	execute := func(ctx context.Context, statement string, arguments ...any) {
		GinkgoHelper()
		admin, err := pgx.Connect(ctx, cluster.URL())
		Expect(err).NotTo(HaveOccurred())
		defer func() { Expect(admin.Close(ctx)).To(Succeed()) }()
		_, err = admin.Exec(ctx, statement, arguments...)
		Expect(err).NotTo(HaveOccurred())
	}
	allow := func(ctx context.Context) {
		GinkgoHelper()
		execute(ctx, "ALTER DATABASE "+pgx.Identifier{database}.Sanitize()+" ALLOW_CONNECTIONS true")
	}
	DeferCleanup(allow)
	execute(ctx, "ALTER DATABASE "+pgx.Identifier{database}.Sanitize()+" ALLOW_CONNECTIONS false")
	execute(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fallproof listen' AND datname = $1", database)
	return allow
}

// readiness is the word that /readyz says.
func (c client) readiness(ctx context.Context) (string, error) {
	var said struct {
		Status string `json:"status"`
	}
	err := c.fetch(ctx, "/readyz", &said)
	return said.Status, err
}

// following is a stream of a job's events.
type following struct {
	lines *bufio.Scanner
	leave func()
}

func (c client) follow(ctx context.Context, id string, after int64) *following {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/jobs/"+id+"/events", nil)
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Accept", "text/event-stream")
	if after > 0 {
		request.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	response, err := httpClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	leave := func() {
		cancel()
		_ = response.Body.Close()
	}
	DeferCleanup(leave)
	Expect(response.StatusCode).To(Equal(http.StatusOK))
	Expect(response.Header.Get("Content-Type")).To(Equal("text/event-stream"))
	return &following{lines: bufio.NewScanner(response.Body), leave: leave}
}

// events are the next n of a stream; those up to its end where n is 0.
func (f *following) events(n int) []eventView {
	GinkgoHelper()
	var found []eventView
	for id := ""; (n == 0 || len(found) < n) && f.lines.Scan(); {
		field, text, _ := strings.Cut(f.lines.Text(), ": ")
		switch field {
		case "id":
			id = text
		case "data":
			event := read[eventView](answer{Status: http.StatusOK, Body: []byte(text)})
			Expect(id).To(Equal(strconv.FormatInt(event.Seq, 10)))
			found = append(found, event)
		}
	}
	if n > 0 {
		Expect(found).To(HaveLen(n))
	}
	return found
}
