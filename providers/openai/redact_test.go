package openai_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

// TestKeyIsNeverKept: providers echo keys, above all when they refuse them.
func TestKeyIsNeverKept(t *testing.T) {
	const key = `sk-se/cret"key\tail`
	body := `{"error":{"message":"Incorrect API key: sk-se\/cret\"key\\tail or sk-se/cret\"key\\tail"},"raw":0}` + key +
		"?api-key=" + url.QueryEscape(key) + " Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+key))
	far := listen(t, sends(fmt.Sprintf("HTTP/1.1 401 No\r\nX-Echo: Bearer %s\r\nSet-Cookie: session=1\r\nContent-Length: %d\r\n\r\n%s", key, len(body), body), true))
	r := request()
	ex := far.send(t, t.Context(), client(t, openai.Config{BaseURL: far.url, APIKey: key}), r)

	g := gomega.NewWithT(t)
	g.Expect(far.requests()[0].header.Get("Authorization")).To(gomega.Equal("Bearer " + key))
	everything := fmt.Sprintf("%s %v %v %+v", ex.Body, ex.Header, ex.Err, read(ex))
	g.Expect(everything).NotTo(gomega.ContainSubstring("cret"))
	g.Expect(everything).NotTo(gomega.ContainSubstring("session"))
	g.Expect(everything).NotTo(gomega.ContainSubstring(base64.StdEncoding.EncodeToString([]byte("user:" + key))[8:24]))
	g.Expect(ex.Header.Get("X-Echo")).To(gomega.Equal("Bearer [redacted]"))
	g.Expect(strings.Count(string(ex.Body), "[redacted]")).To(gomega.Equal(5))
	g.Expect(read(ex).Reason).To(gomega.Equal(providers.ReasonUnauthorized))
}

// TestKeyInAPrompt: the far end gets what was asked for, the evidence does not keep it.
func TestKeyInAPrompt(t *testing.T) {
	const key = "sk-secret-key"
	far := listen(t, sends(answer200, true))
	r := request()
	r.Messages[1].Content = "my key is " + key
	ex := client(t, openai.Config{BaseURL: far.url, APIKey: key}).Send(t.Context(), r)

	g := gomega.NewWithT(t)
	g.Expect(string(far.requests()[0].body)).To(gomega.ContainSubstring(key))
	g.Expect(string(ex.RequestBody)).To(gomega.ContainSubstring("my key is [redacted]"))
}

// TestShortKeysGuardNothing: a placeholder such as "test" must not garble every answer that has the word.
func TestShortKeysGuardNothing(t *testing.T) {
	far := listen(t, sends(answer200, true))
	ex := far.send(t, t.Context(), client(t, openai.Config{BaseURL: far.url, APIKey: "content"}), request())
	gomega.NewWithT(t).Expect(string(ex.Body)).To(gomega.Equal(completion))
}
