package certify

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

// noCase is the key under which calls are kept among a run's samples that are no sample of a case. No case
// can have it: a case needs a name.
const noCase = ""

// The calls that are no sample of a case, by their index.
const (
	canaryCall    = 0 // whether the system message is obeyed
	probeCall     = 1 // whether the schema is enforced: an order to break it
	freeProbeCall = 2 // the same order without the schema
	controlCall   = 3 // whether control tokens in an input stay text

	bosQuestion   = 4  // which token BOS is
	firstQuestion = 16 // what the server makes of each case's prompt, see aside.go
)

// Sample is the evidence of one sample, as it is stored: what was sent, what came back and when, and
// the tries that provider trouble had cost before. The provider's key is not in it: the client takes it out of
// every exchange.
type Sample struct {
	Case         string `json:"-"`
	Index        int    `json:"-"`
	Unrenderable string `json:"unrenderable,omitzero"` // why no request could be made of the case; then nothing was sent
	Nonce        string `json:"nonce,omitzero"`        // of the canary and of the probes
	DeadlineMS   int64  `json:"deadline_ms"`
	Replayed     string `json:"replayed,omitzero"` // it was played and not heard, from a cassette of this source
	Seen         Seen   `json:"exchange,omitzero"`
	Before       []Seen `json:"before,omitzero"` // earlier tries, without the request, which was the same
}

// Seen is one exchange in a form that can be stored and read back without loss of what judging needs.
type Seen struct {
	AttemptID    string            `json:"attempt_id"` // as the provider's log has it
	Request      string            `json:"request,omitzero"`
	Unbuildable  bool              `json:"unbuildable,omitzero"`
	Wrote        bool              `json:"wrote"`
	Status       int               `json:"status"`
	Header       map[string]string `json:"header,omitzero"`
	Answer       string            `json:"answer,omitzero"`
	AnswerBinary []byte            `json:"answer_binary,omitzero"` // instead of Answer where it is not UTF-8
	Complete     bool              `json:"complete"`
	TooLarge     bool              `json:"too_large,omitzero"`
	Error        string            `json:"error,omitzero"`
	DeadlinePast bool              `json:"deadline_past,omitzero"`
	Responses    bool              `json:"responses,omitzero"` // the answer is a response object; absent, a chat completion
	Peer         string            `json:"peer,omitzero"`      // the IP address that was talked to
	Started      time.Time         `json:"started"`
	Finished     time.Time         `json:"finished"`
}

// keptOfTooLarge is how much is kept of an answer that is larger than the service reads: it is not read on here either.
const keptOfTooLarge = 1 << 20

// keptHeaders are the response headers that evidence holds.
var keptHeaders = slices.Concat(providers.AnswerHeaders, []string{
	"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Remaining-Tokens", "X-Request-Id",
})

func seen(attemptID string, ex providers.Exchange) Seen {
	s := Seen{
		AttemptID: attemptID, Request: string(ex.RequestBody), Unbuildable: ex.Unbuildable, Wrote: ex.Wrote, Status: ex.Status,
		Complete: ex.Complete, TooLarge: ex.TooLarge, Started: ex.Started.UTC(), Finished: ex.Finished.UTC(),
		Responses: ex.Responses, Peer: ex.Peer,
	}
	for _, name := range keptHeaders {
		if values := ex.Header.Values(name); len(values) > 0 {
			if s.Header == nil {
				s.Header = map[string]string{}
			}
			s.Header[name] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		}
	}
	body := ex.Body
	if ex.TooLarge {
		body = body[:min(len(body), keptOfTooLarge)]
	}
	if utf8.Valid(body) {
		s.Answer = string(body)
	} else {
		s.AnswerBinary = body
	}
	if ex.Err != nil {
		s.Error = strings.ToValidUTF8(ex.Err.Error(), "\uFFFD")
		s.DeadlinePast = errors.Is(ex.Err, context.DeadlineExceeded)
	}
	return s
}

// exchange is the inverse of seen.
func (s Seen) exchange() providers.Exchange {
	ex := s.answered()
	ex.RequestBody = []byte(s.Request)
	return ex
}

// answered is the exchange without what was sent.
func (s Seen) answered() providers.Exchange {
	ex := providers.Exchange{
		Unbuildable: s.Unbuildable, Wrote: s.Wrote, Status: s.Status, Header: http.Header{},
		Body: []byte(s.Answer), Complete: s.Complete, TooLarge: s.TooLarge, Started: s.Started, Finished: s.Finished,
		Responses: s.Responses,
	}
	if s.AnswerBinary != nil {
		ex.Body = s.AnswerBinary
	}
	for name, value := range s.Header {
		ex.Header.Set(name, value)
	}
	if s.Error != "" {
		ex.Err = storedError{text: s.Error, deadline: s.DeadlinePast}
	}
	return ex
}

// storedError is a transport's error that came back from the store. Of its kind only the deadline
// matters to anybody.
type storedError struct {
	text     string
	deadline bool
}

func (e storedError) Error() string { return e.text }

func (e storedError) Is(target error) bool {
	return e.deadline && target == context.DeadlineExceeded
}

func (s Sample) encode() (string, error) {
	text, err := json.Marshal(s, json.Deterministic(true))
	return string(text), err
}

func decodeSample(stored store.Sample) (Sample, error) {
	s := Sample{}
	if err := json.Unmarshal([]byte(stored.Evidence), &s); err != nil {
		return s, err
	}
	s.Case, s.Index = stored.Case, stored.Index
	return s, nil
}
