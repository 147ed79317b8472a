package cassettes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/secrets"
)

// Call says which call of a run an interaction was.
type Call struct {
	Case   string // "" for the calls that are no sample of a case
	Sample int
	Try    int // 0 is the first
}

// text is the call as it stands in a header.
func (c Call) text() string {
	return fmt.Sprintf("%s/%d/%d", url.PathEscape(c.Case), c.Sample, c.Try)
}

// Interaction is one call with what came of it.
type Interaction struct {
	Call
	AttemptID string
	Nonce     string        // that the request carries; "" where it carries none
	Deadline  time.Duration // by which an answer was wanted
	URL       string        // that was posted to
	Exchange  providers.Exchange
}

// Cassette is everything that was recorded of one contract at one target.
type Cassette struct {
	Contract     string
	Target       string
	Source       providers.Source // what the run was worth that it was recorded from
	Interactions []Interaction
}

// The headers of a recorded request are ours: what was really sent there is of no use to anybody, and holds
// the credentials.
const (
	callHeader     = "X-Fallproof-Sample"
	evidenceHeader = "X-Fallproof-Evidence"
)

// Path is the file of a contract at a target. Its name is readable, unique to the pair, and safe for any
// target and any file system.
func Path(folder, contract, target string) string { return name(folder, contract, target) + ".yaml" }

func name(folder, contract, target string) string {
	sum := sha256.Sum256([]byte(contract + "\x00" + target))
	return filepath.Join(folder, slug(contract)+"."+slug(target)+"."+hex.EncodeToString(sum[:6]))
}

func slug(text string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	safe = strings.Trim(safe[:min(len(safe), 64)], "-")
	return cmp.Or(safe, "x")
}

// Save writes the cassette of its contract and target, in place of one that was there.
func Save(folder string, recorded Cassette, scrub secrets.Scrubber) error {
	if len(recorded.Interactions) == 0 {
		return fmt.Errorf("%s at %s: nothing was recorded", recorded.Contract, recorded.Target)
	}
	file := cassette.New(name(folder, recorded.Contract, recorded.Target))
	file.MarshalFunc = yaml.Marshal
	for _, each := range recorded.Interactions {
		entry, err := encode(recorded, each, scrub)
		if err != nil {
			return err
		}
		file.AddInteraction(entry)
	}
	return file.SaveWithFS(private{})
}

// private writes files that are whole or not there, for their owner alone.
type private struct{}

var _ cassette.FS = private{}

func (private) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

func (private) IsFileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func (private) WriteFile(name string, data []byte) (err error) {
	folder := filepath.Dir(name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(folder, ".recording-*") // 0600 by its own promise
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(draft.Name()))
		}
	}()
	if _, err := draft.Write(data); err != nil {
		return errors.Join(err, draft.Close())
	}
	if err := draft.Close(); err != nil {
		return err
	}
	return os.Rename(draft.Name(), name)
}

// encode spells an interaction as go-vcr does, without the secrets.
func encode(of Cassette, each Interaction, scrub secrets.Scrubber) (*cassette.Interaction, error) {
	ex := each.Exchange
	said, err := evidenceOf(of, each).encode()
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(each.URL)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for field, values := range ex.Header {
		if !slices.Contains(providers.AnswerHeaders, http.CanonicalHeaderKey(field)) {
			continue
		}
		for _, value := range values {
			header.Add(field, scrub.Text(value))
		}
	}
	body := scrub.Text(string(ex.RequestBody))
	entry := &cassette.Interaction{
		Request: cassette.Request{
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Method: http.MethodPost, URL: scrub.Text(address.String()), Body: body,
			ContentLength: int64(len(body)),
			Headers:       http.Header{callHeader: {scrub.Text(each.text())}, evidenceHeader: {scrub.Text(said)}},
		},
		Response: cassette.Response{
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Code: ex.Status, Status: http.StatusText(ex.Status), Headers: header,
			Body: scrub.Text(string(ex.Body)), Duration: ex.Finished.Sub(ex.Started),
		},
	}
	entry.Response.ContentLength = int64(len(entry.Response.Body))
	return entry, nil
}
