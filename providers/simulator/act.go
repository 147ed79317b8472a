package simulator

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// act answers as the personality does, now that it has waited.
func (x *exchange) act() {
	switch x.p.kind() {
	case RateLimited:
		x.fail(errRateLimited())
	case Overloaded:
		x.fail(errOverloaded(x.p.status(http.StatusServiceUnavailable)))
	case Unauthorized:
		x.fail(errUnauthorized())
	case Error200:
		x.fail(errInside())
	case Redirecting:
		x.w.Header().Set("Location", x.r.URL.Path)
		x.send(x.p.String(), x.p.status(http.StatusTemporaryRedirect), errorBody{})
	case Dropping:
		x.drop()
	case HalfBody:
		x.sendHalf()
	default:
		x.send(x.p.String(), http.StatusOK, x.complete())
	}
}

func (x *exchange) fail(err *apiError) {
	if x.p.RetryAfter > 0 {
		// The header knows whole seconds only; rounding up keeps the promise.
		seconds := (x.p.RetryAfter + time.Second - 1) / time.Second
		x.w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	x.send(x.p.String(), err.status, errorBody{err})
}

// drop closes the connection without a byte: with FIN, or with RST where reset is asked.
func (x *exchange) drop() {
	if x.p.Variant == variantReset {
		if conn, _, err := http.NewResponseController(x.w).Hijack(); err == nil {
			x.sim.ledger.answer(x.record, Answer{How: x.p.String(), Outcome: OutcomeDropped})
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // without it the close below is a plain FIN, which the caller survives too
			}
			_ = conn.Close()
			return
		}
	}
	x.abort(x.p.String(), OutcomeDropped)
}

// sendHalf promises the whole body in its header and breaks off in the middle.
func (x *exchange) sendHalf() {
	body := encode(x.complete())
	x.w.Header().Set("Content-Type", "application/json")
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.sim.ledger.answer(x.record, Answer{
		How: x.p.String(), Outcome: OutcomeCut, Status: http.StatusOK, ClientGone: x.gone(),
	})
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(body[:len(body)/2])
	_ = http.NewResponseController(x.w).Flush() // either the half arrives or the client left: both are a cut
	panic(http.ErrAbortHandler)
}

// complete builds the body of a 200.
func (x *exchange) complete() completion {
	c := newCompletion(x.request, x.sim.config.Seed, x.record.entry.Seq)
	if x.p.kind() == EmptyChoices {
		return c
	}
	if x.p.kind() == Renamed {
		c.rename(x.p.Variant, x.sim.config.Seed)
	}
	answer := message{Role: "assistant"}
	var finish string
	if x.p.kind() == Refusing {
		finish = answer.refuse(x.p.Variant)
	} else {
		text := x.write()
		text, finish = x.cut(text)
		answer.Content = &text
	}
	c.add(answer, finish)
	return c
}

// write composes the answer's text, right or wrong as the personality has it.
func (x *exchange) write() string {
	asked := readPrompt(x.request, x.p.kind() == Deaf)
	answer := asked.answer()
	wrong := x.p.kind() == Plausible || (x.p.kind() == Flaky && x.sim.roster.stumbles(x.request.Model))
	if wrong {
		answer.spoil()
	}
	if x.p.kind() == ExtraKey {
		answer.fields.set("confidence", 0.97)
	}
	text := answer.text()
	switch x.p.kind() {
	case Fenced:
		return "```json\n" + text + "\n```"
	case Chatty:
		return "Sure! Here is what I found:\n\n" + text + "\n\nLet me know if you need anything else."
	}
	return text
}

// cut ends the text early where the personality or the request's own limit says so.
func (x *exchange) cut(text string) (string, string) {
	if x.p.kind() == Truncating {
		if x.p.Variant == variantParses {
			// As models do that run into a loop of white space: nothing of the JSON itself is missing.
			return text + strings.Repeat("\n  ", 64), finishLength
		}
		return prefix(text, len(text)/2), finishLength
	}
	limit, given := x.request.maxTokens()
	if n := countText(text); given && n > limit {
		return prefix(text, len(text)*limit/n), finishLength
	}
	return text, finishStop
}
