package simulator

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// act does what the personality does with a request that was understood.
func (x *exchange) act() {
	ctx, cancel := x.live()
	defer cancel()
	if x.p.kind() == Cached {
		x.w.Header().Set("X-Cache", "HIT")
		x.w.Header().Set("Age", "30")
	}
	if x.p.kind() == Choking && x.host().count(x.request.messages()) >= cmp.Or(x.p.Count, 300) {
		x.p = Personality{Kind: Silent}
	}
	if x.p.kind() == Hesitating && x.sim.roster.stumbles(x.request.Model, cmp.Or(x.p.Count, 3)) {
		x.p = Personality{Kind: Silent}
	}
	if !x.p.executes() {
		x.decline(ctx)
		return
	}
	w := newWork(x)
	if key := x.key(); key != "" {
		if first, same := x.sim.keys.claim(key, x.body, w); first != nil {
			x.replay(ctx, first, same)
			return
		}
	}
	x.takeUp(ctx, w)
	x.deliver(ctx, w)
}

// takeUp starts the work. It outlives the connection where it can be asked about, or asked for again.
func (x *exchange) takeUp(ctx context.Context, w *work) {
	x.ledger.execute(x.record)
	if w.stored() {
		x.sim.archive.file(w)
	}
	if w.stored() || x.key() != "" {
		ctx = x.sim.running
	}
	x.sim.inFlight.Go(func() { w.run(ctx) })
}

// deliver hands the answer out, or as much of it as the personality lets through.
func (x *exchange) deliver(ctx context.Context, w *work) {
	if !w.background() {
		x.await(ctx, w)
	}
	switch x.p.kind() {
	case Silent:
		<-ctx.Done()
		x.abort(x.p.String(), OutcomeUnanswered)
	case Dropping:
		x.drop()
	case HalfBody:
		status, body := w.answer()
		x.sendHalf(x.p.String(), status, body)
	case Overloaded:
		x.fail(errOverloaded(x.p.status(http.StatusServiceUnavailable)))
	default:
		status, body := w.answer()
		x.send(x.p.String(), status, body)
	}
}

// await returns when the work is finished; it does not where the client or the server goes first.
func (x *exchange) await(ctx context.Context, w *work) {
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil || !w.finished {
		x.abort(x.p.String(), OutcomeUnanswered)
	}
}

// decline answers, after the wait that the personality makes, what no work was done for.
func (x *exchange) decline(ctx context.Context) {
	if x.p.kind() == Silent && x.p.Work == "" && x.response != nil && x.response.Background {
		// Taken in and never taken up: in progress for ever.
		w := newWork(x)
		x.sim.archive.file(w)
		status, body := w.answer()
		x.send(x.p.String(), status, body)
		return
	}
	if !x.p.wait(ctx, x.record.gate, x.record.entry.ReceivedAt) {
		x.abort(x.p.String(), OutcomeUnanswered)
	}
	switch x.p.kind() {
	case RateLimited:
		x.fail(errRateLimited())
	case Unauthorized:
		x.fail(errAccount(x.p.status(http.StatusUnauthorized)))
	case Refusing:
		x.fail(errFiltered())
	case Redirecting:
		x.w.Header().Set("Location", x.r.URL.Path)
		x.send(x.p.String(), x.p.status(http.StatusTemporaryRedirect), errorBody{})
	case Portal:
		x.sendPage()
	case Dropping:
		x.drop()
	case Silent:
		<-ctx.Done()
		x.abort(x.p.String(), OutcomeUnanswered)
	default:
		x.fail(errOverloaded(x.p.status(http.StatusServiceUnavailable)))
	}
}

func (x *exchange) fail(err *apiError) {
	x.retryAfter(x.p.RetryAfter)
	x.send(x.p.String(), err.status, errorBody{err})
}

// retryAfter sets the header; it knows whole seconds only, and rounding up keeps the promise.
func (x *exchange) retryAfter(d time.Duration) {
	if d > 0 {
		x.w.Header().Set("Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
	}
}

// sendPage answers what stands between a client and its provider and takes the request for a browser's.
func (x *exchange) sendPage() {
	x.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.ledger.answer(x.record, Answer{How: x.p.String(), Outcome: OutcomeAnswered, Status: http.StatusOK, ClientGone: x.gone()})
	x.w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(x.w, "<!doctype html><title>Sign in</title><p>Please sign in to go on.</p>")
}

// drop closes the connection without a byte: with FIN, or with RST where reset is asked.
func (x *exchange) drop() {
	if x.p.Variant == variantReset {
		if conn, _, err := http.NewResponseController(x.w).Hijack(); err == nil {
			x.ledger.answer(x.record, Answer{How: x.p.String(), Outcome: OutcomeDropped})
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
func (x *exchange) sendHalf(how string, status int, whole any) {
	body := encode(whole)
	x.w.Header().Set("Content-Type", "application/json")
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.ledger.answer(x.record, Answer{How: how, Outcome: OutcomeCut, Status: status, ClientGone: x.gone()})
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body[:len(body)/2])
	_ = http.NewResponseController(x.w).Flush() // either the half arrives or the client left: both are a cut
	panic(http.ErrAbortHandler)
}
