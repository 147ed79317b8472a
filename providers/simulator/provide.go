package simulator

import (
	"context"
	"errors"
	"io"
	"net/http"
)

const (
	pathCompletions = "/v1/chat/completions"
	pathResponses   = "/v1/responses"
	pathModels      = "/v1/models"
	howRejected     = "rejected"
	howReplayed     = "replayed"
)

// exchange is one request on its way through the simulator.
type exchange struct {
	sim    *Simulator
	w      http.ResponseWriter
	r      *http.Request
	ledger *ledger // the one that it stands in: of the work asked for, or of the questions
	record *record
	p      Personality

	// Of a request for work that was understood.
	body        []byte
	request     *chatRequest
	response    *responseRequest // nil where chat completions are asked
	idempotency Idempotency
}

// provide is the provider's side of the server. Whatever arrives here is in a ledger first; only the
// list of models is not, because it asks for nothing of interest.
func (s *Simulator) provide(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == pathModels && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		s.listModels(w)
	case isNative(r):
		s.answerNative(w, r)
	case isQuestion(r):
		s.answerQuestion(w, r)
	default:
		s.receive(w, r)
	}
}

// receive answers a request for work, and to whatever else is no question.
func (s *Simulator) receive(w http.ResponseWriter, r *http.Request) {
	x := &exchange{sim: s, w: w, r: r, ledger: s.ledger}
	x.record = x.ledger.receive(Entry{
		AttemptID: r.Header.Get(AttemptHeader), IdempotencyKey: r.Header.Get("Idempotency-Key"),
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
	})
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	x.body = body
	model := modelOf(body)
	// The behaviour is the one of the moment of arrival: later changes are for later requests.
	p, known := s.roster.find(model)
	x.p, x.idempotency = p, s.roster.idempotencyOf(model)
	x.ledger.identify(x.record, model, x.key(), body)
	if refusal := x.admit(err, known); refusal != nil {
		x.reject(refusal)
		return
	}
	s.archive.hear(x)
	x.act()
}

// admit reads the request, or says in the provider's words why it cannot.
func (x *exchange) admit(readErr error, known bool) *apiError {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(readErr, &tooLarge):
		return errTooLarge()
	case readErr != nil:
		x.abort(howRejected, OutcomeUnanswered)
	case !x.authorized():
		return errUnauthorized()
	case x.r.Method != http.MethodPost || (x.r.URL.Path != pathCompletions && x.r.URL.Path != pathResponses):
		return errUnknownURL(x.r.Method, x.r.URL.Path)
	}
	if refusal := x.parse(); refusal != nil {
		return refusal
	}
	if x.request.Model == "" {
		return invalid("", "model", "you must provide a model parameter")
	}
	if !known {
		return errUnknownModel(x.request.Model)
	}
	check := x.request.check
	if x.response != nil {
		check = func() *apiError { return x.response.check(x.request) }
	}
	if refusal := check(); refusal != nil {
		return refusal
	}
	if refusal := x.p.dislikes(x.request); refusal != nil {
		return refusal
	}
	if h := x.host(); h.templated() {
		_, refusal := h.render(x.request.messages())
		return refusal
	}
	return nil
}

func (x *exchange) host() host { return x.sim.hostOf(x.request.Model, x.p) }

// parse reads the body by the path that it came to.
func (x *exchange) parse() *apiError {
	var refusal *apiError
	if x.r.URL.Path == pathCompletions {
		x.request, refusal = parseRequest(x.body)
		return refusal
	}
	if x.response, refusal = parseResponseRequest(x.body); refusal == nil {
		x.request = x.response.chat()
	}
	return refusal
}

func (x *exchange) authorized() bool {
	key := x.sim.config.APIKey
	return key == "" || x.r.Header.Get("Authorization") == "Bearer "+key
}

// live ends when the client or the server goes.
func (x *exchange) live() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(x.r.Context())
	stop := context.AfterFunc(x.sim.running, cancel)
	return ctx, func() { stop(); cancel() }
}

func (x *exchange) gone() bool { return x.r.Context().Err() != nil }

func (x *exchange) reject(refusal *apiError) {
	x.send(howRejected, refusal.status, errorBody{refusal})
}

// send writes a whole answer. The ledger has it before the client does.
func (x *exchange) send(how string, status int, body any) {
	x.ledger.answer(x.record, Answer{How: how, Outcome: OutcomeAnswered, Status: status, ClientGone: x.gone()})
	writeJSON(x.w, status, body)
	if err := http.NewResponseController(x.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		x.ledger.lost(x.record)
	}
}

// abort ends the exchange by closing the connection; it does not return.
func (x *exchange) abort(how string, outcome Outcome) {
	x.ledger.answer(x.record, Answer{How: how, Outcome: outcome, ClientGone: x.gone()})
	panic(http.ErrAbortHandler)
}
