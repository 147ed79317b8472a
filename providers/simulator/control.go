package simulator

import (
	"context"
	"net/http"
	"net/url"
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

// LedgerPage is the body of GET /simulator/ledger and of GET /simulator/questions. Where wait_for was not reached in time, the status is
// 504 and the entries are those that were there.
type LedgerPage struct {
	Entries []Entry `json:"entries"`
}

func (s *Simulator) routeControl() {
	s.mux.HandleFunc("GET /simulator/ledger", s.getLedger(s.ledger))
	s.mux.HandleFunc("DELETE /simulator/ledger", s.deleteLedger)
	s.mux.HandleFunc("GET /simulator/questions", s.getLedger(s.questions))
	s.mux.HandleFunc("PUT /simulator/questions", s.putQuestions)
	s.mux.HandleFunc("GET /simulator/models", s.getModels)
	s.mux.HandleFunc("PUT /simulator/models/{model...}", s.putModel)
	s.mux.HandleFunc("POST /simulator/release", s.postRelease)
	s.mux.HandleFunc("/simulator/", unknownControl)
}

func (s *Simulator) getLedger(l *ledger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		n, timeout, err := waitOf(query)
		if err != nil {
			writeError(w, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		defer context.AfterFunc(s.running, cancel)()
		entries, late := l.wait(ctx, n, filterOf(query))
		status := http.StatusOK
		if late != nil {
			status = http.StatusGatewayTimeout
		}
		writeJSON(w, status, LedgerPage{Entries: entries})
	}
}

func filterOf(query url.Values) Filter {
	return Filter{
		AttemptID: query.Get("attempt"), Model: query.Get("model"), Answered: query.Get("answered") == "true",
		Executed: query.Get("executed") == "true", Produced: query.Get("produced") == "true",
	}
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
