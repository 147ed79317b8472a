package cassettes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"

	"github.com/fallproof/fallproof/providers"
)

var (
	// ErrNoCassette says that nothing was recorded of a contract at a target.
	ErrNoCassette = errors.New("nothing was recorded of it")
	// ErrNotRecorded says that the cassette lacks a call.
	ErrNotRecorded = errors.New("the cassette lacks this call")
	// ErrChanged says that the recorded call was made with another request than the one that is to be made now.
	ErrChanged = errors.New("the request is another one than the recorded")
)

// Tape is a cassette to be played. It is not safe for concurrent use.
type Tape struct {
	source  providers.Source
	entries map[Call]*cassette.Cassette // each of one interaction, so that finding one does not go through all
	calls   map[Call]Interaction
}

// Load reads the cassette of a contract at a target; [ErrNoCassette] where there is none. A file that was
// recorded for another pair, whatever it is called, is refused.
func Load(folder, contract, target string) (*Tape, error) {
	path := Path(folder, contract, target)
	file, err := cassette.LoadWithFS(name(folder, contract, target), private{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no file %s", ErrNoCassette, path)
	}
	if err != nil {
		return nil, fmt.Errorf("cassette %s: %w", path, err)
	}
	tape := &Tape{entries: map[Call]*cassette.Cassette{}, calls: map[Call]Interaction{}}
	for i, entry := range file.Interactions {
		if entry == nil {
			return nil, fmt.Errorf("cassette %s: interaction %d is empty", path, i)
		}
		each, said, err := decode(entry)
		if err != nil {
			return nil, fmt.Errorf("cassette %s: %w", path, err)
		}
		if said.Contract != contract || said.Target != target {
			return nil, fmt.Errorf("cassette %s: it is of %q at %q, not of %s at %s", path, said.Contract, said.Target, contract, target)
		}
		if _, twice := tape.calls[each.Call]; twice {
			return nil, fmt.Errorf("cassette %s: call %s is in it twice", path, each.text())
		}
		one := cassette.New(each.text())
		one.Matcher, one.ReplayableInteractions = sameRequest, true
		one.AddInteraction(entry)
		tape.entries[each.Call], tape.calls[each.Call], tape.source = one, each, said.Source
	}
	return tape, nil
}

// Source is what the run was worth, by the cassette's own account.
func (t *Tape) Source() providers.Source { return t.source }

// Has reports whether a call was recorded, whatever its request was.
func (t *Tape) Has(call Call) bool {
	_, ok := t.calls[call]
	return ok
}

// Nonce is what the request of a call carried.
func (t *Tape) Nonce(call Call) string { return t.calls[call].Nonce }

// AttemptID is under which id a call was made; some requests carry it.
func (t *Tape) AttemptID(call Call) string { return t.calls[call].AttemptID }

// Play finds what came of a call that would now be made by posting body to an address. [ErrNotRecorded]
// where the cassette lacks it, [ErrChanged] where another request was recorded.
func (t *Tape) Play(call Call, address string, body []byte) (Interaction, error) {
	if !t.Has(call) {
		return Interaction{}, ErrNotRecorded
	}
	target, err := url.Parse(address)
	if err != nil {
		return Interaction{}, err
	}
	_, err = t.entries[call].GetInteraction(&http.Request{
		Method: http.MethodPost, URL: target, Header: http.Header{callHeader: {call.text()}}, Body: io.NopCloser(bytes.NewReader(body)),
	})
	if errors.Is(err, cassette.ErrInteractionNotFound) {
		return Interaction{}, ErrChanged
	}
	return t.calls[call], err
}

// sameRequest matches the call, the method, the URL and the body, byte for byte: who plays a call asks for
// its nonce and its attempt id first, so that nothing is left that differs from day to day.
func sameRequest(now *http.Request, recorded cassette.Request) bool {
	if now.Header.Get(callHeader) != recorded.Headers.Get(callHeader) || now.Method != recorded.Method || now.URL.String() != recorded.URL {
		return false
	}
	body, err := io.ReadAll(now.Body)
	return err == nil && string(body) == recorded.Body
}
