package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/openai"
)

// A question goes beside the version, once, with the key and the attempt's id, and the key is in nothing
// that comes back.
func TestAskNative(t *testing.T) {
	g := gomega.NewWithT(t)
	var asked []*http.Request
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked, bodies = append(asked, r), append(bodies, string(body))
		switch r.URL.Path {
		case "/tokenize":
			_, _ = io.WriteString(w, `{"tokens":[1],"echo":"`+r.Header.Get("Authorization")+`"}`)
		case "/moved":
			http.Redirect(w, r, "/tokenize", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	client := openai.New(openai.Config{BaseURL: server.URL + "/v1/", APIKey: "secret-key-1"})
	defer client.Close()

	ex := client.AskNative(t.Context(), "an-id", "/tokenize", []byte(`{"content":"x"}`))
	g.Expect(ex.Err).NotTo(gomega.HaveOccurred())
	g.Expect([]any{ex.Status, ex.Complete, ex.Peer, string(ex.RequestBody)}).To(gomega.Equal([]any{200, true, "127.0.0.1", `{"content":"x"}`}))
	g.Expect(string(ex.Body)).To(gomega.ContainSubstring(`"tokens":[1]`))
	g.Expect(string(ex.Body)).NotTo(gomega.ContainSubstring("secret-key-1"))
	g.Expect(asked).To(gomega.HaveLen(1))
	g.Expect(bodies[0]).To(gomega.Equal(`{"content":"x"}`))
	g.Expect(asked[0].Header.Get("X-Fallproof-Attempt")).To(gomega.Equal("an-id"))
	g.Expect(asked[0].Header.Get("Authorization")).To(gomega.Equal("Bearer secret-key-1"))

	ex = client.AskNative(t.Context(), "an-id", "/moved", []byte(`{}`))
	g.Expect(ex.Status).To(gomega.Equal(307))
	g.Expect(asked).To(gomega.HaveLen(2), "a redirect is not followed")

	server.Close()
	ex = client.AskNative(t.Context(), "an-id", "/tokenize", []byte(`{}`))
	g.Expect(ex.Err).To(gomega.HaveOccurred())
	g.Expect(ex.Status).To(gomega.BeZero())
	ex = openai.New(openai.Config{BaseURL: "nowhere"}).AskNative(t.Context(), "an-id", "/tokenize", nil)
	g.Expect(ex.Unbuildable).To(gomega.BeTrue())
}

func TestAskNativeHasALimit(t *testing.T) {
	g := gomega.NewWithT(t)
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has gone
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	client := openai.New(openai.Config{BaseURL: server.URL, LookTimeout: 50 * time.Millisecond})
	defer client.Close()
	ex := client.AskNative(t.Context(), "an-id", "/tokenize", []byte(`{}`))
	g.Expect(ex.Err).To(gomega.MatchError(gomega.ContainSubstring("deadline exceeded")))
	<-gone
}
