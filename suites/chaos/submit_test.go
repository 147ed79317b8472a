package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// messages are what customers write about an order.
var messages = []string{
	"Hello, order #%s was to come on Monday and has not arrived yet. Where is it? Thanks, Zoë",
	"I was charged twice for order #%s. Please refund one of the two payments.",
	"The charger of order #%s gave my son an electric shock. I shall talk to my lawyer.",
	"Meine Bestellung #%s ist beschädigt angekommen. Bitte schicken Sie Ersatz.",
	"Does the lamp of order #%s also come in green?",
}

// submission is one intent and what its clients were told.
type submission struct {
	mark     string // in its input
	key      string
	doubled  bool
	contract string

	mu      sync.Mutex
	ids     map[string]bool
	created int // answers that said so
	replays int
	refused []string // answers that are neither a job nor a reason to come again
}

// submissions are all of them.
type submissions struct {
	mu  sync.Mutex
	all []*submission
}

// wish is the body of a submission.
type wish struct {
	Contract string            `json:"contract"`
	Input    map[string]string `json:"input"`
	Target   string            `json:"target,omitzero"`
}

// crowd is how many clients there are at most: a queue in front of a service that is away must not become a
// storm when it comes back.
const crowd = 40

// load submits the jobs evenly over the time, or as fast as clients are answered, and returns when all are.
func (w *world) load(ctx context.Context) {
	var clients sync.WaitGroup
	places := make(chan struct{}, crowd)
	pace := time.NewTicker(w.over / time.Duration(w.jobs))
	defer pace.Stop()
	for n := range w.jobs {
		places <- struct{}{}
		clients.Go(func() {
			defer func() { <-places }()
			w.submit(ctx, n)
		})
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
	clients.Wait()
}

// submit sends one intent, a tenth of them twice at the same time: to one replica, or to two.
func (w *world) submit(ctx context.Context, n int) {
	draw := chance(w.seed, fmt.Sprint("job ", n))
	each := &submission{mark: fmt.Sprintf("J-%06d", n), key: fmt.Sprintf("chaos-%d-%d", w.seed, n), ids: map[string]bool{}}
	intent := wish{Contract: one(draw, []string{"steady", "racing", "keyed"})}
	intent.Input = map[string]string{"message": fmt.Sprintf(one(draw, messages), each.mark)}
	if draw.IntN(4) == 0 {
		intent.Target = one(draw, targets)
	}
	each.contract, each.doubled = intent.Contract, draw.IntN(10) == 0
	body, err := json.Marshal(intent, json.Deterministic(true))
	if err != nil {
		panic(err) // of strings alone
	}
	w.sent.mu.Lock()
	w.sent.all = append(w.sent.all, each)
	w.sent.mu.Unlock()

	first := draw.IntN(replicas)
	second := (first + draw.IntN(2)) % replicas
	var clicks sync.WaitGroup
	clicks.Go(func() { w.click(ctx, each, body, first, chance(w.seed, each.key+"/1")) })
	if each.doubled {
		clicks.Go(func() { w.click(ctx, each, body, second, chance(w.seed, each.key+"/2")) })
	}
	clicks.Wait()
}

// click repeats one request under one key until it is answered, at whichever replica.
func (w *world) click(ctx context.Context, each *submission, body []byte, at int, draw *rand.Rand) {
	headers := []string{"Idempotency-Key", each.key}
	if draw.IntN(10) == 0 {
		headers = append(headers, "Prefer", "wait=2")
	}
	for {
		if address := w.somewhere(at); address != "" {
			got, err := call(ctx, http.MethodPost, address+"/v1/jobs", w.key, body, headers...)
			if err == nil && each.note(got) {
				return
			}
			w.book.answered(got, err)
		}
		if !rest(ctx, between(draw, 100*time.Millisecond, 400*time.Millisecond)) {
			return
		}
		at = draw.IntN(replicas)
	}
}

// note keeps an answer, and says whether the client is done.
func (s *submission) note(got answer) bool {
	if got.status >= http.StatusInternalServerError {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	made, err := read[jobView](got)
	switch {
	case err == nil && got.status == http.StatusCreated:
		s.created++
	case err == nil && got.status == http.StatusOK && got.header.Get("Idempotency-Replayed") == "true":
		s.replays++
	default:
		s.refused = append(s.refused, got.String())
		return true
	}
	s.ids[made.ID] = true
	return true
}

// id is the job that the clients were told of; "" where they were told of none, or of several.
func (s *submission) id() string {
	if len(s.ids) == 1 {
		for id := range s.ids {
			return id
		}
	}
	return ""
}
