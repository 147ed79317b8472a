package secrets

import (
	"strconv"
	"strings"
)

// maxEntity bounds what stands between & and ;, leading zeros included.
const maxEntity = 24

// entityNames are the names that HTML has for visible ASCII, as its standard lists them; letters, digits,
// the hyphen and the tilde have none.
var entityNames = map[string]byte{
	"excl": '!', "quot": '"', "QUOT": '"', "num": '#', "dollar": '$', "percnt": '%', "amp": '&', "AMP": '&', "apos": '\'',
	"lpar": '(', "rpar": ')', "ast": '*', "midast": '*', "plus": '+', "comma": ',', "period": '.', "sol": '/', "colon": ':',
	"semi": ';', "lt": '<', "LT": '<', "equals": '=', "gt": '>', "GT": '>', "quest": '?', "commat": '@',
	"lsqb": '[', "lbrack": '[', "bsol": '\\', "rsqb": ']', "rbrack": ']', "Hat": '^', "lowbar": '_', "UnderBar": '_',
	"grave": '`', "DiacriticalGrave": '`', "lcub": '{', "lbrace": '{',
	"verbar": '|', "vert": '|', "VerticalLine": '|', "rcub": '}', "rbrace": '}',
}

// entity reads an entity of HTML at the beginning of text, which starts with &: &#43; &#x2b; &plus; for visible
// ASCII, with any leading zeros. length is 0 where there is none.
func entity(text string) (b byte, length int) {
	name, _, closed := strings.Cut(text[1:min(len(text), maxEntity+2)], ";")
	if !closed || name == "" {
		return 0, 0
	}
	length = len(name) + len("&;")
	number, numeric := strings.CutPrefix(name, "#")
	if !numeric {
		if b, known := entityNames[name]; known {
			return b, length
		}
		return 0, 0
	}
	base := 10
	if number != "" && number[0]|0x20 == 'x' {
		number, base = number[1:], 16
	}
	n, err := strconv.ParseUint(number, base, 8)
	if err != nil || n < ' ' || n > '~' {
		return 0, 0
	}
	return byte(n), length
}
