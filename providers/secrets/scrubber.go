// Package secrets takes secrets that are known, such as a provider's key, out of whatever is kept or shown, in
// every spelling in which they are likely to come back. What merely looks like a credential it leaves alone.
//
// A text and the secrets are compared as they read once every escape is undone (fold), so that one comparison
// serves all spellings and their mixtures; what is taken out is the piece of the text as it was.
package secrets

import (
	"cmp"
	"slices"
	"strings"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// MinLength is the length from which a secret is looked for, in bytes. Shorter ones guard nothing, and taking
// them out would garble ordinary text.
const MinLength = 8

// Scrubber takes secrets out of text, in every spelling in which they are likely to come back: as they are,
// percent-encoded, escaped in JSON or as HTML entities, in part or as a whole, one within the other too (such
// as JSON within a JSON string), and within base64 at any offset, in both alphabets, itself escaped or not. One
// that is shorter than [MinLength] it does not look for. The zero value knows none. It prints as nothing, wherever
// it ends up.
type Scrubber struct {
	forms []form
}

// Named is a scrubber whose secrets have names, by which [Scrubber.Names] tells which of them a text holds.
func Named(secrets map[string]string) Scrubber {
	var forms []form
	for name, secret := range secrets {
		forms = append(forms, formsOf(name, secret)...)
	}
	return Scrubber{forms}
}

// With is a scrubber that knows these secrets as well.
func (s Scrubber) With(secrets ...string) Scrubber {
	forms := slices.Clone(s.forms)
	for _, secret := range secrets {
		for _, one := range formsOf("", secret) {
			if !slices.ContainsFunc(forms, one.same) {
				forms = append(forms, one)
			}
		}
	}
	return Scrubber{forms}
}

// String keeps the secrets out of logs.
func (Scrubber) String() string { return "scrubber" }

// GoString does so for %#v.
func (Scrubber) GoString() string { return "secrets.Scrubber{…}" }

// Text is text without the secrets.
func (s Scrubber) Text(text string) string {
	var found []span
	s.find(text, func(_ form, all []span) { found = append(found, all...) })
	return without(text, found)
}

// Bytes is text without the secrets: text itself where it holds none.
func (s Scrubber) Bytes(text []byte) []byte {
	if len(s.forms) == 0 {
		return text
	}
	before := string(text)
	if after := s.Text(before); after != before {
		return []byte(after)
	}
	return text
}

// Names are those of the secrets that text holds, sorted. A secret without a name is not among them.
func (s Scrubber) Names(text string) []string {
	var names []string
	s.find(text, func(one form, _ []span) {
		if one.name != "" {
			names = append(names, one.name)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// find tells of each form that a text holds.
func (s Scrubber) find(text string, tell func(one form, found []span)) {
	if len(s.forms) == 0 || !s.mayHold(fold(text).text) {
		return
	}
	read := foldMapped(text)
	for _, one := range s.forms {
		if found := one.find(read); len(found) > 0 {
			tell(one, found)
		}
	}
}

// mayHold says whether a folded text holds what every spelling of some secret has in common.
func (s Scrubber) mayHold(text string) bool {
	return slices.ContainsFunc(s.forms, func(one form) bool { return strings.Contains(text, one.core()) })
}

// span is a piece of a text.
type span struct{ start, end int }

// without puts Redacted in place of each piece; pieces that overlap are one.
func without(text string, pieces []span) string {
	if len(pieces) == 0 {
		return text
	}
	slices.SortFunc(pieces, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	var left strings.Builder
	end := 0
	for _, piece := range pieces {
		if piece.start >= end {
			left.WriteString(text[end:piece.start])
			left.WriteString(Redacted)
		}
		end = max(end, piece.end)
	}
	left.WriteString(text[end:])
	return left.String()
}
