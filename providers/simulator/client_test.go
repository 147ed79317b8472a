package simulator

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
)

// patience bounds what a test waits for; none waits so long unless it fails.
const patience = 20 * time.Second

// far is a simulator that listens, and a client that keeps no connection and follows no redirect.
type far struct {
	*Server
	t      *testing.T
	client *http.Client
}

func listen(t *testing.T, config Config) *far {
	t.Helper()
	server, err := Listen("127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &far{server, t, &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// seen is what a client sees of one exchange.
type seen struct {
	status int
	header http.Header
	body   []byte
	err    error // of the connection, or of reading the body
}

func (f *far) do(ctx context.Context, method, path string, body []byte, attempt string) seen {
	request, err := http.NewRequestWithContext(ctx, method, f.URL()+path, bytes.NewReader(body))
	if err != nil {
		f.t.Error(err)
		return seen{err: err}
	}
	request.GetBody = nil // one request, whatever the connection does
	if attempt != "" {
		request.Header.Set(AttemptHeader, attempt)
	}
	return f.exchange(request)
}

func (f *far) exchange(request *http.Request) seen {
	response, err := f.client.Do(request)
	if err != nil {
		return seen{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return seen{response.StatusCode, response.Header, content, err}
}

func (f *far) chat(body []byte, attempt string) seen {
	return f.do(context.Background(), http.MethodPost, pathCompletions, body, attempt)
}

// control calls a path under /simulator/ and reads the answer into a value.
func (f *far) control(method, path, body string, into any) int {
	f.t.Helper()
	got := f.do(context.Background(), method, path, []byte(body), "")
	if got.err != nil {
		f.t.Fatal(got.err)
	}
	if into != nil {
		if err := json.Unmarshal(got.body, into); err != nil {
			f.t.Fatalf("%s %s: %v in %s", method, path, err, got.body)
		}
	}
	return got.status
}

// waitAnswered waits until the ledger shows n requests that ended.
func (f *far) waitAnswered(n int) []Entry {
	f.t.Helper()
	return f.waitFor(n, Filter{Answered: true})
}

func (f *far) waitFor(n int, filter Filter) []Entry {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	entries, err := f.WaitForRequests(ctx, n, filter)
	if err != nil {
		f.t.Fatal(err)
	}
	return entries
}

// completionSeen is the body of a 200, read strictly enough to notice a missing member.
type completionSeen struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Role    string  `json:"role"`
			Content *string `json:"content"`
			Refusal *string `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	} `json:"usage"`
	Fingerprint string `json:"system_fingerprint"`
	Error       *struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

func (s seen) completion(t *testing.T) completionSeen {
	t.Helper()
	if s.err != nil {
		t.Fatal(s.err)
	}
	var c completionSeen
	if err := json.Unmarshal(s.body, &c); err != nil {
		t.Fatalf("%v in %s", err, s.body)
	}
	return c
}

// content is the text of the only choice.
func (s seen) content(t *testing.T) string {
	t.Helper()
	c := s.completion(t)
	if len(c.Choices) != 1 || c.Choices[0].Message.Content == nil {
		t.Fatalf("no content in %s", s.body)
	}
	return *c.Choices[0].Message.Content
}

// shipped is a contract of the catalogue as far as a request needs it.
type shipped struct {
	Name     string `yaml:"name"`
	Messages []struct {
		Role    string `yaml:"role"`
		Content string `yaml:"content"`
	} `yaml:"messages"`
	schema []byte
}

func shippedContract(t testing.TB, name string) *shipped {
	t.Helper()
	folder := filepath.Join("..", "..", "contracts", "catalog", name)
	text, err := os.ReadFile(filepath.Join(folder, "contract.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := &shipped{}
	if err := yaml.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	if c.schema, err = os.ReadFile(filepath.Join(folder, "schema.json")); err != nil {
		t.Fatal(err)
	}
	return c
}

// request is the body that a client would send for one input; order is appended to the system message.
func (c *shipped) request(model string, input map[string]string, order string) []byte {
	var messages []any
	for _, m := range c.Messages {
		content := m.Content
		for name, value := range input {
			content = strings.ReplaceAll(content, "{{ ."+name+" }}", value)
		}
		if m.Role == "system" {
			content += order
		}
		messages = append(messages, map[string]any{"role": m.Role, "content": content})
	}
	return encode(map[string]any{
		"model": model, "messages": messages, "temperature": 0, "max_completion_tokens": 1024,
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": strings.ReplaceAll(c.Name, "-", "_"), "strict": true, "schema": jsontext.Value(c.schema),
		}},
	})
}

// sample is a request that every model can read, with the right answer.
func sample(t testing.TB, model string) (body []byte, expected map[string]any) {
	t.Helper()
	c := catalogCases(t, "invoice-extraction")[1]
	return shippedContract(t, "invoice-extraction").request(model, c.Input, ""), c.Expected
}

// decoded is an answer's JSON in the form of plain.
func decoded(t *testing.T, content string) any {
	t.Helper()
	value, err := decodeOrdered([]byte(content))
	if err != nil || !jsontext.Value(content).IsValid() {
		t.Fatalf("not one JSON value: %v in %q", err, content)
	}
	return plain(value)
}
