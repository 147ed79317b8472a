package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fallproof/fallproof/service/api"
)

// Variables of the environment that the client verbs heed.
const (
	keyVariable = "FALLPROOF_API_KEY"
	urlVariable = "FALLPROOF_URL"
)

const mostAnswer = 64 << 20

// client speaks to a running service as any other client does.
type client struct {
	base string
	key  string
	http *http.Client
}

// newClient speaks with the key of the environment.
func (p *program) newClient(written string) (*client, error) {
	key := strings.TrimSpace(p.getenv(keyVariable))
	if key == "" {
		return nil, usagef("%s is not set: the API key, made with fallproof keys create --owner OWNER", keyVariable)
	}
	base, err := p.serviceURL(written)
	if err != nil {
		return nil, err
	}
	return &client{
		base: base, key: key,
		http: &http.Client{
			Timeout: api.MostWait + 30*time.Second,
			// A redirect could carry the key elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// serviceURL takes the address from the flag, the environment, or the configuration's own listener.
func (p *program) serviceURL(written string) (string, error) {
	if written == "" {
		written = p.getenv(urlVariable)
	}
	if written == "" {
		c, err := p.load()
		if err != nil {
			return "", err
		}
		written = localURL(c.Server.Listen)
	}
	base, err := url.Parse(written)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return "", usagef("--url: want an http or https address such as http://127.0.0.1:8080")
	}
	return strings.TrimRight(written, "/"), nil
}

// localURL is how this machine reaches a service that listens on the address.
func localURL(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "http://" + listen
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// call makes one request; into is filled from a success. Every other answer is an error in the words of
// its problem document.
func (c *client) call(ctx context.Context, method, path string, header http.Header, body, into any) error {
	var sent io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return failed(err)
		}
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, sent)
	if err != nil {
		return usage(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // what it adds is the address of the request
		}
		return failed(fmt.Errorf("the service at %s does not answer: %w", c.base, err))
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return failed(err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return failed(explainAnswer(answer, content))
	}
	if err := json.Unmarshal(content, into); err != nil {
		return failed(fmt.Errorf("the service at %s answered something else than its API says: %w", c.base, err))
	}
	return nil
}

// explainAnswer turns a problem document into one line.
func explainAnswer(answer *http.Response, content []byte) error {
	var problem struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}
	if json.Unmarshal(content, &problem) != nil || problem.Title == "" {
		return fmt.Errorf("the service answered %s", answer.Status)
	}
	text := fmt.Sprintf("%s (%d %s)", problem.Title, answer.StatusCode, strings.TrimPrefix(problem.Type, "/problems/"))
	if problem.Detail != "" {
		text += ": " + problem.Detail
	}
	if after := answer.Header.Get("Retry-After"); after != "" {
		text += fmt.Sprintf(" (try again in %s s)", after)
	}
	return errors.New(visible(text))
}

// listOf is a page of the API. Items keep their text, so that numbers in them stay exact.
type listOf[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}
