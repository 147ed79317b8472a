package cassettes_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/cassettes"
	"github.com/fallproof/fallproof/providers/secrets"
)

const (
	contract = "support-triage"
	target   = "alpha/org/Model 7B:beta"
	address  = "https://alpha.example/v1/chat/completions"
)

func recorded(ex providers.Exchange) cassettes.Cassette {
	return cassettes.Cassette{Contract: contract, Target: target, Source: providers.SourceLive, Interactions: []cassettes.Interaction{{
		Call: cassettes.Call{Case: "ein Fall / שלום %2F", Sample: 2, Try: 1}, AttemptID: "attempt-1", Nonce: "0123456789abcdef",
		Deadline: 1500 * time.Millisecond, URL: address, Exchange: ex,
	}}}
}

func exchange() providers.Exchange {
	started := time.Date(2026, 3, 1, 4, 5, 6, 789, time.UTC)
	return providers.Exchange{
		RequestBody: []byte(`{"model":"x"}`), Wrote: true, Status: 200, Header: http.Header{"Server": {"nginx"}},
		Body: []byte(`{"choices":[]}`), Complete: true, Peer: "203.0.113.7", Started: started, Finished: started.Add(1234567891),
	}
}

// What is played is what was seen, byte for byte, whatever the bytes are.
func TestPlayedIsWhatWasSeen(t *testing.T) {
	for name, change := range map[string]func(*providers.Exchange){
		"an answer":          func(*providers.Exchange) {},
		"no UTF-8":           func(ex *providers.Exchange) { ex.Body = []byte("\xff\xfe{\x00}\x80") },
		"control characters": func(ex *providers.Exchange) { ex.Body = []byte("a\r\nb\tc\x07\u0085\u2028\ufeff") },
		"white space alone":  func(ex *providers.Exchange) { ex.Body = []byte("\n \n\t  \r\n") },
		"like YAML":          func(ex *providers.Exchange) { ex.Body = []byte("--- !!binary |\n  'x': &a [*a]\n...\n# end ") },
		"a word of YAML":     func(ex *providers.Exchange) { ex.Body = []byte("null") },
		"a long line":        func(ex *providers.Exchange) { ex.Body = []byte(strings.Repeat("lorem  ipsum ", 5000)) },
		"right to left":      func(ex *providers.Exchange) { ex.Body = []byte("{\"a\":\"שלום\u202e\u0301\"}") },
		"a larger answer":    func(ex *providers.Exchange) { ex.TooLarge, ex.Complete = true, false },
		"an empty answer":    func(ex *providers.Exchange) { ex.Body, ex.Status = nil, 503 },
		"a response object":  func(ex *providers.Exchange) { ex.Responses = true },
		"no answer": func(ex *providers.Exchange) {
			ex.Status, ex.Body, ex.Header, ex.Complete, ex.Err = 0, nil, nil, false, context.DeadlineExceeded
		},
		"a refused connection": func(ex *providers.Exchange) {
			ex.Status, ex.Body, ex.Wrote, ex.Complete, ex.Err = 0, nil, false, false, errors.New("dial tcp: connection refused")
		},
		"headers of caches": func(ex *providers.Exchange) {
			for _, name := range providers.CacheHeaders {
				ex.Header.Set(name, "HIT")
			}
		},
		"several values of a header": func(ex *providers.Exchange) { ex.Header["Via"] = []string{"1.1 a", "1.1 b"} },
	} {
		t.Run(name, func(t *testing.T) {
			g, folder := NewWithT(t), t.TempDir()
			want := exchange()
			change(&want)
			g.Expect(cassettes.Save(folder, recorded(want), secrets.Scrubber{}.With("sk-0123456789"))).To(Succeed())
			tape, err := cassettes.Load(folder, contract, target)
			g.Expect(err).NotTo(HaveOccurred())
			call := recorded(want).Interactions[0].Call
			g.Expect(tape.Has(call)).To(BeTrue())
			g.Expect(tape.Nonce(call)).To(Equal("0123456789abcdef"))
			g.Expect(tape.AttemptID(call)).To(Equal("attempt-1"))
			g.Expect(tape.Source()).To(Equal(providers.SourceLive))
			got, err := tape.Play(call, address, want.RequestBody)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Deadline).To(Equal(1500 * time.Millisecond))
			if want.Err != nil {
				g.Expect(got.Exchange.Err).To(MatchError(want.Err.Error()))
				g.Expect(errors.Is(got.Exchange.Err, context.DeadlineExceeded)).To(Equal(errors.Is(want.Err, context.DeadlineExceeded)))
			}
			g.Expect(string(got.Exchange.Body)).To(Equal(string(want.Body)))
			g.Expect(got.Exchange.Header).To(HaveLen(len(want.Header)))
			for field, values := range want.Header {
				g.Expect(got.Exchange.Header[field]).To(Equal(values))
			}
			for _, ex := range []*providers.Exchange{&got.Exchange, &want} {
				ex.Err, ex.Body, ex.Header = nil, nil, nil // compared above
			}
			g.Expect(got.Exchange).To(Equal(want))
		})
	}
}

// A call is played for the request that was recorded, and for no other one.
func TestPlaysTheSameRequestOnly(t *testing.T) {
	g, folder := NewWithT(t), t.TempDir()
	g.Expect(cassettes.Save(folder, recorded(exchange()), secrets.Scrubber{})).To(Succeed())
	tape, err := cassettes.Load(folder, contract, target)
	g.Expect(err).NotTo(HaveOccurred())
	call := recorded(exchange()).Interactions[0].Call
	body := exchange().RequestBody
	for range 2 { // as often as one likes
		_, err = tape.Play(call, address, body)
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, err = tape.Play(call, address, append(body, ' '))
	g.Expect(err).To(MatchError(cassettes.ErrChanged))
	_, err = tape.Play(call, address+"/", body)
	g.Expect(err).To(MatchError(cassettes.ErrChanged))
	for _, other := range []cassettes.Call{{Case: call.Case, Sample: 2}, {Case: call.Case, Sample: 1, Try: 1}, {Sample: 2, Try: 1}} {
		_, err = tape.Play(other, address, body)
		g.Expect(err).To(MatchError(cassettes.ErrNotRecorded))
	}
}

// twice repeats a text from a mark on.
func twice(mark string) func(string) string {
	return func(all string) string {
		before, after, _ := strings.Cut(all, mark)
		return before + mark + after + mark + after
	}
}

func TestLoadRefuses(t *testing.T) {
	write := func(t *testing.T, edit func(string) string) string {
		folder := t.TempDir()
		path := cassettes.Path(folder, contract, target)
		g := NewWithT(t)
		g.Expect(cassettes.Save(folder, recorded(exchange()), secrets.Scrubber{})).To(Succeed())
		text, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		edited := edit(string(text))
		g.Expect(edited).NotTo(Equal(string(text)), "the edit must take")
		g.Expect(os.WriteFile(path, []byte(edited), 0o600)).To(Succeed())
		return folder
	}
	replace := func(old, text string) func(string) string {
		return func(all string) string { return strings.Replace(all, old, text, 1) }
	}
	for name, row := range map[string]struct {
		edit func(string) string
		want string
	}{
		"another pair":    {replace(`"target":"alpha/org/Model 7B:beta"`, `"target":"beta/x"`), `it is of "support-triage" at "beta/x"`},
		"no YAML":         {func(string) string { return "--- [" }, "cassette "},
		"another version": {replace("version: 2", "version: 1"), "unsupported cassette version"},
		"strange member":  {replace(`"sample":2`, `"sample":2,"verdict":"certified"`), "unknown object member name"},
		"twice a member":  {replace(`"sample":2`, `"sample":2,"sample":2`), "duplicate object member name"},
		"another call":    {replace(`"sample":2`, `"sample":3`), "X-Fallproof-Sample says"},
		"a call twice":    {twice("    - id: 0"), "is in it twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cassettes.Load(write(t, row.edit), contract, target)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.want)))
		})
	}
	_, err := cassettes.Load(t.TempDir(), contract, target)
	NewWithT(t).Expect(err).To(MatchError(cassettes.ErrNoCassette))
}

// Any target has a file of its own within the folder.
func TestPaths(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]string{}
	for _, each := range []string{
		"a/b", "a/B", "a/b/c", "a-b", "a/../../b", `a\b`, "a/b\x00", "a/" + strings.Repeat("long", 200), "a/שלום", "a/::", "a/.", "con/nul",
	} {
		path := cassettes.Path("folder", "c", each)
		g.Expect(filepath.Dir(path)).To(Equal("folder"), each)
		g.Expect(len(filepath.Base(path))).To(BeNumerically("<", 200), each)
		g.Expect(filepath.Base(path)).To(MatchRegexp(`^[a-z0-9-]+\.[a-z0-9-]+\.[0-9a-f]{12}\.yaml$`), each)
		g.Expect(seen).NotTo(HaveKey(strings.ToLower(path)), each)
		seen[strings.ToLower(path)] = each
	}
}

func TestFilesAreTheirOwnersAlone(t *testing.T) {
	g := NewWithT(t)
	folder := filepath.Join(t.TempDir(), "new", "tapes")
	for range 2 { // the second in place of the first
		g.Expect(cassettes.Save(folder, recorded(exchange()), secrets.Scrubber{})).To(Succeed())
	}
	at, err := os.Stat(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at.Mode().Perm()).To(Equal(os.FileMode(0o700)))
	files, err := os.ReadDir(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(1), "no draft is left")
	info, err := files[0].Info()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	g.Expect(cassettes.Save(folder, cassettes.Cassette{Contract: contract, Target: target}, secrets.Scrubber{})).
		To(MatchError(ContainSubstring("nothing was recorded")))
}
