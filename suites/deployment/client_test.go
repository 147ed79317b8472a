package deployment

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/go-json-experiment/json"
)

// requestTimeout is beyond the longest Prefer: wait, and what the load balancer grants on top of it.
const requestTimeout = 2 * time.Minute

// client talks to one server with one key.
type client struct {
	base string
	key  string
	http *http.Client
}

// newClient reaches a server by its URL, or by a Unix socket where one is given.
func newClient(base, socket string) client {
	// A connection for each request: a reload closes those that wait for the next one, which that one would notice.
	transport := &http.Transport{DisableKeepAlives: true}
	if socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	return client{base: base, http: &http.Client{Timeout: requestTimeout, Transport: transport}}
}

// header is one line of a request's header.
type header struct{ name, value string }

func wait(seconds int) header { return header{"Prefer", "wait=" + strconv.Itoa(seconds)} }

// answer is a whole response.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.Status, a.Body) }

// outcome is what came of a request.
type outcome struct {
	answer
	err error
}

// open sends one request once, and leaves the answer's body to be read.
func (c client) open(ctx context.Context, method, path, body string, headers ...header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	request.GetBody = nil // else net/http itself repeats a POST that has a key
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		request.Header.Add(h.name, h.value)
	}
	return c.http.Do(request)
}

// call errs only where no answer came.
func (c client) call(ctx context.Context, method, path, body string, headers ...header) (answer, error) {
	response, err := c.open(ctx, method, path, body, headers...)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, content}, err
}

// send expects an answer, of whatever status.
func (c client) send(ctx context.Context, method, path, body string, headers ...header) answer {
	GinkgoHelper()
	got, err := c.call(ctx, method, path, body, headers...)
	Expect(err).NotTo(HaveOccurred())
	return got
}

func (c client) get(ctx context.Context, path string, headers ...header) answer {
	GinkgoHelper()
	return c.send(ctx, http.MethodGet, path, "", headers...)
}

// read decodes an answer of this status.
func read[T any](got answer, status int) T {
	GinkgoHelper()
	Expect(got.Status).To(Equal(status), "%s", got)
	var document T
	Expect(json.Unmarshal(got.Body, &document)).To(Succeed(), "%s", got)
	return document
}

// problem is what every error is.
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"`
}

// refused expects a problem of nginx's own making.
func refused(got answer, status int, kind string) problem {
	GinkgoHelper()
	document := read[problem](got, status)
	Expect(got.Header.Get("Content-Type")).To(Equal("application/problem+json"))
	Expect(got.Header.Get("Cache-Control")).To(Equal("no-store"))
	Expect(document.Type).To(Equal(kind))
	Expect(document.Status).To(Equal(status))
	Expect(document.Title).NotTo(BeEmpty())
	Expect(document.Detail).NotTo(BeEmpty())
	Expect(document.Instance).To(MatchRegexp(`^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`))
	return document
}

// unanswered expects to be told that no replica answered, and when to ask again.
func unanswered(got answer, status int) problem {
	GinkgoHelper()
	document := refused(got, status, "/problems/no-answer")
	seconds, err := strconv.Atoi(got.Header.Get("Retry-After"))
	Expect(err).NotTo(HaveOccurred())
	Expect(seconds).To(BeNumerically(">", 0))
	return document
}

// simultaneously makes requests that start together.
func simultaneously(count int, request func(i int) (answer, error)) []outcome {
	outcomes, start, done := make([]outcome, count), make(chan struct{}), make(chan struct{})
	for i := range outcomes {
		go func() {
			<-start
			got, err := request(i)
			outcomes[i] = outcome{got, err}
			done <- struct{}{}
		}()
	}
	close(start)
	for range outcomes {
		<-done
	}
	return outcomes
}
