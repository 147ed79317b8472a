package secrets_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/secrets"
)

const secret = `sk-proj/Ab+9"\=&?x_Zz~Qw8rTy7uIo`

// planted are the spellings in which a secret may come back.
func planted() map[string]string {
	quoted, _ := json.Marshal(secret)
	nested, _ := json.Marshal(string(quoted))
	percent, unicode := "", ""
	for _, b := range []byte(secret) {
		percent += fmt.Sprintf("%%%02x", b)
		unicode += fmt.Sprintf(`\u00%02X`, b)
	}
	all := map[string]string{
		"plain": secret, "JSON": string(quoted), "JSON within JSON": string(nested),
		"solidus escaped": strings.ReplaceAll(string(quoted), "/", `\/`),
		"query":           "?key=" + url.QueryEscape(secret), "path": url.PathEscape(secret), "lower-case hex": strings.ToLower(url.QueryEscape("/")) + percent,
		"percent twice": url.QueryEscape(url.QueryEscape(secret)), "unicode escapes": unicode,
	}
	for offset := range 3 {
		text := strings.Repeat("u", offset) + secret + ":password"
		for name, encoding := range map[string]*base64.Encoding{"standard": base64.StdEncoding, "for URLs": base64.URLEncoding, "bare": base64.RawStdEncoding} {
			encoded := encoding.EncodeToString([]byte(text))
			all[fmt.Sprintf("base64 %s at offset %d", name, offset)] = "Basic " + encoded
			all[fmt.Sprintf("base64 %s at offset %d, in a query", name, offset)] = "Basic " + url.QueryEscape(encoded)
		}
	}
	return all
}

// left finds eight characters in a row of a spelling that come of the secret, and not of what stands around it.
func left(text, spelling string) string {
	first, last := 0, len(spelling)
	if strings.HasPrefix(spelling, "Basic ") {
		first, last = 12, len(spelling)-26 // what else was encoded
	}
	for i := first; i+8 <= last; i++ {
		if part := spelling[i : i+8]; strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

func TestEverySpellingIsTakenOut(t *testing.T) {
	scrub := secrets.Scrubber{}.With(secret)
	for name, spelling := range planted() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := scrub.Text("before " + spelling + " behind")
			g.Expect(got).To(ContainSubstring("[redacted]"))
			g.Expect(left(got, spelling)).To(BeEmpty(), got)
			g.Expect(got).To(HavePrefix("before "))
			g.Expect(got).To(HaveSuffix(" behind"))
		})
	}
	NewWithT(t).Expect(fmt.Sprintf("%v %+v %#v %s", scrub, scrub, scrub, scrub)).NotTo(ContainSubstring("proj"))
}

func TestWhatIsNoSecretStays(t *testing.T) {
	g := NewWithT(t)
	text := `{"id":"chatcmpl-1","content":"sk-proj is how keys begin; \\n \u0041 %41"}`
	g.Expect(secrets.Scrubber{}.With(secret, "short", "").Text(text)).To(Equal(text))
	g.Expect(secrets.Scrubber{}.With(secret).Bytes([]byte(text))).To(BeEquivalentTo(text))
	g.Expect(secrets.Scrubber{}.Text(secret)).To(Equal(secret))
	g.Expect(secrets.Scrubber{}.With("short").Text("short")).To(Equal("short"), "too short to be looked for")
	encoded := base64.StdEncoding.EncodeToString([]byte("seven77"))
	g.Expect(secrets.Scrubber{}.With("seven77").Text(encoded)).To(Equal(encoded), "also where it is longer than itself")
	g.Expect(secrets.Scrubber{}.With("%41%42%43").Text("ABC")).To(Equal("ABC"), "and where it is shorter")
}

// A redacted JSON text stays JSON.
func TestScrubbedJSONIsJSON(t *testing.T) {
	g := NewWithT(t)
	nested, err := json.Marshal(map[string]string{"echo": `{"key":` + planted()["JSON"] + `}`})
	g.Expect(err).NotTo(HaveOccurred())
	var read map[string]string
	g.Expect(json.Unmarshal([]byte(secrets.Scrubber{}.With(secret).Text(string(nested))), &read)).To(Succeed())
	g.Expect(read).To(HaveKeyWithValue("echo", `{"key":"[redacted]"}`))
}

// Whatever stands around a secret in a JSON text, also in a JSON text within one.
func TestScrubbedJSONStaysJSON(t *testing.T) {
	draw := rand.New(rand.NewPCG(20, 30))
	pieces := []string{`\`, `"`, "\n", "%", "&", "&#", "u00", "n", ";", "25", "{", secret, secret, "é"}
	scrub := secrets.Scrubber{}.With(secret)
	for range 2000 {
		text := ""
		for range 1 + draw.IntN(8) {
			text += pieces[draw.IntN(len(pieces))]
		}
		for range 1 + draw.IntN(3) {
			quoted, err := json.Marshal(map[string]string{"a": text, secret: "b"})
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			text = string(quoted)
		}
		scrubbed := scrub.Text(text)
		NewWithT(t).Expect(jsontext.Value(scrubbed).IsValid()).To(BeTrue(), scrubbed)
		NewWithT(t).Expect(left(scrubbed, secret)).To(BeEmpty(), scrubbed)
	}
}

func TestNames(t *testing.T) {
	g := NewWithT(t)
	scrub := secrets.Named(map[string]string{"alpha": secret, "beta": "another-secret", "gamma": "another-secret", "short": "abc", "none": ""})
	g.Expect(scrub.Names("another%2Dsecret")).To(Equal([]string{"beta", "gamma"}))
	g.Expect(scrub.Names("another-secret and " + secret + " abc")).To(Equal([]string{"alpha", "beta", "gamma"}))
	g.Expect(scrub.Names("nothing")).To(BeEmpty())
	g.Expect(secrets.Scrubber{}.Names(secret)).To(BeEmpty())
	more := scrub.With("a-third-secret", secret)
	g.Expect(more.Text("a-third-secret, another-secret, " + secret)).To(Equal("[redacted], [redacted], [redacted]"))
	g.Expect(more.Names("a-third-secret, another-secret, " + secret)).To(Equal([]string{"alpha", "beta", "gamma"}))
	g.Expect(scrub.Text("a-third-secret")).To(Equal("a-third-secret"), "what was there before knows no more than before")
}

// Of secrets of which one is the beginning of another nothing is left of the longer one.
func TestASecretThatBeginsAnother(t *testing.T) {
	scrub := secrets.Scrubber{}.With("sk-0123456789", "sk-0123456789-and-more", "9-and-more-of-it")
	NewWithT(t).Expect(scrub.Text("a sk-0123456789-and-more, sk-0123456789 b; sk-0123456789-and-more-of-it")).
		To(Equal("a [redacted], [redacted] b; [redacted]"))
}
