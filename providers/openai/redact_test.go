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
	"github.com/fallproof/fallproof/providers/secrets"
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

// TestOtherKeysAreNotKept: a provider that is sent another one's key, or told of it, does not get it into the evidence.
func TestOtherKeysAreNotKept(t *testing.T) {
	const ours, theirs = "sk-our-own-key", "0b5e-the-key+of/another"
	body := `{"error":{"message":"not sk-our-own-key, and not 0b5e-the-key&#43;of&#x2f;another"}}`
	far := listen(t, sends(fmt.Sprintf("HTTP/1.1 401 No\r\nX-Echo: %s\r\nContent-Length: %d\r\n\r\n%s", theirs, len(body), body), true))
	r := request()
	r.Messages[1].Content = "the key of the other one is " + theirs
	ex := client(t, openai.Config{BaseURL: far.url, APIKey: ours, Secrets: secrets.Scrubber{}.With(theirs)}).Send(t.Context(), r)

	g := gomega.NewWithT(t)
	g.Expect(far.requests()[0].header.Get("Authorization")).To(gomega.Equal("Bearer " + ours))
	g.Expect(string(far.requests()[0].body)).To(gomega.ContainSubstring(theirs))
	g.Expect(string(ex.RequestBody)).To(gomega.ContainSubstring("the key of the other one is [redacted]"))
	g.Expect(string(ex.Body)).To(gomega.Equal(`{"error":{"message":"not [redacted], and not [redacted]"}}`))
	g.Expect(ex.Header.Get("X-Echo")).To(gomega.Equal("[redacted]"))
}

// TestAKeyThatIsCut: what arrived of a key before the connection was lost, or up to the limit, is not kept either.
func TestAKeyThatIsCut(t *testing.T) {
	const key = "sk-secret/key-of-ours"
	for name, row := range map[string]struct {
		body  string
		limit int64
		want  string
	}{
		"connection lost":           {body: `{"error":{"message":"Incorrect API key: sk-secret/key-of-`, want: `{"error":{"message":"Incorrect API key: [redacted]`},
		"connection lost in escape": {body: `{"error":{"message":"Incorrect API key: sk-secret%2`, want: `{"error":{"message":"Incorrect API key: [redacted]`},
		"size limit":                {body: `{"key":"sk-secret/key-of-ours"}`, limit: 20, want: `{"key":"[redacted]`},
		"too little to be told":     {body: `{"key":"sk-secr`, want: `{"key":"sk-secr`},
	} {
		t.Run(name, func(t *testing.T) {
			far := listen(t, sends("HTTP/1.1 401 No\r\nContent-Length: 100\r\n\r\n"+row.body, false))
			ex := far.send(t, t.Context(), client(t, openai.Config{BaseURL: far.url, APIKey: key, MaxAnswerBytes: row.limit}), request())
			g := gomega.NewWithT(t)
			g.Expect(ex.Complete).To(gomega.BeFalse())
			g.Expect(ex.TooLarge).To(gomega.Equal(row.limit > 0))
			g.Expect(string(ex.Body)).To(gomega.Equal(row.want))
		})
	}
}

// TestShortKeysGuardNothing: a placeholder such as "test" must not garble every answer that has the word.
func TestShortKeysGuardNothing(t *testing.T) {
	far := listen(t, sends(answer200, true))
	ex := far.send(t, t.Context(), client(t, openai.Config{BaseURL: far.url, APIKey: "content"}), request())
	gomega.NewWithT(t).Expect(string(ex.Body)).To(gomega.Equal(completion))
}
