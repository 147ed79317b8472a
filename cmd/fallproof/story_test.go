package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
)

// sources is the module's folder; tests run in others.
var sources = func() string {
	here, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return filepath.Dir(filepath.Dir(here))
}()

const storyConfig = `
server: {listen: 127.0.0.1:0, accept_sources: [simulated], shutdown_timeout: 100ms}
providers:
  sim: {base_url: %[1]s, source: simulated, timeout: 10s, models: {faithful: {}, plausible: {}}}
  hasty: {base_url: %[1]s, source: simulated, timeout: 20ms, models: {silent: {}}}
routes:
  support-triage: {primary: sim/faithful, fallbacks: [sim/plausible]}
`

// background starts a verb that serves until the test ends, in this process, and returns the address
// that its first line names. stop ends it and returns its exit code.
func (s *terminal) background(args ...string) (address string, stop func() int) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, args, strings.NewReader(""), writer, s.t.Output(), s.getenv)
		_ = writer.Close() // a pipe always closes
	}()
	stop = sync.OnceValue(func() int {
		cancel()
		return <-ended
	})
	s.t.Cleanup(func() { stop() })
	return s.firstAddress(reader), stop
}

func (s *terminal) firstAddress(stdout io.Reader) string {
	s.t.Helper()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	s.Expect(err).NotTo(gomega.HaveOccurred())
	_, address, found := strings.Cut(strings.TrimSpace(line), "http://")
	s.Expect(found).To(gomega.BeTrue(), line)
	return "http://" + address
}

func TestFromCertifyToAResolvedDoubt(t *testing.T) {
	s := newTerminal(t)
	base, _ := s.background("simulate", "--listen", "127.0.0.1:0")
	s.write("fallproof.yaml", fmt.Sprintf(storyConfig, base))

	// can-failover says no with a reason and a remedy; certify changes that for one of two.
	no := s.run("can-failover", "--contract", "support-triage", "--to", "sim/faithful")
	s.Expect(no.code).To(gomega.Equal(exitNo), no.stderr)
	s.Expect(no.stdout).To(gomega.ContainSubstring("no_certification"))
	s.Expect(no.stdout).To(gomega.ContainSubstring("fallproof certify --contract support-triage --target sim/faithful"))
	output, err := s.process(t.Context(), "certify", "--json", "records.json", "--junit", "report.xml").CombinedOutput()
	s.Expect(err).To(gomega.MatchError("exit status 1"), string(output)) // plausible is rejected
	s.Expect("report.xml").To(gomega.BeARegularFile())
	yes := s.must("can-failover", "--contract", "support-triage", "--to", "sim/faithful")
	s.Expect(yes).To(gomega.HavePrefix("yes: sim/faithful may stand in under support-triage until "))
	var answer verdict
	rejected := s.run("can-failover", "--contract", "support-triage", "--to", "sim/plausible", "--json")
	s.Expect(rejected.code).To(gomega.Equal(exitNo))
	s.Expect(json.Unmarshal([]byte(rejected.stdout), &answer)).To(gomega.Succeed())
	s.Expect(answer.Reasons).To(gomega.Equal([]certification.Reason{certification.ReasonRejected}))

	// Records are listed, shown and revoked.
	shown := s.must("certifications", "show", *answer.CertificationID)
	s.Expect(shown).To(gomega.ContainSubstring("support-triage at sim/plausible: rejected"))
	s.Expect(shown).To(gomega.ContainSubstring("business: failed, 0 of"))
	var page struct {
		Items []recordView `json:"items"`
	}
	s.Expect(json.Unmarshal([]byte(s.must("certifications", "list", "--target", "sim/faithful", "--json")), &page)).To(gomega.Succeed())
	s.Expect(page.Items).To(gomega.HaveLen(1))
	s.Expect(s.must("certifications", "list")).To(gomega.ContainSubstring("sim/plausible"))
	s.must("certifications", "revoke", page.Items[0].ID, "--reason", "the story goes on")
	s.Expect(s.run("can-failover", "--contract", "support-triage", "--to", "sim/faithful").stdout).To(gomega.ContainSubstring("revoked: "))
	s.Expect(s.must("certifications", "show", page.Items[0].ID)).To(gomega.ContainSubstring("the story goes on"))
	s.Expect(s.refuses(exitNo, "certifications", "show", "nothing")).To(gomega.HavePrefix(`no certification has the id "nothing"; `))

	s.resolvesADoubt()
}

// resolvesADoubt goes on with the service and its client verbs.
func (s *terminal) resolvesADoubt() {
	s.t.Helper()
	url, stop := s.background("serve")
	s.env[urlVariable] = url
	s.env[keyVariable] = strings.TrimSpace(s.must("keys", "create", "--owner", "acme", "--scope", "client,operator"))
	s.Expect(s.must("jobs", "list")).To(gomega.HavePrefix("ID "))
	id := s.post(url, "click", "hasty/silent")

	s.Expect(s.must("jobs", "get", id, "--wait", "20")).To(gomega.HavePrefix("job " + id + " is unknown\n"))
	s.Expect(s.must("jobs", "attempts", id)).To(gomega.MatchRegexp(`1 +unknown +primary +hasty/silent +timeout +1 `))
	s.Expect(s.refuses(exitNo, "jobs", "resolve", id, "1", "--outcome", "succeeded", "--result", "{}", "--note", "n")).
		To(gomega.ContainSubstring("(422 invalid-input)"))
	s.write("answer.json", `{"category":"billing","urgency":"normal","language":"en","legal_threat":false,"safety_hazard":false,"reference":"SO-48213"}`)
	s.Expect(s.must("jobs", "resolve", id, "1", "--outcome", "succeeded", "--result", "@answer.json", "--note", "found in their log")).
		To(gomega.ContainSubstring("is succeeded"))
	s.Expect(s.must("jobs", "get", id)).To(gomega.ContainSubstring(`"reference":"SO-48213"`))
	s.Expect(s.must("jobs", "list", "--state", "succeeded", "--json")).To(gomega.ContainSubstring(id))
	s.Expect(s.refuses(exitNo, "jobs", "release", id, "1")).To(gomega.ContainSubstring("(409 illegal-transition)"))
	s.Expect(s.refuses(exitNo, "jobs", "cancel", id)).To(gomega.ContainSubstring("(409 job-final)"))
	s.Expect(s.refuses(exitNo, "jobs", "get", "nothing")).To(gomega.ContainSubstring("(404 not-found)"))

	second := s.post(url, "second click", "hasty/silent")
	s.must("jobs", "get", second, "--wait", "20")
	s.Expect(s.must("jobs", "release", second, "1", "--note", "n")).To(gomega.ContainSubstring("is released"))
	s.Expect(s.must("jobs", "cancel", second, "1")).To(gomega.ContainSubstring("is cancelled"))
	s.Expect(s.must("jobs", "get", second, "--wait", "20")).To(gomega.ContainSubstring("not sim/faithful: revoked"),
		"nor may the route's primary stand in without proof")
	s.Expect(stop()).To(gomega.Equal(exitOK))
	s.Expect(s.run("jobs", "list").code).To(gomega.Equal(exitNo), "nobody listens any more")
}

// post creates a job as any client would, and returns its id.
func (s *terminal) post(url, key, target string) string {
	s.t.Helper()
	body := fmt.Sprintf(`{"contract": "support-triage", "target": %q, "input": {"message": "you charged me twice for order #SO-48213"}}`, target)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, url+"/v1/jobs", strings.NewReader(body))
	s.Expect(err).NotTo(gomega.HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+s.env[keyVariable])
	request.Header.Set("Idempotency-Key", strings.ReplaceAll(key, " ", "-"))
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(response.StatusCode).To(gomega.Equal(http.StatusCreated), string(content))
	var made shownJob
	s.Expect(json.Unmarshal(content, &made)).To(gomega.Succeed())
	return made.ID
}

func TestServeEndsOnASignalAndLeavesDoubtBehind(t *testing.T) {
	s := newTerminal(t)
	base, _ := s.background("simulate", "--listen", "127.0.0.1:0")
	s.write("fallproof.yaml", fmt.Sprintf(`
server: {listen: 127.0.0.1:0, shutdown_timeout: 100ms}
providers:
  slow: {base_url: %s, timeout: 20s, models: {silent: {}}}
routes:
  support-triage: {primary: slow/silent}
`, base))
	s.env[keyVariable] = strings.TrimSpace(s.must("keys", "create", "--owner", "acme"))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	process := s.process(ctx, "serve")
	stdout, err := process.StdoutPipe()
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(process.Start()).To(gomega.Succeed())
	url := s.firstAddress(stdout)
	s.env[urlVariable] = url
	id := s.post(url, "click", "slow/silent")
	s.Expect(process.Process.Signal(syscall.SIGTERM)).To(gomega.Succeed())
	s.Expect(process.Wait()).To(gomega.Succeed())

	url, _ = s.background("serve")
	s.env[urlVariable] = url
	s.Expect(s.must("jobs", "attempts", id)).To(gomega.MatchRegexp(`1 +unknown +primary +slow/silent +shutdown +1 `))
}
