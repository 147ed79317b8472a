package secrets

import (
	"encoding/base64"
	"strings"
)

// form is one form of a secret: itself, or what it makes of base64.
type form struct {
	name   string // the secret's
	text   string // folded
	front  int    // so many bytes at the beginning, and
	behind int    // at the end, may be read as part of an escape that the text around the secret begins or ends
}

// minCore is the least that is left of a form without such bytes. Where it would be less nobody is spared them.
const minCore = 4

// formsOf are the secret and the cores that it leaves in base64: what of the encoding depends on the secret
// alone, for each of the three offsets at which it can begin. What is too short is left out, also what is so
// once the escapes that it holds itself are undone.
func formsOf(name, secret string) []form {
	if len(secret) < MinLength {
		return nil
	}
	texts := []string{fold(secret).text}
	for offset := range 3 {
		padded := strings.Repeat("\x00", offset) + secret
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(padded))
			first := (offset*8 + 5) / 6 // digits that hold a bit of what stands before
			last := len(padded) * 8 / 6 // digits that hold a bit of what stands behind
			texts = append(texts, encoded[first:last])
		}
	}
	var forms []form
	known := map[string]bool{}
	for _, text := range texts {
		if len(text) >= MinLength && !known[text] {
			known[text] = true
			forms = append(forms, newForm(name, text))
		}
	}
	return forms
}

// What may stand around a secret, and be the other part of an escape.
var (
	begins = []string{`%`, `%2`, `%%`, `%25`, `\`, `\u`, `\u0`, `\u00`, `\u002`, `&`, `&#`, `&#3`, `&#x`, `&#x2`}
	ends   = []string{"1", "41", "25", "u0041", "0041", "041", ";", "p;", "mp;", "amp;", "3;", "43;", "#43;", "b;", "2b;", "x2b;", "#x2b;"}
)

func newForm(name, text string) form {
	f := form{name: name, text: text}
	for _, before := range begins {
		f.front = max(f.front, len(text)-commonEnd(text, fold(before+text).text))
	}
	for _, after := range ends {
		f.behind = max(f.behind, len(text)-commonBeginning(text, fold(text+after).text))
	}
	if f.front+f.behind+minCore > len(text) {
		f.front, f.behind = 0, 0
	}
	return f
}

func (f form) same(other form) bool { return f.text == other.text }

// core is what every spelling has in common, whatever stands around it.
func (f form) core() string { return f.text[f.front : len(f.text)-f.behind] }

// find is where in a text the form stands.
func (f form) find(read folded) []span {
	var found []span
	core := f.core()
	for from := 0; ; {
		at := strings.Index(read.text[from:], core)
		if at < 0 {
			return found
		}
		at += from
		from = at + 1
		first, begun := f.beginning(read, at)
		last, ended := f.ending(read, at+len(core)-1)
		if begun && ended {
			found = append(found, span{read.begin(first), read.begin(last + 1)})
			from = last + 1
		}
	}
}

// beginning is the byte with which the form begins whose core begins at a place: its own first one, or else the
// escape that took it along.
func (f form) beginning(read folded, core int) (first int, ok bool) {
	escape := -1
	for first = core; ; first-- {
		if first >= 0 && read.escaped(first) {
			escape = first
		}
		before := core - first
		if first < 0 || before > 0 && read.text[first] != f.text[f.front-before] {
			return escape, escape >= 0
		}
		if before == f.front {
			return first, true
		}
	}
}

// ending is the byte with which the form ends whose core ends at a place.
func (f form) ending(read folded, core int) (last int, ok bool) {
	escape := -1
	for last = core; ; last++ {
		if last < len(read.text) && read.escaped(last) {
			escape = last
		}
		behind := last - core
		if last == len(read.text) || behind > 0 && read.text[last] != f.text[len(f.text)-f.behind+behind-1] {
			return escape, escape >= 0
		}
		if behind == f.behind {
			return last, true
		}
	}
}

func commonBeginning(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonEnd(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
