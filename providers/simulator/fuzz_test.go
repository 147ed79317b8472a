package simulator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzReaders feeds the readers what no table thought of: whatever arrives is answered, by JSON
// that is valid.
func FuzzReaders(f *testing.F) {
	for _, contract := range []string{"invoice-extraction", "support-triage"} {
		for _, c := range catalogCases(f, contract) {
			f.Add(c.Input["document"] + c.Input["message"])
		}
	}
	for _, c := range meetingCases(f) {
		f.Add(c.Input.Minutes)
	}
	f.Add("1 2 350,00 2 350,00\nTotal\n€")
	f.Add("99.99.9999 31/02/2026 x 1x1=1 (1) -1- 1,2,3.4.5 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		met := meetingOf("Day of the meeting: 2026-03-11\nAttendees: Anna Berg; Dr. Lena Vogt; יוסי כהן\n", text)
		for _, answer := range []*object{readInvoice(text).fields(), readTriage(text).fields(), met.fields()} {
			if encoded := encode(answer); !jsontext.Value(encoded).IsValid(jsontext.AllowInvalidUTF8(true)) {
				t.Fatalf("not JSON: %s", encoded)
			}
		}
	})
}

// FuzzRequests sends whatever comes to mind to both paths, and asks about it: every answer is JSON.
func FuzzRequests(f *testing.F) {
	body, _ := sample(f, "faithful")
	f.Add(string(body), "metadata[k]=v&limit=3")
	f.Add(`{"model":"faithful","store":true,"metadata":{"k":"v"},"messages":[{"role":"user","content":"json"}]}`, "metadata[k]=v")
	f.Add(`{"model":"faithful","input":"json","background":true,"text":{"format":{"type":"json_object"}}}`, "order=desc&after=x")
	f.Add(`{"model":"faithful","input":[{"role":"user","content":[{"type":"input_text"}]}],"text":null}`, "metadata[]=&%")
	f.Fuzz(func(t *testing.T, body, query string) {
		if p, _ := personalityInName(modelOf([]byte(body))); p != (Personality{}) && p.Kind != Faithful || p.Hold {
			return // what waits or breaks off by its nature has tests of its own
		}
		s := New(Config{})
		defer s.Close()
		for _, path := range []string{pathCompletions, pathResponses} {
			questioned := httptest.NewRequest(http.MethodGet, path, http.NoBody)
			questioned.URL.RawQuery = query
			for _, r := range []*http.Request{httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)), questioned} {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if !jsontext.Value(w.Body.Bytes()).IsValid(jsontext.AllowInvalidUTF8(true)) {
					t.Fatalf("%s %s: not JSON: %s", r.Method, path, w.Body)
				}
			}
		}
	})
}
