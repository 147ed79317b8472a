package breakpoints

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

// requestTimeout is beyond the longest Prefer: wait.
const requestTimeout = 90 * time.Second

// httpClient keeps its connections, and takes a redirect for the answer that it is.
var httpClient = &http.Client{
	Timeout:       requestTimeout,
	Transport:     &http.Transport{MaxIdleConnsPerHost: 128},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// client talks to one server with one key; the simulator's control paths need none.
type client struct {
	base string
	key  string
}

// header is one line of a request's header.
type header struct{ name, value string }

// answer is a whole response.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.Status, a.Body) }

// call sends one request, and errs only where no answer came.
func (c client) call(ctx context.Context, method, path string, body []byte, headers ...header) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		request.Header.Add(h.name, h.value)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, content}, err
}

// fetch reads a JSON document where the status is the wanted one.
func (c client) fetch(ctx context.Context, path string, into any) error {
	got, err := c.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if got.Status != http.StatusOK {
		return fmt.Errorf("GET %s answered %s", path, got)
	}
	return json.Unmarshal(got.Body, into)
}
