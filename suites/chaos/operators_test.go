package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// operators are what people do about jobs meanwhile.
func (w *world) operators() []weighted[act] {
	return []weighted[act]{
		{8, w.endsDoubt}, {2, w.endsReleased}, {1, w.cancelsAJob}, {3, w.triesAgain},
	}
}

// ending is a way to end doubt about an attempt.
type ending struct {
	verb string // the last part of the path
	body func(*rand.Rand) string
}

var endings = []weighted[ending]{
	{3, ending{"resolve", func(*rand.Rand) string { return `{"outcome": "failed", "note": "no trace of it"}` }}},
	{3, ending{"release", func(*rand.Rand) string { return `{"note": "it may come when it wants"}` }}},
	{2, ending{"cancel", func(*rand.Rand) string { return `{"note": "not wanted any more"}` }}},
	{2, ending{"resolve", found}},
}

const foundBefore, foundAfter = `{"outcome": "succeeded", "note": "found at the provider", "result": `, `}`

// found is the body of a resolution as succeeded, with one of many results that the contract allows.
func found(draw *rand.Rand) string {
	return foundBefore + fmt.Sprintf(
		`{"category": %q, "urgency": "normal", "language": "en", "legal_threat": false, "safety_hazard": false, "reference": null}`,
		one(draw, []string{"billing", "delivery", "technical", "account", "other"})) + foundAfter
}

// endsDoubt ends the doubt about an attempt of some job.
func (w *world) endsDoubt(ctx context.Context, draw *rand.Rand) {
	job, ok := w.some(ctx, draw, "unknown")
	if !ok {
		return
	}
	if attempt, ok := w.attemptIn(ctx, draw, job.ID, "unknown"); ok {
		w.end(ctx, draw, job.ID, attempt, pick(draw, endings))
	}
}

// endsReleased resolves or cancels an attempt that nobody waits for any more.
func (w *world) endsReleased(ctx context.Context, draw *rand.Rand) {
	job, ok := w.some(ctx, draw, one(draw, []string{"unknown", "running", "failed"}))
	if !ok {
		return
	}
	if attempt, ok := w.attemptIn(ctx, draw, job.ID, "released"); ok {
		w.end(ctx, draw, job.ID, attempt, one(draw, []ending{endings[0].choice, endings[2].choice}))
	}
}

// end asks for one ending. A 409 says that the attempt moved first, which is all right. What is said to be
// the result is noted before it is said: the answer may be lost.
func (w *world) end(ctx context.Context, draw *rand.Rand, job string, attempt attemptView, how ending) {
	body := how.body(draw)
	if result, ok := strings.CutPrefix(body, foundBefore); ok {
		w.book.claim(attempt.ID, strings.TrimSuffix(result, foundAfter))
	}
	got, err := w.operate(ctx, draw, http.MethodPost, fmt.Sprintf("/v1/jobs/%s/attempts/%d/%s", job, attempt.Number, how.verb), body)
	w.book.acted("doubts that an operator ended", "attempts that had moved before an operator", got, err)
}

func (w *world) cancelsAJob(ctx context.Context, draw *rand.Rand) {
	if job, ok := w.some(ctx, draw, one(draw, []string{"unknown", "running", "failed"})); ok {
		got, err := w.operate(ctx, draw, http.MethodPost, "/v1/jobs/"+job.ID+"/cancel", "")
		w.book.acted("jobs that an operator cancelled", "jobs that had ended before an operator", got, err)
	}
}

// triesAgain asks for an explicit new attempt of a failed job, twice under one key.
func (w *world) triesAgain(ctx context.Context, draw *rand.Rand) {
	job, ok := w.some(ctx, draw, "failed")
	if !ok {
		return
	}
	body, key := `{}`, fmt.Sprintf("again-%d", draw.Uint64())
	if draw.IntN(2) == 0 {
		body = fmt.Sprintf(`{"target": %q}`, one(draw, targets))
	}
	for range 2 {
		got, err := w.operate(ctx, draw, http.MethodPost, "/v1/jobs/"+job.ID+"/attempts", body, "Idempotency-Key", key)
		w.book.acted("explicit new attempts", "explicit new attempts that were refused", got, err)
	}
}

// some is a job in a state, one of the first twenty.
func (w *world) some(ctx context.Context, draw *rand.Rand, state string) (jobView, bool) {
	got, err := w.operate(ctx, draw, http.MethodGet, "/v1/jobs?limit=20&state="+state, "")
	return oneOf[jobView](draw, got, err, func(jobView) bool { return true })
}

// attemptIn is an attempt of a job that is in a state.
func (w *world) attemptIn(ctx context.Context, draw *rand.Rand, job, state string) (attemptView, bool) {
	got, err := w.operate(ctx, draw, http.MethodGet, "/v1/jobs/"+job+"/attempts", "")
	return oneOf(draw, got, err, func(a attemptView) bool { return a.State == state })
}

// oneOf is an item of a page; none where the page did not come, or holds none.
func oneOf[T any](draw *rand.Rand, got answer, err error, wanted func(T) bool) (chosen T, ok bool) {
	if err != nil || got.status != http.StatusOK {
		return chosen, false
	}
	listed, err := read[page[T]](got)
	if err != nil {
		return chosen, false
	}
	var fitting []T
	for _, each := range listed.Items {
		if wanted(each) {
			fitting = append(fitting, each)
		}
	}
	if len(fitting) == 0 {
		return chosen, false
	}
	return one(draw, fitting), true
}

// operate sends one request to any replica that serves.
func (w *world) operate(ctx context.Context, draw *rand.Rand, method, path, body string, headers ...string) (answer, error) {
	address := w.somewhere(draw.IntN(replicas))
	if address == "" {
		return answer{}, errNobody
	}
	return call(ctx, method, address+path, w.key, []byte(body), headers...)
}

var errNobody = errors.New("no replica serves")

// claim notes what an operator says that an attempt's result was.
func (b *book) claim(attempt, result string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[attempt] = append(b.results[attempt], result)
}

// acted counts how an operator's wish was answered.
func (b *book) acted(done, late string, got answer, err error) {
	switch {
	case err != nil:
		b.count("operators' requests without an answer", 1)
	case got.status < http.StatusMultipleChoices:
		b.count(done, 1)
	case got.status == http.StatusConflict:
		b.count(late, 1)
	default:
		b.count(fmt.Sprintf("operators' requests answered %d", got.status), 1)
	}
}
