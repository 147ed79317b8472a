package simulator

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"
)

// This file is a client that comes back later: it marks what it asks for, and asks what became of it.

// stored is a sample to be stored, marked by an attempt.
func stored(t *testing.T, model, attempt string) []byte {
	body, _ := sample(t, model)
	return with(body, map[string]any{"store": true, "metadata": map[string]string{"attempt": attempt, "team": "blue"}})
}

// with adds members to an object that has none of them.
func with(body []byte, members map[string]any) []byte {
	return append(append(encode(members)[:len(encode(members))-1], ','), body[1:]...)
}

// inBackground is the sample as a background response.
func inBackground(t *testing.T, model string) []byte {
	t.Helper()
	body, _ := sample(t, model)
	request, refusal := parseRequest(body)
	NewWithT(t).Expect(refusal).To(BeNil())
	var input []any
	for _, m := range request.Messages {
		input = append(input, map[string]any{"role": m.Role, "content": m.Content})
	}
	format := request.ResponseFormat.JSONSchema
	return encode(map[string]any{
		"model": model, "background": true, "store": true, "input": input, "temperature": 0, "max_output_tokens": 1024,
		"text": map[string]any{"format": map[string]any{
			"type": "json_schema", "name": format.Name, "strict": true, "schema": format.Schema,
		}},
		"metadata": map[string]string{"attempt": "a1"},
	})
}

type storedSeen struct {
	completionSeen
	Metadata map[string]string `json:"metadata"`
}

type listSeen struct {
	Object  string       `json:"object"`
	Data    []storedSeen `json:"data"`
	FirstID *string      `json:"first_id"`
	LastID  *string      `json:"last_id"`
	HasMore *bool        `json:"has_more"`
}

func (l listSeen) ids() []string {
	ids := []string{}
	for _, c := range l.Data {
		ids = append(ids, c.ID)
	}
	return ids
}

// list asks for a page; parameters are pairs of a name and a value.
func (f *far) list(parameters ...string) listSeen {
	f.t.Helper()
	query := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	return f.get(pathCompletions + "?" + query.Encode()).page(f.t)
}

func (s seen) page(t *testing.T) listSeen {
	t.Helper()
	var page listSeen
	if err := json.Unmarshal(s.body, &page); err != nil || s.status != http.StatusOK {
		t.Fatalf("%d %s: %v, %v", s.status, s.body, s.err, err)
	}
	return page
}

type responseSeen struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	Status     string `json:"status"`
	Background bool   `json:"background"`
	Model      string `json:"model"`
	Error      *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	IncompleteDetails *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Status  string `json:"status"`
		Content []struct {
			Type        string  `json:"type"`
			Text        *string `json:"text"`
			Refusal     *string `json:"refusal"`
			Annotations *[]any  `json:"annotations"`
		} `json:"content"`
	} `json:"output"`
	Usage *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	} `json:"usage"`
	Metadata map[string]string `json:"metadata"`
}

func (s seen) response(t *testing.T) responseSeen {
	t.Helper()
	if s.err != nil {
		t.Fatal(s.err)
	}
	var r responseSeen
	if err := json.Unmarshal(s.body, &r); err != nil {
		t.Fatalf("%v in %s", err, s.body)
	}
	return r
}

func (f *far) respond(body []byte, attempt string) seen {
	return f.do(context.Background(), http.MethodPost, pathResponses, body, attempt)
}

func (f *far) get(path string) seen {
	return f.do(context.Background(), http.MethodGet, path, nil, "")
}

// text is the only part of the only item of the output.
func (r responseSeen) text(t *testing.T) string {
	t.Helper()
	if len(r.Output) != 1 || len(r.Output[0].Content) != 1 || r.Output[0].Content[0].Text == nil {
		t.Fatalf("no text in %+v", r)
	}
	return *r.Output[0].Content[0].Text
}

// behave sets a model over HTTP; members are JSON without their braces.
func (f *far) behave(model string, members ...string) {
	f.t.Helper()
	if status := f.control(http.MethodPut, "/simulator/models/"+model, "{"+strings.Join(members, ",")+"}", nil); status != 200 {
		f.t.Fatalf("PUT %s answered %d", members, status)
	}
}
