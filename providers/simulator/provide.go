package simulator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	pathCompletions = "/v1/chat/completions"
	pathModels      = "/v1/models"
	howRejected     = "rejected"
)

// exchange is one request on its way through the simulator.
type exchange struct {
	sim     *Simulator
	w       http.ResponseWriter
	r       *http.Request
	record  *record
	request *chatRequest
	p       Personality
}

// provide is the provider's side of the server. Whatever arrives here is in the ledger first; only the
// list of models is not, because it asks for no work.
func (s *Simulator) provide(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == pathModels && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		s.listModels(w)
		return
	}
	x := &exchange{sim: s, w: w, r: r}
	x.record = s.ledger.receive(Entry{
		AttemptID: r.Header.Get(AttemptHeader), IdempotencyKey: r.Header.Get("Idempotency-Key"),
		Method: r.Method, Path: r.URL.Path,
	})
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	model := modelOf(body)
	// The personality is the one of the moment of arrival: later changes are for later requests.
	p, known := s.roster.find(model)
	s.ledger.identify(x.record, model, body)
	if refusal := x.admit(body, err, known); refusal != nil {
		x.send(howRejected, refusal.status, errorBody{refusal})
		return
	}
	x.p = p
	x.pause()
	x.act()
}

// admit reads the request, or says in the provider's words why it cannot.
func (x *exchange) admit(body []byte, readErr error, known bool) *apiError {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(readErr, &tooLarge):
		return errTooLarge()
	case readErr != nil:
		x.abort(howRejected, OutcomeUnanswered)
	case !x.authorized():
		return errUnauthorized()
	case x.r.Method != http.MethodPost || x.r.URL.Path != pathCompletions:
		return errUnknownURL(x.r.Method, x.r.URL.Path)
	}
	request, refusal := parseRequest(body)
	if refusal != nil {
		return refusal
	}
	if request.Model == "" {
		return invalid("", "model", "you must provide a model parameter")
	}
	if !known {
		return errUnknownModel(request.Model)
	}
	x.request = request
	return request.check()
}

func (x *exchange) authorized() bool {
	key := x.sim.config.APIKey
	return key == "" || x.r.Header.Get("Authorization") == "Bearer "+key
}

// pause waits as the personality says. It does not return when the client or the server goes first.
func (x *exchange) pause() {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(x.sim.running, cancel)()
	if x.p.Hold {
		select {
		case <-x.record.gate:
		case <-ctx.Done():
		}
	}
	if x.p.Delay > 0 {
		timer := time.NewTimer(x.p.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if x.p.Kind == Silent {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		x.abort(x.p.String(), OutcomeUnanswered)
	}
}

func (x *exchange) gone() bool { return x.r.Context().Err() != nil }

// send writes a whole answer. The ledger has it before the client does.
func (x *exchange) send(how string, status int, body any) {
	x.sim.ledger.answer(x.record, Answer{How: how, Outcome: OutcomeAnswered, Status: status, ClientGone: x.gone()})
	writeJSON(x.w, status, body)
	if err := http.NewResponseController(x.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		x.sim.ledger.lost(x.record)
	}
}

// abort ends the exchange by closing the connection; it does not return.
func (x *exchange) abort(how string, outcome Outcome) {
	x.sim.ledger.answer(x.record, Answer{How: how, Outcome: outcome, ClientGone: x.gone()})
	panic(http.ErrAbortHandler)
}

type modelList struct {
	Object string      `json:"object"`
	Data   []modelItem `json:"data"`
}

type modelItem struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	OwnedBy string `json:"owned_by"`
}

// listModels names the models that were set, and the personalities, each of which is a model by itself.
func (s *Simulator) listModels(w http.ResponseWriter) {
	list := modelList{Object: "list", Data: []modelItem{}}
	for model := range s.roster.all() {
		list.add(model)
	}
	for _, kind := range Kinds() {
		list.add(string(kind))
	}
	writeJSON(w, http.StatusOK, list)
}

func (l *modelList) add(id string) {
	l.Data = append(l.Data, modelItem{ID: id, Object: "model", OwnedBy: "simulator"})
}
