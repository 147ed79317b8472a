package simulator

import (
	"net/http"
	"strings"
	"time"
)

// question is a request about work that was asked for earlier.
type question struct {
	exchange
	candour Candour
}

// isQuestion tells questions from requests for work. They have a ledger of their own, so that counting
// the requests for work needs no filter.
func isQuestion(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, path := range []string{pathCompletions, pathResponses} {
		if r.URL.Path == path || strings.HasPrefix(r.URL.Path, path+"/") {
			return true
		}
	}
	return false
}

// answerQuestion answers as far as the candour goes of the model that the question is about.
func (s *Simulator) answerQuestion(w http.ResponseWriter, r *http.Request) {
	model, attempt := s.archive.subject(r, metadataAsked(r.URL.Query()))
	q := &question{exchange: exchange{sim: s, w: w, r: r, ledger: s.questions}}
	q.record = q.ledger.receive(Entry{
		AttemptID: attempt, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
	})
	q.ledger.identify(q.record, model, "", nil)
	if !q.authorized() {
		q.reject(errUnauthorized())
		return
	}
	q.candour = s.roster.asked(model)
	q.act()
}

func (q *question) act() {
	ctx, cancel := q.live()
	defer cancel()
	waited := Personality{Delay: q.candour.Delay}.wait(ctx, nil, time.Now())
	switch q.candour.Answering {
	case Failing:
		q.fail()
	case Garbled:
		q.garble()
	case HangingUp:
		q.abort(q.candour.String(), OutcomeDropped)
	case Never:
		<-ctx.Done()
		q.abort(q.candour.String(), OutcomeUnanswered)
	default:
		if !waited {
			q.abort(q.candour.String(), OutcomeUnanswered)
		}
		q.tell(q.look())
	}
}

// look finds what is asked for, or what the candour makes of it.
func (q *question) look() (status int, body any) {
	var refusal *apiError
	if path, id, fetch := q.fetches(); fetch {
		body, refusal = q.fetch(path, id)
	} else {
		body, refusal = q.list()
	}
	if refusal != nil {
		return refusal.status, errorBody{refusal}
	}
	return http.StatusOK, body
}

func (q *question) tell(status int, body any) {
	if q.candour.Answering == Halfway {
		q.sendHalf(q.candour.String(), status, body)
	}
	q.send(q.candour.String(), status, body)
}

// fetches says whether one thing is asked for, and which.
func (q *question) fetches() (path, id string, fetch bool) {
	for _, path := range []string{pathCompletions, pathResponses} {
		if id, fetch := strings.CutPrefix(q.r.URL.Path, path+"/"); fetch {
			return path, id, true
		}
	}
	return "", "", false
}

func (q *question) fetch(path, id string) (any, *apiError) {
	f, found := q.sim.archive.find(path, id)
	if q.candour.Answering == Unfiltered {
		f, found = q.sim.archive.newest(path)
	}
	if !found || q.candour.Answering == Absent {
		return nil, errNotFound(path, id)
	}
	if path == pathCompletions {
		return f.work.asStored(), nil
	}
	if !f.finished {
		return f.work.respond(statusInProgress), nil
	}
	return f.work.responded(), nil
}

func (q *question) fail() {
	refusal := errOverloaded(q.candour.status())
	switch refusal.status {
	case http.StatusUnauthorized:
		refusal = errUnauthorized()
	case http.StatusNotFound:
		refusal = errUnknownURL(q.r.Method, q.r.URL.Path)
	case http.StatusTooManyRequests:
		refusal = errRateLimited()
	}
	q.retryAfter(q.candour.RetryAfter)
	q.send(q.candour.String(), refusal.status, errorBody{refusal})
}

// garble answers as a proxy does that stands where the provider should: a 200, and no JSON.
func (q *question) garble() {
	q.ledger.answer(q.record, Answer{
		How: q.candour.String(), Outcome: OutcomeAnswered, Status: http.StatusOK, ClientGone: q.gone(),
	})
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = q.w.Write([]byte("<!doctype html>\n<title>Maintenance</title>\n<p>We'll be back soon.\n")) // or the client left
}

func errNotFound(path, id string) *apiError {
	if path == pathCompletions {
		return newError(http.StatusNotFound, typeInvalid, "", "", "Chat completion with id '%s' not found.", id)
	}
	return newError(http.StatusNotFound, typeInvalid, "", "", "Response with id '%s' not found.", id)
}
