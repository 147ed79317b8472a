package providers

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible reports whether text is visible ASCII throughout, as what stands in a header on its own has to be.
// The empty text is.
func Visible(text string) bool { return invisible(text) < 0 }

// invisible is where the first byte stands that is not visible ASCII; -1 = nowhere.
func invisible(text string) int {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return i
		}
	}
	return -1
}

// ValidateAPIKey accepts a key that can be sent as a bearer token: visible ASCII, or none at all. What is
// wrong it says by kind and place; of the key itself nothing is in the error.
func ValidateAPIKey(key string) error {
	at := invisible(key)
	if at < 0 {
		return nil
	}
	before, rest := key[:at], key[at:] // before is ASCII: as many characters as bytes
	return fmt.Errorf("character %d is %s; a key is visible ASCII throughout, without white space", len(before)+1, kindOf(rest))
}

// kindOf describes the character at the beginning of text that no header carries.
func kindOf(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == utf8.RuneError && size <= 1:
		return "a byte that is not UTF-8"
	case r == '\n' || r == '\r':
		return "a line break"
	case r == '\t':
		return "a tab"
	case r == ' ':
		return "a space"
	case strings.ContainsRune("‘’‚‛“”„‟«»‹›′″", r):
		return "a typographic quotation mark"
	case unicode.Is(unicode.Pd, r) || r == '\u2212':
		return "a typographic dash"
	case unicode.IsSpace(r):
		return "a space beyond ASCII"
	case unicode.IsControl(r):
		return "a control character"
	case unicode.Is(unicode.Cf, r):
		return "a character that is not seen, such as a byte order mark"
	case unicode.IsLetter(r):
		return "a letter beyond ASCII"
	}
	return "a character beyond ASCII"
}
