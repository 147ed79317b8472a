package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/service/job"
)

// demoClient waits as long as the service may.
var demoClient = &http.Client{Timeout: 30 * time.Second}

// answer is a job, or a problem in its place.
type answer struct {
	Status      int            `json:"-"`
	Type        string         `json:"type"` // of a problem
	ID          string         `json:"id"`
	State       string         `json:"state"`
	CompletedBy int            `json:"completed_by"`
	Result      jsontext.Value `json:"result"`
	Error       struct {
		Targets []job.TargetRefusal `json:"targets"`
	} `json:"error"`
}

func (a answer) problem() string { return path.Base(a.Type) }

func (a answer) path(rest string) string { return "/v1/jobs/" + a.ID + rest }

type attempt struct {
	ID              string `json:"id"`
	Number          int    `json:"number"`
	Role            string `json:"role"`
	Target          string `json:"target"`
	State           string `json:"state"`
	Reason          string `json:"reason"`
	Sends           int    `json:"sends"`
	CertificationID string `json:"certification_id"`
}

// post sends a body and reads a job or a problem; the job is remembered where the path makes one.
func (s *story) post(path, key string, body map[string]any) (answer, error) {
	found, err := s.call(http.MethodPost, path, key, value.Encode(body))
	if err == nil && found.Status == http.StatusCreated && path == "/v1/jobs" {
		s.jobs = append(s.jobs, found.ID)
	}
	return found, err
}

func (s *story) get(path string) (answer, error) { return s.call(http.MethodGet, path, "", nil) }

// settled is the job once nothing more happens to it by itself: the service waits, not the demo.
func (s *story) settled(id string) (answer, error) { return s.get("/v1/jobs/" + id) }

// until asks again, each time with the service's own wait, until the job is in the state.
func (s *story) until(id, state string) (answer, error) {
	for range 20 {
		found, err := s.get("/v1/jobs/" + id)
		if err != nil || found.State == state {
			return found, err
		}
	}
	return answer{}, fmt.Errorf("job %s did not become %s", id, state)
}

func (s *story) call(method, path, key string, body []byte) (found answer, err error) {
	status, content, err := s.exchange(method, path, key, body)
	if err != nil {
		return found, err
	}
	found.Status = status
	err = json.Unmarshal(content, &found)
	return found, err
}

func (s *story) exchange(method, path, key string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(s.ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.Header.Set("Prefer", "wait=10")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := demoClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, content, err
}

func (s *story) attempts(id string) ([]attempt, error) {
	var page struct {
		Items []attempt `json:"items"`
	}
	_, content, err := s.exchange(http.MethodGet, "/v1/jobs/"+id+"/attempts", "", nil)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(content, &page)
	return page.Items, err
}

// untilAttempt waits for a state that no request waits for: an attempt's own, under a job that is final.
func (s *story) untilAttempt(id string, number int, state string) (attempt, error) {
	const patience, pause = 10 * time.Second, 20 * time.Millisecond
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		attempts, err := s.attempts(id)
		if err != nil || attempts[number-1].State == state {
			return attempts[number-1], err
		}
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
			return attempt{}, s.ctx.Err()
		}
	}
	return attempt{}, fmt.Errorf("attempt %d of job %s did not become %s", number, id, state)
}

// event is the detail of a job's first event of a type.
func (s *story) event(id, kind string) (string, error) {
	var page struct {
		Items []struct {
			Type   string         `json:"type"`
			Detail jsontext.Value `json:"detail"`
		} `json:"items"`
	}
	_, content, err := s.exchange(http.MethodGet, "/v1/jobs/"+id+"/events", "", nil)
	if err == nil {
		err = json.Unmarshal(content, &page)
	}
	if err != nil {
		return "", err
	}
	for _, each := range page.Items {
		if each.Type == kind {
			return string(each.Detail), nil
		}
	}
	return "", fmt.Errorf("job %s has no %s event", id, kind)
}
