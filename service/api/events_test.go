package api_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/api"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// sent is one server-sent event, read as the standard says.
type sent struct{ id, event, data string }

// listening is a client of a stream.
type listening struct {
	*http.Response
	s     *service
	lines *bufio.Scanner
	leave context.CancelFunc
}

func (s *service) stream(path string, headers ...string) *listening {
	s.t.Helper()
	ctx, leave := context.WithCancel(s.ctx)
	s.t.Cleanup(leave)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+s.client)
	request.Header.Set("Accept", "text/event-stream")
	for _, header := range headers {
		name, text, _ := strings.Cut(header, ": ")
		request.Header.Set(name, text)
	}
	response, err := s.http.Do(request)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return &listening{Response: response, s: s, lines: bufio.NewScanner(response.Body), leave: leave}
}

// block reads up to the next empty line; false at the stream's end.
func (l *listening) block() (string, bool) {
	var lines []string
	for l.lines.Scan() {
		if l.lines.Text() == "" {
			return strings.Join(lines, "\n"), true
		}
		lines = append(lines, l.lines.Text())
	}
	return "", false
}

// next reads the next event; false at the stream's end.
func (l *listening) next() (sent, bool) {
	for {
		block, ok := l.block()
		if !ok {
			return sent{}, false
		}
		var e sent
		for line := range strings.SplitSeq(block, "\n") {
			field, text, _ := strings.Cut(line, ": ")
			switch field {
			case "id":
				e.id = text
			case "event":
				e.event = text
			case "data":
				e.data = text
			}
		}
		if e.data != "" {
			return e, true
		}
	}
}

// rest reads the stream to its end.
func (l *listening) rest() []sent {
	var all []sent
	for e, ok := l.next(); ok; e, ok = l.next() {
		all = append(all, e)
	}
	return all
}

func TestAStreamTellsTheHistoryAsItHappens(t *testing.T) {
	s := newService(t)
	path := s.create("click", "patient/hold").Header.Get("Location") + "/events"
	stream := s.stream(path)
	s.Expect(stream.StatusCode).To(gomega.Equal(http.StatusOK))
	s.Expect(stream.Header.Get("Content-Type")).To(gomega.Equal("text/event-stream"))
	s.Expect(stream.Header.Get("Cache-Control")).To(gomega.Equal("no-store"))
	s.Expect(stream.Header.Get("X-Accel-Buffering")).To(gomega.Equal("no"))
	hint, _ := stream.block()
	s.Expect(hint).To(gomega.Equal("retry: 1000"))
	first, _ := stream.next()
	second, _ := stream.next()
	s.Expect([]string{first.event, second.event}).To(gomega.Equal([]string{"job_created", "attempt_created"}))

	s.Eventually(func() int { return s.release() }).Should(gomega.Equal(1))
	told := append([]sent{first, second}, stream.rest()...)
	s.Expect(told[len(told)-1].event).To(gomega.Equal("job_succeeded"), "it ends with the job")

	page := s.send(s.client, http.MethodGet, path, "")
	s.Expect(page.Header.Get("Content-Type")).To(gomega.Equal("application/json"))
	s.Expect(page.Header.Get("Vary")).To(gomega.Equal("Accept"))
	var data []string
	for _, each := range told {
		data = append(data, each.data)
	}
	s.Expect(page.Text).To(gomega.Equal(`{"items":[` + strings.Join(data, ",") + `],"next_cursor":null}`))
	for i, item := range page.Body["items"].([]any) {
		s.Expect(item).To(gomega.HaveKeyWithValue("type", told[i].event))
	}
}

func TestAStreamGoesOnBehindTheLastEventThatWasHeard(t *testing.T) {
	s := newService(t)
	path := s.create("click", "", "Prefer: wait=20").Header.Get("Location") + "/events"
	all := s.stream(path).rest()
	s.Expect(len(all)).To(gomega.BeNumerically(">=", 4))
	for i, known := range all[:len(all)-1] {
		s.Expect(s.stream(path, "Last-Event-ID: "+known.id).rest()).To(gomega.Equal(all[i+1:]))
		s.Expect(s.stream(path + "?after=" + known.id).rest()).To(gomega.Equal(all[i+1:]))
		page := s.send(s.client, http.MethodGet, path+"?after="+known.id, "")
		s.Expect(page.Body["items"]).To(gomega.HaveLen(len(all) - i - 1))
	}
	s.Expect(s.stream(path+"?after=0", "Last-Event-ID: "+all[1].id).rest()).To(gomega.Equal(all[2:]), "the header is what a client knows by now")

	last := all[len(all)-1].id
	over := s.stream(path, "Last-Event-ID: "+last)
	s.Expect(over.StatusCode).To(gomega.Equal(http.StatusNoContent), "an EventSource stays away then")
	s.Expect(over.Header).NotTo(gomega.HaveKey("Content-Type"))
	page := s.send(s.client, http.MethodGet, path+"?after="+last, "")
	s.Expect(page.Body["items"]).To(gomega.BeEmpty())
}

func TestAFailedJobsStreamEndsAndGoesOnWhenItIsReopened(t *testing.T) {
	s := newService(t)
	s.Expect(s.send(s.client, http.MethodGet, "/v1/jobs", "").Status).To(gomega.Equal(http.StatusOK))
	path := s.doubtful("click")
	s.Expect(s.send(s.operator, http.MethodPost, path+"/attempts/1/resolve", `{"outcome": "failed", "note": "no trace"}`).Status).To(gomega.Equal(http.StatusOK))
	all := s.stream(path + "/events").rest()
	last := all[len(all)-1]
	s.Expect(last.event).To(gomega.Equal("job_failed"))
	s.Expect(s.stream(path+"/events", "Last-Event-ID: "+last.id).StatusCode).To(gomega.Equal(http.StatusNoContent))

	again := s.send(s.client, http.MethodPost, path+"/attempts", "", "Idempotency-Key: again")
	s.Expect(again.Status).To(gomega.Equal(http.StatusCreated), again.Text)
	reopened := s.stream(path+"/events", "Last-Event-ID: "+last.id)
	s.Expect(reopened.StatusCode).To(gomega.Equal(http.StatusOK))
	first, _ := reopened.next()
	s.Expect(first.event).To(gomega.Equal("attempt_created"))
}

func TestAStreamIsRefusedAsAPageIs(t *testing.T) {
	s := newService(t)
	path := s.create("click", "").Header.Get("Location") + "/events"
	for _, wrong := range []string{"x", "-1", "1.0", "1 1", "01", "9223372036854775808", "+1"} {
		problem := s.refused(http.StatusBadRequest, "invalid-parameter", s.client, http.MethodGet, path, "",
			"Accept: text/event-stream", "Last-Event-ID: "+wrong)
		s.Expect(problem.Body["parameter"]).To(gomega.Equal("Last-Event-ID"))
		problem = s.refused(http.StatusBadRequest, "invalid-parameter", s.client, http.MethodGet, path+"?after="+url.QueryEscape(wrong), "")
		s.Expect(problem.Body["parameter"]).To(gomega.Equal("after"))
	}
	s.refused(http.StatusNotFound, "not-found", s.stranger, http.MethodGet, path, "", "Accept: text/event-stream")
	s.refused(http.StatusUnauthorized, "unauthorized", "", http.MethodGet, path, "", "Accept: text/event-stream")
}

func TestOnlyWhoAsksForAStreamGetsOne(t *testing.T) {
	s := newService(t)
	path := s.create("click", "", "Prefer: wait=20").Header.Get("Location") + "/events"
	for accept, streams := range map[string]bool{
		"text/event-stream": true, "text/Event-Stream; charset=utf-8": true, "application/json;q=0.1, text/event-stream;q=0.9": true,
		"*/*": false, "text/*": false, "application/json": false, "text/event-stream;q=0": false, "text/event-stream;q=0.000, */*": false, ";": false,
	} {
		kind := s.send(s.client, http.MethodGet, path, "", "Accept: "+accept).Header.Get("Content-Type")
		s.Expect(kind == "text/event-stream").To(gomega.Equal(streams), accept)
	}
}

func TestAShutdownEndsStreamsAndStillTellsWhatHappened(t *testing.T) {
	s := newService(t)
	path := s.create("click", "patient/hold").Header.Get("Location") + "/events"
	open := s.stream(path)
	open.next()
	open.next()
	s.api.Drain()
	for _, ok := open.next(); ok; _, ok = open.next() {
	}
	s.Expect(s.ctx.Err()).NotTo(gomega.HaveOccurred(), "the service ended it")
	s.Expect(s.stream(path).rest()).NotTo(gomega.BeEmpty())
}

// serve puts another server in the place of the service, and says when each request's work has ended.
func (s *service) serve(options api.Options) (ended <-chan struct{}) {
	s.t.Helper()
	done := make(chan struct{}, 100)
	handler := api.New(options)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		done <- struct{}{}
	}))
	s.t.Cleanup(server.Close)
	s.url, s.http = server.URL, server.Client()
	return done
}

// silent is a job of which nothing is heard.
type silent struct{ hung }

func (silent) Events(context.Context, string, string, int64) (store.History, error) {
	return store.History{Events: []job.EventRecord{{Seq: 1, Type: "job_created", Detail: "{}"}}}, nil
}

func (silent) Follow(ctx context.Context, _, _ string, _ int64) (store.History, error) {
	<-ctx.Done()
	return store.History{}, nil
}

func TestASilentStreamSaysThatItIsThereUntilItsClientLeaves(t *testing.T) {
	s := newService(t)
	ended := s.serve(api.Options{Dispatcher: silent{}, Store: silent{}, Config: s.config, Heartbeat: 10 * time.Millisecond})
	stream := s.stream("/v1/jobs/x/events")
	stream.next()
	for range 3 {
		beat, _ := stream.block()
		s.Expect(beat).To(gomega.Equal(": waiting"))
	}
	s.Expect(ended).NotTo(gomega.Receive())
	stream.leave()
	s.Eventually(ended).WithTimeout(10 * time.Second).Should(gomega.Receive())
}

// flood is a job with always more to tell.
type flood struct{ silent }

var wordy = `{"note":"` + strings.Repeat("x", 1<<20) + `"}`

func (flood) Follow(_ context.Context, _, _ string, after int64) (store.History, error) {
	return store.History{Events: []job.EventRecord{{Seq: after + 1, Type: "asked", Detail: wordy}}}, nil
}

func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	s := newService(t)
	ended := s.serve(api.Options{Dispatcher: flood{}, Store: flood{}, Config: s.config, StreamTimeout: 50 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	s.Expect(err).NotTo(gomega.HaveOccurred())
	defer func() { s.Expect(conn.Close()).To(gomega.Succeed()) }()
	_, err = io.WriteString(conn, "GET /v1/jobs/x/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nAccept: text/event-stream\r\n\r\n")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Eventually(ended).WithTimeout(20 * time.Second).Should(gomega.Receive())
}

// broken is a job whose store fails once its stream is open.
type broken struct{ silent }

func (broken) Follow(context.Context, string, string, int64) (store.History, error) {
	return store.History{}, errors.New("the database is away")
}

func TestAStreamEndsWithItsStoreAndMayBeOpenedAgain(t *testing.T) {
	s := newService(t)
	s.serve(api.Options{Dispatcher: broken{}, Store: broken{}, Config: s.config})
	for range 2 {
		stream := s.stream("/v1/jobs/x/events")
		s.Expect(stream.rest()).To(gomega.HaveLen(1), "what was known is told, and the client comes back for more")
	}
}

type deaf struct{ hung }

func (deaf) Watching() error { return errors.New("dial secret.example: refused") }

func TestReadinessSaysWhenNotificationsAreLost(t *testing.T) {
	s := newService(t)
	s.Eventually(func() string { return s.send("", http.MethodGet, "/readyz", "").Text }).WithTimeout(10 * time.Second).
		Should(gomega.Equal(`{"status":"ready","detail":null}`))
	s.serve(api.Options{Dispatcher: deaf{}, Store: s.store, Config: s.config})
	lost := s.send("", http.MethodGet, "/readyz", "")
	s.Expect(lost.Status).To(gomega.Equal(http.StatusOK), "it can serve")
	s.Expect(lost.Body["status"]).To(gomega.Equal("degraded"))
	s.Expect(lost.Body["detail"]).To(gomega.ContainSubstring("up to " + dispatch.DefaultNet.String() + " late"))
	s.Expect(lost.Text).NotTo(gomega.ContainSubstring("secret"), "who asks has no key")
}
