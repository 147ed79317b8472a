package secrets_test

import (
	"encoding/base64"
	"fmt"
	"html"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/secrets"
)

// spellings are ways to write one byte.
var spellings = map[string]func(b byte) string{
	"plain":                 func(b byte) string { return string(b) },
	"percent":               func(b byte) string { return fmt.Sprintf("%%%02X", b) },
	"percent three times":   func(b byte) string { return fmt.Sprintf("%%2525%02x", b) },
	"JSON":                  func(b byte) string { return fmt.Sprintf(`\u00%02x`, b) },
	"JSON within JSON":      func(b byte) string { return fmt.Sprintf(`\\u00%02X`, b) },
	"JSON, its escape also": func(b byte) string { return fmt.Sprintf(`\u005cu00%02X`, b) },
	"JSON in percent":       func(b byte) string { return fmt.Sprintf(`%%5Cu00%02X`, b) },
	"decimal":               func(b byte) string { return fmt.Sprintf("&#%d;", b) },
	"decimal, with zeros":   func(b byte) string { return fmt.Sprintf("&#%07d;", b) },
	"hexadecimal":           func(b byte) string { return fmt.Sprintf("&#x%x;", b) },
	"hexadecimal, capital":  func(b byte) string { return fmt.Sprintf("&#X%04X;", b) },
	"named, where there is a name": func(b byte) string {
		if name := map[byte]string{'+': "plus", '/': "sol", '"': "quot", '&': "amp", '=': "equals", '_': "lowbar", '?': "quest", '\\': "bsol"}[b]; name != "" {
			return "&" + name + ";"
		}
		return string(b)
	},
	"entity twice":           func(b byte) string { return fmt.Sprintf("&amp;#%d;", b) },
	"entity in JSON":         func(b byte) string { return fmt.Sprintf(`\u0026#x%x;`, b) },
	"entity in percent":      func(b byte) string { return fmt.Sprintf("%%26%%23%d%%3B", b) },
	"percent in entity":      func(b byte) string { return fmt.Sprintf("&#37;%02x", b) },
	"JSON in entity":         func(b byte) string { return fmt.Sprintf("&#x5c;u00%02x", b) },
	"entity in JSON in JSON": func(b byte) string { return fmt.Sprintf(`\\u0026#%d;`, b) },
}

func spelled(text string, spell func(byte) string) string {
	var out strings.Builder
	for i := range len(text) {
		out.WriteString(spell(text[i]))
	}
	return out.String()
}

func TestEverySpellingOfEveryByte(t *testing.T) {
	scrub := secrets.Scrubber{}.With(secret)
	for name, spell := range spellings {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(scrub.Text(spelled(secret, spell))).To(Equal("[redacted]"))
			g.Expect(scrub.Text(`{"a":"` + spelled(secret, spell) + `;"}`)).To(Equal(`{"a":"[redacted];"}`))
			for i := range len(secret) { // and of each byte alone
				one := secret[:i] + spell(secret[i]) + secret[i+1:]
				g.Expect(scrub.Text("é "+one+" é")).To(Equal("é [redacted] é"), one)
			}
		})
	}
}

// HTML's names are read as HTML reads them, and what it does not read stays.
func TestEntitiesAreThoseOfHTML(t *testing.T) {
	const prefix = "secret: "
	for b := byte('!'); b <= '~'; b++ {
		scrub := secrets.Scrubber{}.With("Q7w-" + strings.Repeat(string(b), 3) + "-Zx9")
		for _, name := range []string{
			"excl", "quot", "QUOT", "num", "dollar", "percnt", "amp", "AMP", "apos", "lpar", "rpar", "ast", "midast", "plus", "comma", "period",
			"sol", "colon", "semi", "lt", "LT", "equals", "gt", "GT", "quest", "commat", "lsqb", "lbrack", "bsol", "rsqb", "rbrack", "Hat",
			"lowbar", "UnderBar", "grave", "DiacriticalGrave", "lcub", "lbrace", "verbar", "vert", "VerticalLine", "rcub", "rbrace",
			"hyphen", "dash", "tilde", "nbsp", "#300", "#x12b", "#", "#x", "nothing",
		} {
			entity := "&" + name + ";"
			text := prefix + "Q7w-" + strings.Repeat(entity, 3) + "-Zx9"
			want := text
			if html.UnescapeString(entity) == string(b) || b == '\\' && html.UnescapeString(entity) == "" {
				want = prefix + "[redacted]"
			}
			NewWithT(t).Expect(scrub.Text(text)).To(Equal(want), "%c", b)
		}
	}
}

// A secret that the end of a text cuts is taken out from its eighth character on, wherever in it, or within the
// spelling of one character, the cut goes through.
func TestASecretThatIsCutOff(t *testing.T) {
	scrub := secrets.Scrubber{}.With("another-secret-of-somebody", secret)
	for name, spell := range spellings {
		t.Run(name, func(t *testing.T) {
			for whole := range len(secret) {
				for part := range len(spell(secret[whole])) {
					text := "before " + spelled(secret[:whole], spell) + spell(secret[whole])[:part]
					want := "before [redacted]"
					if whole < secrets.MinLength {
						want = text
					}
					NewWithT(t).Expect(string(scrub.CutOff([]byte(text)))).To(Equal(want), text)
				}
			}
			text := "before " + spelled(secret, spell)
			NewWithT(t).Expect(string(scrub.CutOff([]byte(text + " behind")))).To(Equal("before [redacted] behind"))
			NewWithT(t).Expect(string(scrub.CutOff([]byte(text)))).To(Equal("before [redacted]"))
		})
	}
	for offset := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", offset) + secret))
		before := (offset*8 + 5) / 6 // digits that are not the secret's alone
		for cut := before + secrets.MinLength; cut < len(encoded)-4; cut++ {
			NewWithT(t).Expect(string(scrub.CutOff([]byte("Basic " + encoded[:cut])))).To(Equal("Basic " + encoded[:before] + "[redacted]"))
		}
	}
}

// CutOff leaves what it was given as it was.
func TestCutOffChangesACopy(t *testing.T) {
	g := NewWithT(t)
	whole := []byte("before " + secret[:20] + " and what is behind")
	g.Expect(string(secrets.Scrubber{}.With(secret).CutOff(whole[:27]))).To(Equal("before [redacted]"))
	g.Expect(string(whole)).To(Equal("before " + secret[:20] + " and what is behind"))
	g.Expect(secrets.Scrubber{}.CutOff(whole)).To(Equal(whole))
	g.Expect(secrets.Scrubber{}.With(secret).CutOff(nil)).To(BeEmpty())
	g.Expect(string(secrets.Scrubber{}.With(secret).CutOff([]byte(secret[:7])))).To(Equal(secret[:7]), "too little to be told from other text")
}

// Secrets are found in any mixture of spellings, also next to text that looks like the beginning of an escape or
// its end, and what stands around them stays, but for the escape that took a part of one along.
func TestMixturesOfSpellings(t *testing.T) {
	draw := rand.New(rand.NewPCG(2030, 12))
	pick := func(from string, n int) string {
		var text strings.Builder
		for range n {
			text.WriteByte(from[draw.IntN(len(from))])
		}
		return text.String()
	}
	var ways []func(byte) string
	for _, name := range []string{"plain", "percent", "percent three times", "JSON", "JSON within JSON", "decimal", "hexadecimal", "entity in JSON"} {
		ways = append(ways, spellings[name], spellings["plain"])
	}
	for range 2000 {
		secret := pick("abcdefghijABCDEFGHIJ0123456789-_/+=", 12+draw.IntN(30))
		spelling := spelled(secret, func(b byte) string { return ways[draw.IntN(len(ways))](b) })
		before, behind := pick(`%\u025aF"{: x&#;`, draw.IntN(8)), pick(`%\u025aF"{: x&#;`, draw.IntN(8))
		left, right, found := strings.Cut(secrets.Scrubber{}.With(secret).Text(before+spelling+behind), secrets.Redacted)
		if !found || !strings.HasPrefix(before, left) || !strings.HasSuffix(behind, right) {
			t.Fatalf("of %q in %q, %q and %q is left %q and %q", secret, before, spelling, behind, left, right)
		}
	}
}
