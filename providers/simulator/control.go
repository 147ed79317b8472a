package simulator

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	defaultWait     = 10 * time.Second
	maxWait         = time.Minute
	maxControlBytes = 64 << 10
)

// LedgerPage is the body of GET /simulator/ledger. Where wait_for was not reached in time, the status is
// 504 and the entries are those that were there.
type LedgerPage struct {
	Entries []Entry `json:"entries"`
}

// ModelState is what GET and PUT of /simulator/models say of a model.
type ModelState struct {
	Model       string `json:"model"`
	Personality string `json:"personality"`
	Delay       string `json:"delay"`
}

func (s *Simulator) getLedger(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	f := Filter{AttemptID: query.Get("attempt"), Model: query.Get("model"), Answered: query.Get("answered") == "true"}
	n, timeout, err := waitOf(query)
	if err != nil {
		writeError(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	defer context.AfterFunc(s.running, cancel)()
	entries, late := s.ledger.wait(ctx, n, f)
	status := http.StatusOK
	if late != nil {
		status = http.StatusGatewayTimeout
	}
	writeJSON(w, status, LedgerPage{Entries: entries})
}

// waitOf reads wait_for and timeout; without wait_for there is nothing to wait for.
func waitOf(query url.Values) (n int, timeout time.Duration, failure *apiError) {
	timeout = defaultWait
	if text := query.Get("wait_for"); text != "" {
		count, err := strconv.Atoi(text)
		if err != nil || count < 0 {
			return 0, 0, invalid("", "wait_for", "wait_for: want a number, not %q", text)
		}
		n = count
	}
	if text := query.Get("timeout"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, 0, invalid("", "timeout", "timeout: want a duration such as 5s, not %q", text)
		}
		timeout = min(d, maxWait)
	}
	return n, timeout, nil
}

func (s *Simulator) deleteLedger(w http.ResponseWriter, _ *http.Request) {
	s.ResetLedger()
	w.WriteHeader(http.StatusNoContent)
}

func (s *Simulator) getModels(w http.ResponseWriter, _ *http.Request) {
	states := []ModelState{}
	for model, p := range s.roster.all() {
		states = append(states, stateOf(model, p))
	}
	slices.SortFunc(states, func(a, b ModelState) int { return cmp.Compare(a.Model, b.Model) })
	writeJSON(w, http.StatusOK, struct {
		Models []ModelState `json:"models"`
		Kinds  []Kind       `json:"personalities"`
	}{states, Kinds()})
}

func stateOf(model string, p Personality) ModelState {
	return ModelState{Model: model, Personality: p.String(), Delay: p.Delay.String()}
}

func (s *Simulator) putModel(w http.ResponseWriter, r *http.Request) {
	var wish struct {
		Personality string `json:"personality"`
		Delay       string `json:"delay"`
	}
	if err := readControl(w, r, &wish); err != nil {
		writeError(w, err)
		return
	}
	p, err := ParsePersonality(wish.Personality)
	if err != nil {
		writeError(w, invalid("", "personality", "%s", err))
		return
	}
	if err := setDuration(&p.Delay, wish.Delay, p.Delay); err != nil {
		writeError(w, invalid("", "delay", "delay: %s", err))
		return
	}
	model := r.PathValue("model")
	if model == "" {
		writeError(w, invalid("", "model", "the path names no model"))
		return
	}
	s.SetPersonality(model, p)
	writeJSON(w, http.StatusOK, stateOf(model, p))
}

func (s *Simulator) postRelease(w http.ResponseWriter, r *http.Request) {
	var wish struct {
		Attempt string `json:"attempt"`
		Model   string `json:"model"`
	}
	if err := readControl(w, r, &wish); err != nil {
		writeError(w, err)
		return
	}
	if wish.Attempt == "" && wish.Model == "" {
		writeError(w, invalid("", "", "name an attempt or a model to release"))
		return
	}
	n := s.Release(Filter{AttemptID: wish.Attempt, Model: wish.Model})
	writeJSON(w, http.StatusOK, struct {
		Released int `json:"released"`
	}{n})
}

func readControl(w http.ResponseWriter, r *http.Request, into any) *apiError {
	body := http.MaxBytesReader(w, r.Body, maxControlBytes)
	if err := json.UnmarshalRead(body, into, json.RejectUnknownMembers(true)); err != nil {
		return invalid("", "", "the body is not what this path takes: %s", err)
	}
	return nil
}

func unknownControl(w http.ResponseWriter, r *http.Request) {
	writeError(w, errUnknownURL(r.Method, r.URL.Path))
}

func writeError(w http.ResponseWriter, err *apiError) {
	writeJSON(w, err.status, errorBody{err})
}

// writeJSON writes a whole body; invalid UTF-8 that a client sent is replaced rather than refused.
func writeJSON(w http.ResponseWriter, status int, body any) {
	encoded := encode(body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	// An error here means that the client left; there is nobody to tell.
	_, _ = w.Write(encoded)
}

// encode panics on a value that JSON cannot say: all of them are built in this package.
func encode(body any) []byte {
	encoded, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err)
	}
	return encoded
}
