package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

// clients gives up on a replica sooner than a frozen one wakes up.
var clients = &http.Client{
	Timeout:       4 * time.Second,
	Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// call sends one request, and errs only where no whole answer came. Further headers are pairs of name and
// value.
func call(ctx context.Context, method, url, key string, body []byte, headers ...string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := clients.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, content}, err
}

// jobView and attemptView are what of the API's documents is of interest here.
type jobView struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

type attemptView struct {
	ID     string `json:"id"`
	Number int    `json:"number"`
	State  string `json:"state"`
}

// page is one page of a list.
type page[T any] struct {
	Items []T `json:"items"`
}

// read decodes an answer; the zero value where it is not the document.
func read[T any](a answer) (document T, err error) {
	err = json.Unmarshal(a.body, &document)
	return document, err
}
