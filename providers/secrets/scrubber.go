// Package secrets takes secrets that are known, such as a provider's key, out of whatever is kept or shown, in
// every spelling in which they are likely to come back. What merely looks like a credential it leaves alone.
package secrets

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// minSecret is the length from which a secret is looked for. Shorter ones guard nothing, and taking them out
// would garble ordinary text.
const minSecret = 8

// Scrubber takes secrets out of text. The zero value knows none. It prints as nothing, wherever it ends up.
type Scrubber struct{ forms []form }

// form is one form of a secret.
type form struct {
	needle  string // text that holds it in any spelling holds this once it is unescaped; "" = nothing that simple does
	pattern *regexp.Regexp
}

// NewScrubber knows the secrets in every spelling in which they are likely to come back: as they are,
// percent-encoded in part or as a whole, escaped in JSON (also in JSON within a JSON string), and within
// base64 at any offset, in both alphabets, itself escaped or not.
func NewScrubber(secrets ...string) Scrubber {
	var s Scrubber
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		for _, text := range forms(secret) {
			s.forms = append(s.forms, form{needleOf(text), spellings(text)})
		}
	}
	return s
}

// String keeps the secrets out of logs.
func (Scrubber) String() string { return "scrubber" }

// GoString does so for %#v.
func (Scrubber) GoString() string { return "secrets.Scrubber{…}" }

// Text is text without the secrets.
func (s Scrubber) Text(text string) string {
	if len(s.forms) == 0 {
		return text
	}
	plain := unescaped(text)
	for _, one := range s.forms {
		if strings.Contains(plain, one.needle) {
			text = one.pattern.ReplaceAllLiteralString(text, Redacted)
		}
	}
	return text
}

// Bytes is text without the secrets: text itself where it holds none.
func (s Scrubber) Bytes(text []byte) []byte {
	before := string(text)
	if after := s.Text(before); after != before {
		return []byte(after)
	}
	return text
}

// needleOf is the middle of a form: what stands around a secret may look like the beginning of an escape, and
// take a few of its bytes along. Of a form that itself looks like escapes nothing is sure to be found.
func needleOf(form string) string {
	const before, behind = 3, 2
	if strings.ContainsAny(form, `%\`) || len(form) <= before+behind {
		return ""
	}
	return form[before : len(form)-behind]
}

// unescaped is text without percent-encoding and without what JSON escapes, however deep. It is good for
// finding plain ASCII, and for nothing else.
func unescaped(text string) string {
	for {
		once := unescapedOnce(text)
		if len(once) == len(text) {
			return once
		}
		text = once
	}
}

func unescapedOnce(text string) string {
	if !strings.ContainsAny(text, `%\`) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		b, length := escape(text[i:])
		if length == 0 {
			b, length = text[i], 1
		}
		if b != '\\' {
			out = append(out, b)
		}
		i += length
	}
	return string(out)
}

// escape reads an escape at the beginning of text: %HH, %25HH …, or \u00HH behind any number of backslashes.
// length is 0 where there is none.
func escape(text string) (b byte, length int) {
	digits := 0
	switch text[0] {
	case '%':
		digits = 1
		for strings.HasPrefix(text[digits:], "25") && hexadecimal(text[digits+2:]) {
			digits += 2
		}
	case '\\':
		for digits < len(text) && text[digits] == '\\' {
			digits++
		}
		if !strings.HasPrefix(text[digits:], "u00") {
			return 0, 0
		}
		digits += 3
	}
	if digits == 0 || !hexadecimal(text[digits:]) {
		return 0, 0
	}
	n, err := strconv.ParseUint(text[digits:digits+2], 16, 8)
	if err != nil {
		return 0, 0
	}
	return byte(n), digits + 2
}

// hexadecimal says whether text begins with two hexadecimal digits.
func hexadecimal(text string) bool {
	is := func(b byte) bool {
		return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f'
	}
	return len(text) >= 2 && is(text[0]) && is(text[1])
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
