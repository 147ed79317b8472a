package cassettes

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// minSecret is the length from which a secret is looked for. Shorter ones guard nothing, and taking them out
// would garble ordinary text.
const minSecret = 8

// Scrubber takes secrets out of text. The zero value knows none. It prints as nothing, wherever it ends up.
type Scrubber struct{ patterns []*regexp.Regexp }

// NewScrubber knows the secrets in every spelling in which they are likely to come back: as they are,
// percent-encoded in part or as a whole, escaped in JSON (also in JSON within a JSON string), and within
// base64 at any offset, in both alphabets, itself escaped or not.
func NewScrubber(secrets ...string) Scrubber {
	var s Scrubber
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		for _, form := range forms(secret) {
			s.patterns = append(s.patterns, spellings(form))
		}
	}
	return s
}

// String keeps the secrets out of logs.
func (Scrubber) String() string { return "scrubber" }

// GoString does so for %#v.
func (Scrubber) GoString() string { return "cassettes.Scrubber{…}" }

// Text is text without the secrets.
func (s Scrubber) Text(text string) string {
	for _, pattern := range s.patterns {
		text = pattern.ReplaceAllLiteralString(text, redacted)
	}
	return text
}

// forms are a secret and the cores that it leaves in base64: what of the encoding depends on the secret
// alone, for each of the three offsets at which it can begin. The longest come first, so that no part of one
// is left.
func forms(secret string) []string {
	found := []string{secret}
	for offset := range 3 {
		padded := strings.Repeat("\x00", offset) + secret
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(padded))
			first := (offset*8 + 5) / 6 // digits that hold a bit of what stands before
			last := len(padded) * 8 / 6 // digits that hold a bit of what stands behind
			if core := encoded[first:last]; len(core) >= minSecret {
				found = append(found, core)
			}
		}
	}
	return found
}

const backslash = `(?:\\|%%(?:25)*5[cC])`

// spellings matches a text byte by byte, each one plain, percent-encoded or escaped as in JSON, behind any
// number of backslashes, which may be percent-encoded in their turn.
func spellings(text string) *regexp.Regexp {
	var pattern strings.Builder
	for i := range len(text) {
		b := text[i]
		fmt.Fprintf(&pattern, `(?:`+backslash+`*(?:%s|%%(?:25)*(?i:%02x))|`+backslash+`+u00(?i:%02x))`, regexp.QuoteMeta(string(rune(b))), b, b)
	}
	return regexp.MustCompile(pattern.String())
}
