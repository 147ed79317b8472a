package simulator

import (
	"context"
	"net/http"
	"time"
)

// work is what a model does for one request, apart from the connection that asked for it. Where something
// may be asked about it later, it goes on when that connection is gone.
type work struct {
	sim      *Simulator
	record   *record
	p        Personality
	chat     *chatRequest
	response *responseRequest // nil where chat completions were asked
	id       string           // what it can be fetched by
	created  int64

	done chan struct{} // closed when it was finished or given up
	// Written before done is closed and never after.
	finished bool
	yield    completion
	failure  *apiError // instead of the yield
}

func newWork(x *exchange) *work {
	w := &work{
		sim: x.sim, record: x.record, p: x.p, chat: x.request, response: x.response,
		created: time.Now().Unix(), done: make(chan struct{}),
	}
	prefix := "chatcmpl-"
	if w.response != nil {
		prefix = "resp_"
	}
	w.id = prefix + w.unique("")
	return w
}

// unique is a part of an identifier, the same at every run with the same seed and order of requests.
func (w *work) unique(of string) string {
	return digest(of + serial(w.sim.config.Seed, w.seq(), w.chat.Model))[:24]
}

// seq is the number of the request in the ledger.
func (w *work) seq() int64 { return w.record.entry.Seq }

// path is where it is asked for, and about.
func (w *work) path() string {
	if w.response != nil {
		return pathResponses
	}
	return pathCompletions
}

func (w *work) background() bool { return w.response != nil && w.response.Background }

func (w *work) stored() bool { return w.chat.Store }

// run does the work as the personality does, or gives it up when ctx ends.
func (w *work) run(ctx context.Context) {
	if w.finished = w.make(ctx); w.finished {
		w.sim.archive.finish(w)
	}
	// First the ledger, then those who wait: whoever has an answer finds in the ledger where it came from.
	w.sim.ledger.settle(w.record, w.product())
	close(w.done)
}

// make is false where ctx ended before the work was finished. A delay is as long as it says, from the request's
// arrival: what is answered is made in the middle of it, when neither requests nor answers of a burst come in.
func (w *work) make(ctx context.Context) bool {
	arrived := w.record.entry.ReceivedAt
	if w.p.Hold {
		released := w.p.wait(ctx, w.record.gate, arrived)
		if released {
			w.produce()
		}
		return released
	}
	if !(Personality{Delay: w.p.Delay / 2}).wait(ctx, nil, arrived) {
		return false
	}
	w.produce()
	return w.p.wait(ctx, nil, arrived)
}

// over says whether the work was finished or given up.
func (w *work) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// wait lasts as long as the personality says, since a time or since the release. It returns false where ctx
// ended first.
func (p Personality) wait(ctx context.Context, gate <-chan struct{}, since time.Time) bool {
	if p.Hold {
		select {
		case <-gate:
			since = time.Now()
		case <-ctx.Done():
			return false
		}
	}
	if p.Delay > 0 {
		timer := time.NewTimer(time.Until(since.Add(p.Delay)))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// product is what the ledger says of the work's yield; nil where there is none.
func (w *work) product() *Product {
	if !w.finished || w.failure != nil {
		return nil
	}
	p := &Product{ID: w.id, Stored: w.stored()}
	for _, choice := range w.yield.Choices {
		if choice.Message.Content != nil {
			p.Content = *choice.Message.Content
		}
	}
	return p
}

// answer is what the request is answered, once the work is over or, in the background, at once.
func (w *work) answer() (status int, body any) {
	switch {
	case w.background():
		return http.StatusOK, w.accepted()
	case w.response != nil:
		return http.StatusOK, w.responded()
	case w.failure != nil:
		return w.failure.status, errorBody{w.failure}
	}
	return http.StatusOK, w.yield
}
