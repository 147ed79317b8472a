package cassettes_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/cassettes"
	"github.com/fallproof/fallproof/providers/secrets"
)

const secret = `sk-proj/Ab+9"\=&?x_Zz~Qw8rTy7uIo`

// planted are some of the spellings in which a secret may come back.
func planted() map[string]string {
	quoted, _ := json.Marshal(secret)
	return map[string]string{
		"plain": secret, "JSON": string(quoted), "query": "?key=" + url.QueryEscape(secret),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)),
	}
}

// left finds eight characters in a row of a spelling .
func left(text, spelling string) string {
	for i := strings.Index(spelling, "=") + 1; i+8 <= len(spelling); i++ {
		if part := spelling[i : i+8]; strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// The secret is planted wherever an exchange has a place for it, and searched in every byte of the folder.
func TestNoSecretReachesTheDisk(t *testing.T) {
	for name, spelling := range planted() {
		t.Run(name, func(t *testing.T) {
			g, folder := NewWithT(t), t.TempDir()
			ex := exchange()
			ex.RequestBody = []byte("body " + spelling)
			ex.Body = []byte("answer " + spelling)
			ex.Err = errors.New("error " + spelling)
			ex.Header = http.Header{
				"Authorization": {"Bearer " + secret}, "Set-Cookie": {"session=" + spelling, "__cf_bm=cookie-value"}, "Cookie": {"a=cookie-value"},
				"Openai-Organization": {"org-planted"}, "Openai-Project": {"proj-planted"}, "X-Request-Id": {"req-planted"},
				"Server": {"nginx " + spelling}, "Via": {spelling}, "X-Api-Key": {spelling}, "X-Unheard-Of": {"unheard-planted"},
			}
			all := recorded(ex)
			all.Interactions[0].URL = "https://alpha.example/" + url.PathEscape(spelling) + "/v1?key=" + url.QueryEscape(spelling)
			all.Interactions[0].AttemptID = spelling
			g.Expect(cassettes.Save(folder, all, secrets.Scrubber{}.With(secret))).To(Succeed())
			files, err := filepath.Glob(filepath.Join(folder, "*"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(files).To(HaveLen(1))
			text, err := os.ReadFile(files[0])
			g.Expect(err).NotTo(HaveOccurred())
			for _, gone := range []string{"planted", "cookie-value", "session", "Authorization", "Organization", "Set-Cookie"} {
				g.Expect(string(text)).NotTo(ContainSubstring(gone))
			}
			g.Expect(left(string(text), spelling)).To(BeEmpty())
			g.Expect(left(string(text), secret)).To(BeEmpty())
			g.Expect(left(string(text), url.QueryEscape(secret))).To(BeEmpty())
			g.Expect(strings.Count(string(text), "[redacted]")).To(BeNumerically(">=", 8), "in every place that is kept")
		})
	}
}
