package breakpoints

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/fallproof/fallproof/providers/simulator"
)

// poll is how often a state is looked at that is waited for.
const poll = 20 * time.Millisecond

// scene is one scenario's view of its deployment: it remembers the jobs that the scenario made, so that
// they can be held against the ledger afterwards.
type scene struct {
	*Deployment
	jobs  []string
	since int64 // the last request in the ledger that is explained; 0 = none was looked at
}

// begin starts a scenario.
func (s *scene) begin(ctx context.Context) {
	s.jobs = nil
	if s.since == 0 {
		s.overlook(ctx)
	}
}

// behaves gives the model of a target a personality until the scenario ends.
func (s *scene) behaves(ctx context.Context, target, personality string) {
	GinkgoHelper()
	before, err := s.control().behaviour(ctx, target)
	Expect(err).NotTo(HaveOccurred())
	if before == "" {
		before = nominal(model(target))
	}
	Expect(s.control().behave(ctx, target, personality)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(s.control().behave(ctx, target, before)).To(Succeed()) })
}

// closeCircuits has both targets answer well once: the failures of the scenarios before would otherwise add
// up, and a target that failed so often in a row is left alone. A pause that it asked for is waited for.
func (s *scene) closeCircuits(ctx context.Context) {
	GinkgoHelper()
	for _, target := range []string{s.Primary, s.Fallback} {
		Eventually(func(ctx context.Context) []string { return s.reasons(ctx, target) }).
			WithContext(ctx).WithTimeout(s.Patience).WithPolling(poll).ShouldNot(ContainElement("circuit_open"))
		s.becomes(ctx, s.newJob(ctx, target).ID, "succeeded")
	}
	s.expectLedgerEqualsAttempts(ctx)
	s.jobs = nil
}

// reasons are those for which a target is not eligible under the scenario's contract.
func (s *scene) reasons(ctx context.Context, target string) []string {
	GinkgoHelper()
	for _, each := range find[page[targetView]](s.get(ctx, "/v1/contracts/"+s.Contract+"/targets")).Items {
		if each.Target == target {
			return each.Reasons
		}
	}
	return nil
}

// nominal is the personality that a model's name ends in.
func nominal(name string) string {
	for start := range name {
		if start == 0 || strings.ContainsRune("-/._", rune(name[start-1])) {
			if p, err := simulator.ParsePersonality(name[start:]); err == nil {
				return p.String()
			}
		}
	}
	return string(simulator.Faithful)
}

// newKey is a fresh idempotency key.
func newKey() string { return "breakpoints-" + uuid.NewString() }

// body is the request of a job: the contract, the input with further members, and what else is asked.
func (s *scene) body(target string, extra ...string) string {
	input := s.Input
	if len(extra) > 0 {
		input = strings.TrimSuffix(strings.TrimSpace(input), "}") + ", " + strings.Join(extra, ", ") + "}"
	}
	text := `{"contract": ` + quote(s.Contract) + `, "input": ` + input
	if target != "" {
		text += `, "target": ` + quote(target)
	}
	return text + "}"
}

func quote(text string) string {
	encoded, err := json.Marshal(text)
	Expect(err).NotTo(HaveOccurred())
	return string(encoded)
}

// send makes one request of the API with the scenario's own key.
func (s *scene) send(ctx context.Context, method, path, body string, headers ...header) answer {
	GinkgoHelper()
	got, err := s.api().call(ctx, method, path, []byte(body), headers...)
	Expect(err).NotTo(HaveOccurred())
	return got
}

func (s *scene) get(ctx context.Context, path string, headers ...header) answer {
	GinkgoHelper()
	return s.send(ctx, http.MethodGet, path, "", headers...)
}

// click posts an intent under a key.
func (s *scene) click(ctx context.Context, key, body string, headers ...header) answer {
	GinkgoHelper()
	return s.send(ctx, http.MethodPost, "/v1/jobs", body, append(headers, header{"Idempotency-Key", key})...)
}

// created reads the job of a click that made one.
func (s *scene) created(got answer) jobView {
	GinkgoHelper()
	Expect(got.Status).To(Equal(http.StatusCreated), "%s", got)
	made := read[jobView](got)
	Expect(got.Header.Get("Location")).To(Equal("/v1/jobs/" + made.ID))
	Expect(got.Header).NotTo(HaveKey("Idempotency-Replayed"))
	s.keep(made.ID)
	return made
}

// replayed reads the job of a click that found one.
func (s *scene) replayed(got answer) jobView {
	GinkgoHelper()
	Expect(got.Status).To(Equal(http.StatusOK), "%s", got)
	Expect(got.Header.Get("Idempotency-Replayed")).To(Equal("true"))
	return read[jobView](got)
}

// keep puts a job among those that the scenario answers for.
func (s *scene) keep(id string) {
	if !slices.Contains(s.jobs, id) {
		s.jobs = append(s.jobs, id)
	}
}

// newJob makes a job at the route's primary, or at a target, under a key of its own.
func (s *scene) newJob(ctx context.Context, target string, headers ...header) jobView {
	GinkgoHelper()
	return s.created(s.click(ctx, newKey(), s.body(target), headers...))
}

func (s *scene) job(ctx context.Context, id string) jobView {
	GinkgoHelper()
	return find[jobView](s.get(ctx, "/v1/jobs/"+id))
}

func (s *scene) attempts(ctx context.Context, id string) []attemptView {
	GinkgoHelper()
	return find[page[attemptView]](s.get(ctx, "/v1/jobs/"+id+"/attempts")).Items
}

func (s *scene) attempt(ctx context.Context, id string, number int) attemptView {
	GinkgoHelper()
	return find[attemptView](s.get(ctx, attemptPath(id, number)))
}

func attemptPath(id string, number int) string {
	return "/v1/jobs/" + id + "/attempts/" + strconv.Itoa(number)
}

func (s *scene) events(ctx context.Context, id string) []eventView {
	GinkgoHelper()
	return find[page[eventView]](s.get(ctx, "/v1/jobs/"+id+"/events")).Items
}

// eventsOf are the events of one type.
func (s *scene) eventsOf(ctx context.Context, id, kind string) []eventView {
	GinkgoHelper()
	return slices.DeleteFunc(s.events(ctx, id), func(e eventView) bool { return e.Type != kind })
}

// end ends an attempt's doubt as an operator.
func (s *scene) end(ctx context.Context, id string, number int, how, body string) answer {
	GinkgoHelper()
	return s.send(ctx, http.MethodPost, attemptPath(id, number)+"/"+how, body)
}

// tryAgain asks for an explicit attempt under a fresh key.
func (s *scene) tryAgain(ctx context.Context, id, target string) answer {
	GinkgoHelper()
	body := ""
	if target != "" {
		body = `{"target": ` + quote(target) + `}`
	}
	return s.send(ctx, http.MethodPost, "/v1/jobs/"+id+"/attempts", body, header{"Idempotency-Key", newKey()})
}

// wait is a preference for an answer that waits.
func wait(seconds int) header { return header{"Prefer", "wait=" + strconv.Itoa(seconds)} }
