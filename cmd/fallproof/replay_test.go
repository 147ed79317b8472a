package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"
)

// certify runs the verb in a process of its own, since Ginkgo runs once in each.
func (s *terminal) certify(more ...string) (int, string) {
	s.t.Helper()
	command := s.process(s.t.Context(), append([]string{"certify"}, more...)...)
	output, _ := command.CombinedOutput()
	return command.ProcessState.ExitCode(), string(output)
}

const recordedConfig = `
server: {accept_sources: [%[3]s]}
providers:
  sim: {base_url: %[1]s, source: live, %[2]s models: {faithful: {}, plausible: {}}}
routes:
  support-triage: {primary: sim/plausible, fallbacks: [sim/faithful]}
`

// echoing is a gateway that tells everybody the key that it was given: in headers, in cookies and in the
// answer's text.
func echoing(t *testing.T, base string) string {
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: func(r *http.Response) error {
			key := strings.TrimPrefix(r.Request.Header.Get("Authorization"), "Bearer ")
			basic := base64.StdEncoding.EncodeToString([]byte("user:" + key))
			r.Header.Set("Set-Cookie", "session="+key)
			r.Header.Set("Openai-Organization", "org-of-the-account")
			r.Header.Set("Server", "gateway "+url.QueryEscape(key))
			r.Header.Set("Via", basic)
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			said, _ := json.Marshal(key + " " + url.PathEscape(key) + " " + basic)
			body = bytes.Replace(body, []byte(`"object"`), append(append([]byte(`"echo":`), said...), `,"object"`...), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Del("Content-Length")
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL + target.Path
}

// A night is recorded with a key and replayed without one and without the provider: judged the same, worth
// less, never in place of the live proof.
func TestRecordAndReplay(t *testing.T) {
	s := newTerminal(t)
	const key = "sk-proj/Qw8+rTy7=uIo5Pa3"
	s.env["SIM_KEY"] = key
	base, stop := s.background("simulate", "--listen", "127.0.0.1:0")
	server := echoing(t, base)
	configure := func(more, accept string) {
		s.write("fallproof.yaml", fmt.Sprintf(recordedConfig, server, "api_key_env: SIM_KEY, "+more, accept))
	}
	configure("", "live")
	code, output := s.certify("--record", "tapes", "--json", "first.json")
	s.Expect(code).To(gomega.Equal(exitNo), output)
	s.Expect(output).To(gomega.ContainSubstring("recorded support-triage at sim/faithful: 43 calls in tapes"))

	kept := 0
	s.Expect(filepath.WalkDir("tapes", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		kept++
		text, err := os.ReadFile(path)
		s.Expect(string(text)).To(gomega.ContainSubstring(`"echo":"[redacted]`), "the gateway did tell")
		for _, gone := range []string{
			key, url.QueryEscape(key), url.PathEscape(key), "Qw8", "rTy7", base64.StdEncoding.EncodeToString([]byte("user:" + key))[7:30],
			"session", "org-of-the-account", "Authorization",
		} {
			s.Expect(string(text)).NotTo(gomega.ContainSubstring(gone), path)
		}
		return err
	})).To(gomega.Succeed())
	s.Expect(kept).To(gomega.Equal(2))

	// Elsewhere: no key, no provider, another store.
	stop()
	delete(s.env, "SIM_KEY")
	s.env["DATABASE_URL"] = "sqlite:elsewhere.db"
	code, output = s.certify("--replay", "tapes", "--json", "second.json")
	s.Expect(code).To(gomega.Equal(exitNo), output)
	s.Expect(output).To(gomega.ContainSubstring("a replay of recorded answers: nobody was called"))
	first, second := s.records("first.json"), s.records("second.json")
	s.Expect(second).To(gomega.HaveLen(2))
	for i := range second {
		s.Expect(second[i].Source).To(gomega.Equal("replay"))
		s.Expect(second[i].warned("replayed")).To(gomega.BeTrue())
		s.Expect(second[i].warned("recorded_simulated")).To(gomega.BeTrue(), "a loopback address was talked to")
		s.Expect(first[i].Source).To(gomega.Equal("simulated"))
		second[i].RunID = first[i].RunID
		second[i].Source, second[i].Warnings = first[i].Source, first[i].Warnings
		s.Expect(second[i]).To(gomega.Equal(first[i]))
	}
	no := s.run("can-failover", "--contract", "support-triage", "--to", "sim/faithful")
	s.Expect(no.code).To(gomega.Equal(exitNo))
	s.Expect(no.stdout).To(gomega.ContainSubstring("source_not_accepted"))
	configure("", "live, replay")
	s.must("can-failover", "--contract", "support-triage", "--to", "sim/faithful")
}

// The proof of a live run outlives every replay after it, whatever that says.
func TestAReplayDisplacesNoLiveProof(t *testing.T) {
	s := newTerminal(t)
	base, _ := s.background("simulate", "--listen", "127.0.0.1:0")
	s.write("fallproof.yaml", fmt.Sprintf(recordedConfig, base, "live_on_loopback: true,", "live"))
	pair := []string{"--contract", "support-triage", "--target", "sim/faithful"}
	code, output := s.certify(append(pair, "--record", "tapes", "--json", "live.json", "--run", "tonight")...)
	s.Expect(code).To(gomega.Equal(exitOK), output)
	s.Expect(s.records("live.json")[0].Source).To(gomega.Equal("live"))
	proof := s.must("can-failover", "--contract", "support-triage", "--to", "sim/faithful")

	code, output = s.certify(append(pair, "--replay", "tapes", "--json", "replay.json")...)
	s.Expect(code).To(gomega.Equal(exitOK), output)
	s.Expect(s.records("replay.json")[0].Source).To(gomega.Equal("replay"))
	s.Expect(s.must("can-failover", "--contract", "support-triage", "--to", "sim/faithful")).To(gomega.Equal(proof))

	// Not even a recording of nothing: it is inconclusive, and exit 3.
	s.Expect(os.Mkdir("empty", 0o700)).To(gomega.Succeed())
	code, output = s.certify(append(pair, "--replay", "empty")...)
	s.Expect(code).To(gomega.Equal(exitInconclusive), output)
	s.Expect(output).To(gomega.ContainSubstring("nothing was recorded of this contract at this target"))
	s.Expect(s.must("can-failover", "--contract", "support-triage", "--to", "sim/faithful")).To(gomega.Equal(proof))

	code, output = s.certify(append(pair, "--replay", "tapes", "--run", "tonight")...)
	s.Expect(code).To(gomega.Equal(exitUsage), output)
	s.Expect(output).To(gomega.ContainSubstring("replay recorded ones under another --run name\n"))
	s.Expect(strings.Count(output, "\n")).To(gomega.Equal(1), output)
	s.Expect(s.refuses(exitUsage, append([]string{"certify", "--replay", "live.json"}, pair...)...)).To(
		gomega.Equal("--replay: live.json is a file, and no folder of cassettes; certify --record DIR makes one"))
}

// recordRead is what these tests compare of a record.
type recordRead struct {
	Target       string           `json:"target"`
	Verdict      string           `json:"verdict"`
	Source       string           `json:"source"`
	Dimensions   []map[string]any `json:"dimensions"`
	Latency      map[string]any   `json:"latency"`
	Parameters   map[string]any   `json:"parameters"`
	ServedModels []string         `json:"served_models"`
	Planned      int              `json:"planned"`
	Taken        int              `json:"taken"`
	ProofDigest  string           `json:"proof_digest"`
	RunID        string           `json:"run_id"`
	Warnings     []struct {
		Reason string `json:"reason"`
	} `json:"warnings"`
}

func (r recordRead) warned(reason string) bool {
	for _, warning := range r.Warnings {
		if warning.Reason == reason {
			return true
		}
	}
	return false
}

func (s *terminal) records(path string) []recordRead {
	s.t.Helper()
	text, err := os.ReadFile(path)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	var document struct {
		Records []recordRead `json:"records"`
	}
	s.Expect(json.Unmarshal(text, &document)).To(gomega.Succeed())
	return document.Records
}
