package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

func native(path, body string) providers.Request {
	return providers.Request{AttemptID: "an-id", Native: &providers.Native{Path: path, Body: []byte(body)}}
}

// A question goes beside the version, once, with the key and the attempt's id, and the key is in nothing
// that comes back.
func TestSendNative(t *testing.T) {
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

	ex := client.Send(t.Context(), native("/tokenize", `{"content":"x"}`))
	g.Expect(ex.Err).NotTo(gomega.HaveOccurred())
	g.Expect([]any{ex.Status, ex.Complete, ex.Peer, string(ex.RequestBody)}).To(gomega.Equal([]any{200, true, "127.0.0.1", `{"content":"x"}`}))
	g.Expect(string(ex.Body)).To(gomega.ContainSubstring(`"tokens":[1]`))
	g.Expect(string(ex.Body)).NotTo(gomega.ContainSubstring("secret-key-1"))
	g.Expect(asked).To(gomega.HaveLen(1))
	g.Expect(bodies[0]).To(gomega.Equal(`{"content":"x"}`))
	g.Expect(asked[0].Header.Get("X-Fallproof-Attempt")).To(gomega.Equal("an-id"))
	g.Expect(asked[0].Header.Get("Authorization")).To(gomega.Equal("Bearer secret-key-1"))

	ex = client.Send(t.Context(), native("/moved", `{}`))
	g.Expect(ex.Status).To(gomega.Equal(307))
	g.Expect(asked).To(gomega.HaveLen(2), "a redirect is not followed")

	address, body, err := client.Draft(native("/tokenize", `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(address).To(gomega.Equal(server.URL + "/tokenize"))
	g.Expect(string(body)).To(gomega.Equal(`{}`))
	g.Expect(asked).To(gomega.HaveLen(2), "a draft asks nobody")

	server.Close()
	ex = client.Send(t.Context(), native("/tokenize", `{}`))
	g.Expect(ex.Err).To(gomega.HaveOccurred())
	g.Expect(ex.Status).To(gomega.BeZero())
	ex = openai.New(openai.Config{BaseURL: "nowhere"}).Send(t.Context(), native("/tokenize", ""))
	g.Expect(ex.Unbuildable).To(gomega.BeTrue())
}
