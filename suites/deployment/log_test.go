package deployment

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/go-json-experiment/json"
)

func (b *balancer) logFile() string { return filepath.Join(b.folder, "requests.log") }

// request is one line of the log.
type request struct {
	Time     string  `json:"time"`
	Instance string  `json:"instance"`
	Method   string  `json:"method"`
	URI      string  `json:"uri"`
	Key      string  `json:"idempotency_key"`
	Status   int     `json:"status"`
	Seconds  float64 `json:"seconds"`
	Replicas string  `json:"replicas"`
	Statuses string  `json:"replica_statuses"`
}

// asked are the replicas that the request was handed to, in order.
func (r request) asked() []string { return regexp.MustCompile(`[^ ,]+`).FindAllString(r.Replicas, -1) }

// log reads the lines for which which is true.
func (b *balancer) log(g Gomega, which func(request) bool) []request {
	content, err := os.ReadFile(b.logFile())
	g.Expect(err).NotTo(HaveOccurred())
	var found []request
	for line := range strings.Lines(string(content)) {
		if !strings.HasSuffix(line, "\n") {
			break // it is just being written
		}
		var r request
		g.Expect(json.Unmarshal([]byte(line), &r, json.RejectUnknownMembers(true))).To(Succeed(), line)
		if which(r) {
			found = append(found, r)
		}
	}
	return found
}

// logged waits until count such requests have ended: nginx writes a line after its answer.
func (b *balancer) logged(ctx context.Context, count int, which func(request) bool) []request {
	GinkgoHelper()
	var found []request
	Eventually(func(g Gomega) {
		found = b.log(g, which)
		g.Expect(found).To(HaveLen(count))
	}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Succeed())
	return found
}

// with picks the requests of a key, bare or quoted.
func with(key string) func(request) bool {
	return func(r request) bool { return strings.Trim(r.Key, `"`) == key }
}

// at picks the requests for an address.
func at(uri string) func(request) bool {
	return func(r request) bool { return r.URI == uri }
}

// byInstance picks the request that a problem document names.
func byInstance(p problem) func(request) bool {
	return func(r request) bool { return r.Instance == p.Instance }
}

// everybody are the replicas that any of these requests was handed to, sorted.
func everybody(requests []request) []string {
	var all []string
	for _, r := range requests {
		all = append(all, r.asked()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
