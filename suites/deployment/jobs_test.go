package deployment

import (
	"context"
	"net/http"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// What is read of the API's documents.
type (
	jobView struct {
		ID          string         `json:"id"`
		State       string         `json:"state"`
		CompletedBy *int           `json:"completed_by"`
		Result      jsontext.Value `json:"result"`
	}
	attemptView struct {
		ID     string  `json:"id"`
		State  string  `json:"state"`
		Reason *string `json:"reason"`
		Sends  int     `json:"sends"`
	}
	page[T any] struct {
		Items []T `json:"items"`
	}
)

func newKey() string { return "deployment-" + uuid.NewString() }

// intent is the body of a click.
func intent(target string) string {
	return `{"contract": "support-triage", "target": "` + target + `", "input": {"message": "My parcel B-5521 has not arrived yet. Where is it?"}}`
}

// click posts an intent through nginx.
func (g *stage) click(ctx context.Context, key, target string, headers ...header) answer {
	GinkgoHelper()
	return g.nginx.send(ctx, http.MethodPost, "/v1/jobs", intent(target), append(headers, header{"Idempotency-Key", key})...)
}

// replayed reads the job of a click that found one.
func replayed(got answer) jobView {
	GinkgoHelper()
	found := read[jobView](got, http.StatusOK)
	Expect(got.Header.Get("Idempotency-Replayed")).To(Equal("true"))
	return found
}

// only is the one attempt of a job, sent once and seen once by the provider.
func (g *stage) only(ctx context.Context, job string) attemptView {
	GinkgoHelper()
	attempts := read[page[attemptView]](g.nginx.get(ctx, "/v1/jobs/"+job+"/attempts"), http.StatusOK).Items
	Expect(attempts).To(HaveLen(1))
	Expect(g.calls(ctx, attempts[0].ID)).To(HaveLen(1))
	return attempts[0]
}

func attemptPath(job string, number int) string {
	return "/v1/jobs/" + job + "/attempts/" + strconv.Itoa(number)
}

// home is the replica that nginx asks first under a key. It finds out with a click that stores nothing.
func (g *stage) home(ctx context.Context, key string) *replica {
	GinkgoHelper()
	before := len(g.nginx.log(Default, with(key)))
	Expect(g.nginx.send(ctx, http.MethodPost, "/v1/jobs", "{}", header{"Idempotency-Key", key}).Status).To(Equal(http.StatusBadRequest))
	asked := g.nginx.logged(ctx, before+1, with(key))[before].asked()
	Expect(asked).NotTo(BeEmpty())
	return g.at(asked[0])
}

// returns starts a replica again, and waits until nginx has it back in its place: the first that is asked under
// a key that is its own.
func (g *stage) returns(ctx context.Context, r *replica, key string) {
	GinkgoHelper()
	g.start(ctx, r)
	Eventually(func(ctx context.Context) string { return g.home(ctx, key).address }).
		WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal(r.address))
}
