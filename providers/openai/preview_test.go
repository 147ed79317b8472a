package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

// A preview sends nothing and shows what would be sent, byte for byte, without the key.
func TestPreview(t *testing.T) {
	g := NewWithT(t)
	var sent []byte
	var header http.Header
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		sent, _ = io.ReadAll(r.Body)
		header = r.Header
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	client := openai.New(openai.Config{BaseURL: server.URL + "/v1", APIKey: "sk-secret"})
	defer client.Close()
	request := providers.Request{
		Target:     providers.Target{Provider: "p", Model: "m"},
		Profile:    providers.Profile{Model: "m", IdempotencyHeader: "X-Once"}.WithDefaults(),
		Messages:   []providers.Message{{Role: "user", Content: "{{ <b> }} שלום"}},
		SchemaName: "s", Schema: []byte(`{"type": "object"}`), MaxOutputTokens: 7, AttemptID: "attempt-1",
	}
	address, shown, body, err := client.Preview(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(calls).To(BeZero())
	g.Expect(address).To(Equal(server.URL + "/v1/chat/completions"))
	g.Expect(shown.Get("Authorization")).To(Equal("Bearer [not shown]"))

	client.Send(t.Context(), request)
	g.Expect(calls).To(Equal(1))
	g.Expect(string(body)).To(Equal(string(sent)))
	g.Expect(header.Get("Authorization")).To(Equal("Bearer sk-secret"))
	shown.Set("Authorization", "Bearer sk-secret")
	header.Del("Content-Length")
	g.Expect(shown).To(Equal(header))

	request.AttemptID = ""
	_, _, _, err = client.Preview(request)
	g.Expect(err).To(MatchError(ContainSubstring("no attempt id")))
}
