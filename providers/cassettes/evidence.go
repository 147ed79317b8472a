package cassettes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"

	"github.com/fallproof/fallproof/providers"
)

// evidence is what HTTP's own words, and so go-vcr's, have no place for. It stands in one header of the
// recorded request.
type evidence struct {
	Contract     string           `json:"contract"`
	Target       string           `json:"target"`
	Source       providers.Source `json:"source"`
	Case         string           `json:"case,omitzero"`
	Sample       int              `json:"sample"`
	Try          int              `json:"try,omitzero"`
	AttemptID    string           `json:"attempt_id"`
	Nonce        string           `json:"nonce,omitzero"`
	DeadlineMS   int64            `json:"deadline_ms"`
	Started      time.Time        `json:"started"`
	Peer         string           `json:"peer,omitzero"`
	Unbuildable  bool             `json:"unbuildable,omitzero"`
	Wrote        bool             `json:"wrote"`
	Complete     bool             `json:"complete"`
	TooLarge     bool             `json:"too_large,omitzero"`
	Responses    bool             `json:"responses,omitzero"`
	Error        string           `json:"error,omitzero"`
	DeadlinePast bool             `json:"deadline_past,omitzero"`
}

func evidenceOf(of Cassette, each Interaction) evidence {
	ex := each.Exchange
	said := evidence{
		Contract: of.Contract, Target: of.Target, Source: of.Source, Case: each.Case, Sample: each.Sample, Try: each.Try,
		AttemptID: each.AttemptID, Nonce: each.Nonce, DeadlineMS: each.Deadline.Milliseconds(),
		Started: ex.Started.UTC(), Peer: ex.Peer, Unbuildable: ex.Unbuildable, Wrote: ex.Wrote,
		Complete: ex.Complete, TooLarge: ex.TooLarge, Responses: ex.Responses,
	}
	if ex.Err != nil {
		said.Error = strings.ToValidUTF8(ex.Err.Error(), "\uFFFD")
		said.DeadlinePast = errors.Is(ex.Err, context.DeadlineExceeded)
	}
	return said
}

func (e evidence) encode() (string, error) {
	text, err := json.Marshal(e)
	return string(text), err
}

// decode is the inverse of encode.
func decode(entry *cassette.Interaction) (Interaction, evidence, error) {
	var said evidence
	text := entry.Request.Headers.Get(evidenceHeader)
	if err := json.Unmarshal([]byte(text), &said, json.RejectUnknownMembers(true)); err != nil {
		return Interaction{}, said, fmt.Errorf("interaction %d: header %s: %w", entry.ID, evidenceHeader, err)
	}
	each := Interaction{
		Call:      Call{Case: said.Case, Sample: said.Sample, Try: said.Try},
		AttemptID: said.AttemptID, Nonce: said.Nonce, URL: entry.Request.URL,
		Deadline: time.Duration(said.DeadlineMS) * time.Millisecond,
	}
	if at := entry.Request.Headers.Get(callHeader); at != each.text() || said.Sample < 0 || said.Try < 0 {
		return Interaction{}, said, fmt.Errorf("interaction %d: header %s says %q, %s says %q", entry.ID, callHeader, at, evidenceHeader, each.text())
	}
	each.Exchange = providers.Exchange{
		RequestBody: []byte(entry.Request.Body), Unbuildable: said.Unbuildable, Wrote: said.Wrote, Status: entry.Response.Code,
		Header: entry.Response.Headers.Clone(), Body: []byte(entry.Response.Body), Complete: said.Complete, TooLarge: said.TooLarge,
		Peer: said.Peer, Started: said.Started, Finished: said.Started.Add(entry.Response.Duration), Responses: said.Responses,
	}
	if said.Error != "" {
		each.Exchange.Err = recordedError{said.Error, said.DeadlinePast}
	}
	return each, said, nil
}

// recordedError is a transport's error as it was told that day. Of its kind only the deadline matters.
type recordedError struct {
	text     string
	deadline bool
}

func (e recordedError) Error() string { return e.text }

func (e recordedError) Is(target error) bool { return e.deadline && target == context.DeadlineExceeded }
