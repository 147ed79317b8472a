package chaos

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/go-json-experiment/json"

	"github.com/fallproof/fallproof/providers/simulator"
)

// mark is how a job's input names the job, hence how a provider tells its requests from those of a
// certification.
var mark = regexp.MustCompile(`J-\d{6}`)

// moods are how a provider answers one request, by weight.
var moods = []weighted[string]{
	{44, "faithful"}, {8, "slow:100ms"}, {7, "late:1600ms"}, {6, "hold"}, {2, "hold:dropping"}, {2, "silent"},
	{4, "dropping"}, {3, "dropping:reset"}, {4, "half-body"}, {3, "overloaded"}, {2, "overloaded:502"}, {2, "overloaded:1s"}, {3, "rate-limited:1s"},
	{3, "plausible"}, {2, "extra-key"}, {2, "fenced"}, {1, "chatty"}, {2, "truncating"}, {1, "refusing"}, {1, "error-200"}, {1, "empty-choices"},
	{1, "redirecting"}, {1, "unauthorized"},
}

// provider is all simulated providers, behind a door at which requests of jobs and of certifications part.
// Nothing that comes through it can be lost on the way any more: the ledger has every POST.
type provider struct {
	moody, calm *simulator.Simulator // for jobs, and for certifications
	address     string
	open        atomic.Int64 // connections

	mu    sync.Mutex
	draw  *rand.Rand
	quiet bool
}

func newProvider(draw *rand.Rand) *provider {
	GinkgoHelper()
	faithful := map[string]simulator.Personality{}
	for _, model := range models {
		faithful[model] = simulator.Personality{Kind: simulator.Faithful}
	}
	p := &provider{
		moody: simulator.New(simulator.Config{Models: faithful}), calm: simulator.New(simulator.Config{Models: faithful}), draw: draw,
	}
	p.moody.SetIdempotency(models["gamma"], simulator.Idempotency{Header: "Idempotency-Key"})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	p.address = listener.Addr().String()
	server := &http.Server{Handler: p, ReadHeaderTimeout: patience, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), ConnState: p.connected}
	go func() { _ = server.Serve(listener) }()
	DeferCleanup(func() {
		Expect(server.Close()).To(Succeed())
		p.moody.Close()
		p.calm.Close()
	})
	return p
}

func (p *provider) connected(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.open.Add(-1)
	default:
	}
}

// ServeHTTP puts the model into the mood of the next answer. Of two requests at the same moment one may get
// the other's mood.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		p.moody.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the request did not arrive whole: no provider would have worked on it
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !mark.Match(body) {
		p.calm.ServeHTTP(w, r)
		return
	}
	p.moody.SetPersonality(modelOf(body), p.mood())
	p.moody.ServeHTTP(w, r)
}

func (p *provider) mood() simulator.Personality {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet {
		return simulator.Personality{Kind: simulator.Faithful}
	}
	personality, err := simulator.ParsePersonality(pick(p.draw, moods))
	if err != nil {
		panic(err) // a mistake in the table above
	}
	return personality
}

// settle makes every provider faithful and honest from now on.
func (p *provider) settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = true
	p.moody.SetCandour("", simulator.Candour{Answering: simulator.Honest})
}

// candours are how providers answer who asks what became of a request, by weight. Some of them lie.
var candours = []weighted[string]{
	{6, "honest"}, {2, "absent:3"}, {2, "failing:500"}, {1, "failing:429:1s"}, {1, "slow:1s"}, {1, "silent"}, {1, "dropping"}, {1, "garbled"},
	{1, "half-body"}, {1, "unfiltered"},
}

// wavering changes at intervals how far the providers' word can be trusted, until ctx ends.
func (p *provider) wavering(ctx context.Context, draw *rand.Rand) {
	for rest(ctx, between(draw, 500*time.Millisecond, 3*time.Second)) {
		candour, err := simulator.ParseCandour(pick(draw, candours))
		if err != nil {
			panic(err) // a mistake in the table above
		}
		p.moody.SetCandour("", candour)
	}
}

// release lets whatever is held answer.
func (p *provider) release() { p.moody.Release(simulator.Filter{}) }

// seen are the POSTs of attempts that arrived, by attempt id.
func (p *provider) seen() map[string][]simulator.Entry {
	found := map[string][]simulator.Entry{}
	for _, each := range p.moody.Ledger() {
		found[each.AttemptID] = append(found[each.AttemptID], each)
	}
	return found
}

// content is the answer that a request was, or would have been, answered with; "" where there was none.
func content(post simulator.Entry) string {
	if post.Produced == nil {
		return ""
	}
	return strings.TrimSpace(post.Produced.Content)
}

// modelOf is the model that a request names.
func modelOf(body []byte) string {
	var request struct {
		Model string `json:"model"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return ""
	}
	return request.Model
}

// releasing lets what is held go at intervals, until ctx ends.
func (p *provider) releasing(ctx context.Context, draw *rand.Rand) {
	for rest(ctx, between(draw, 300*time.Millisecond, 2500*time.Millisecond)) {
		p.release()
	}
}
