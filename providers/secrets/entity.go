package secrets

import (
	"html"
	"strings"
)

// maxEntity bounds what stands between & and ;, leading zeros included.
const maxEntity = 24

// entity reads an entity of HTML at the beginning of text, which starts with &: &#43; &#x2b; &plus; for visible
// ASCII, with any leading zeros. length is 0 where there is none.
func entity(text string) (b byte, length int) {
	name, _, closed := strings.Cut(text[1:min(len(text), maxEntity+2)], ";")
	if !closed {
		return 0, 0
	}
	length = len(name) + len("&;")
	read := html.UnescapeString(text[:length])
	if len(read) != 1 || read[0] < ' ' || read[0] > '~' {
		return 0, 0
	}
	return read[0], length
}
