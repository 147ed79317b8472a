package providers

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What a response object says of itself. Whatever else it may say is not known to be an end.
const (
	responseQueued     = "queued"
	responseInProgress = "in_progress"
	responseCompleted  = "completed"
	responseFailed     = "failed"
	responseIncomplete = "incomplete"
	responseCancelled  = "cancelled"
)

// Response is the head of a response object: which one it is, and how far it has come.
type Response struct {
	ID       string
	Status   string            // as the provider spells it
	Metadata map[string]string // nil where it has none that can be read
}

// ParseResponse reads the head of a response object. It refuses what is not one JSON object without
// duplicate keys, is of another kind, or has no id to be asked for by.
func ParseResponse(body []byte) (Response, error) {
	object, err := decodeResponse(body)
	if err != nil {
		return Response{}, err
	}
	return object.head()
}

// Ended reports whether the response will never change again.
func (r Response) Ended() bool {
	return slices.Contains([]string{responseCompleted, responseFailed, responseIncomplete, responseCancelled}, r.Status)
}

// Unfinished reports whether the provider says that it is still at work on it. A status that nobody
// knows is neither ended nor unfinished.
func (r Response) Unfinished() bool {
	return r.Status == responseQueued || r.Status == responseInProgress
}

// responseObject is the part of a response object that matters, raw as in envelope.
type responseObject struct {
	Object     jsontext.Value `json:"object"`
	ID         jsontext.Value `json:"id"`
	Status     jsontext.Value `json:"status"`
	Error      jsontext.Value `json:"error"`
	Incomplete jsontext.Value `json:"incomplete_details"`
	Output     jsontext.Value `json:"output"`
	Model      jsontext.Value `json:"model"`
	Usage      jsontext.Value `json:"usage"`
	Metadata   jsontext.Value `json:"metadata"`
}

func decodeResponse(body []byte) (responseObject, error) {
	var object responseObject
	err := json.Unmarshal(body, &object)
	return object, err
}

func (o responseObject) head() (Response, error) {
	if kind, _ := stringIn(o.Object); kind != "response" {
		return Response{}, errors.New("the answer is not a response object")
	}
	id, _ := stringIn(o.ID)
	if id == "" {
		return Response{}, errors.New("a response object without an id")
	}
	head := Response{ID: id, Status: lineIn(o.Status)}
	var metadata map[string]string
	if o.Metadata.Kind() == '{' && json.Unmarshal(o.Metadata, &metadata) == nil {
		head.Metadata = metadata
	}
	return head, nil
}
