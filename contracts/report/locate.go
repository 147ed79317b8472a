package report

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/structure"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
)

// span is a part of a content, in bytes.
type span struct{ start, end int }

// locate says where in the content a finding is to be seen: the value that is wrong, or the offending bytes.
// It is empty where it is nowhere, such as a key that is missing at the top.
func locate(content string, f evidence.Finding) []span {
	switch structure.Reason(f.Reason) {
	case structure.Fenced:
		return fences(content)
	case structure.TextAround, structure.TrailingBytes:
		return around(content)
	case structure.WhiteSpaceLoop:
		return longestWhiteSpace(content)
	case structure.Runaway, structure.Reason(providers.ReasonTruncated):
		return trimmed(content, span{max(0, len(content)-40), len(content)})
	case structure.NotJSON, structure.NotFinite, structure.RawControl, structure.LoneSurrogate, structure.InvalidUTF8, structure.ByteOrderMark:
		return atFault(content)
	case structure.DuplicateKey, structure.UnknownKey:
		return pointed(content, f.Pointers, true)
	}
	return pointed(content, f.Pointers, false)
}

// pointed are the values at JSON pointers, with their keys where those are what is wrong.
func pointed(content string, pointers []string, keys bool) []span {
	if len(pointers) == 0 {
		return nil
	}
	found := members(content)
	var spans []span
	for _, pointer := range pointers {
		m, ok := found[pointer]
		switch {
		case !ok:
		case keys:
			spans = append(spans, span{m.key, m.value.end})
		default:
			spans = append(spans, m.value)
		}
	}
	return spans
}

// member is where a value stands, and where its key begins.
type member struct {
	key   int
	value span
}

// members finds every value of a content by its JSON pointer, as far as the content is JSON. Of a key that
// is there twice the last one counts.
func members(content string) map[string]member {
	w := walker{content: content, found: map[string]member{}}
	w.base = bodyOf(content)
	w.tokens = jsontext.NewDecoder(strings.NewReader(content[w.base:]), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	w.value("", -1)
	return w.found
}

// bodyOf is where the JSON of a content begins, whatever stands around it.
func bodyOf(content string) int {
	if at := strings.IndexAny(content, "{["); at >= 0 && strings.TrimSpace(content[:at]) != "" {
		return at
	}
	return 0
}

type walker struct {
	content string
	base    int
	tokens  *jsontext.Decoder
	found   map[string]member
}

// next is where the next token begins.
func (w *walker) next() int {
	at := w.base + int(w.tokens.InputOffset())
	for at < len(w.content) && strings.IndexByte(" \t\r\n,:", w.content[at]) >= 0 {
		at++
	}
	return at
}

func (w *walker) end() int { return w.base + int(w.tokens.InputOffset()) }

// value reads one value; false where the content is not JSON from there on.
func (w *walker) value(pointer string, key int) bool {
	start := w.next()
	if key < 0 {
		key = start
	}
	token, err := w.tokens.ReadToken()
	if err != nil {
		return false
	}
	whole := true
	switch token.Kind() {
	case '{':
		whole = w.object(pointer)
	case '[':
		whole = w.array(pointer)
	}
	w.found[pointer] = member{key, span{start, w.end()}}
	return whole
}

func (w *walker) object(pointer string) bool {
	for w.tokens.PeekKind() != '}' {
		key := w.next()
		name, err := w.tokens.ReadToken()
		if err != nil || name.Kind() != '"' {
			return false
		}
		if !w.value(value.Pointer(pointer, name.String()), key) {
			return false
		}
	}
	_, err := w.tokens.ReadToken()
	return err == nil
}

func (w *walker) array(pointer string) bool {
	for i := 0; w.tokens.PeekKind() != ']'; i++ {
		if !w.value(value.Pointer(pointer, number(i)), -1) {
			return false
		}
	}
	_, err := w.tokens.ReadToken()
	return err == nil
}

// fences are the lines of code fences.
func fences(content string) []span {
	var spans []span
	for at := 0; ; {
		i := strings.Index(content[at:], "```")
		if i < 0 {
			return spans
		}
		start := at + i
		end := len(content)
		if line := strings.IndexByte(content[start:], '\n'); line >= 0 {
			end = start + line
		}
		spans = append(spans, span{start, end})
		at = end
	}
}

// around is what stands before and after the first whole object or array, or after a value at the start.
func around(content string) []span {
	const candidates = 16
	for at, tried := 0, 0; tried < candidates; tried++ {
		decoder := jsontext.NewDecoder(strings.NewReader(content[at:]))
		if _, err := decoder.ReadValue(); err == nil {
			end := at + int(decoder.InputOffset())
			return append(trimmed(content, span{0, at}), trimmed(content, span{end, len(content)})...)
		}
		next := strings.IndexAny(content[min(at+1, len(content)):], "{[")
		if next < 0 {
			return nil
		}
		at += 1 + next
	}
	return nil
}

// trimmed takes white space off a span's ends; nothing is left of one that is empty.
func trimmed(content string, s span) []span {
	text := content[s.start:s.end]
	start := s.start + len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	end := s.start + len(strings.TrimRightFunc(text, unicode.IsSpace))
	for start < end && !utf8.RuneStart(content[start]) {
		start++
	}
	if start >= end {
		return nil
	}
	return []span{{start, end}}
}

func longestWhiteSpace(content string) []span {
	longest, start := span{}, -1
	for i, r := range content + "x" {
		switch {
		case unicode.IsSpace(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			if i-start > longest.end-longest.start {
				longest = span{start, i}
			}
			start = -1
		}
	}
	if longest.end == 0 {
		return nil
	}
	return []span{longest}
}

// atFault is where reading the content fails: the word there, or the last thing before it where the content
// ends too early.
func atFault(content string) []span {
	_, err := value.DecodeLenientNUL([]byte(content))
	var fault *value.DecodeError
	if !errors.As(err, &fault) || content == "" {
		return nil
	}
	start := min(int(fault.Offset), len(content))
	for start > 0 && (start == len(content) || !utf8.RuneStart(content[start])) {
		start--
	}
	_, size := utf8.DecodeRuneInString(content[start:])
	end := start + size
	if start > 0 && content[start-1] == '-' { // the sign belongs to what it is the sign of
		start--
	}
	for end < len(content) && (isWord(content[start]) || content[start] == '\\' || content[start] == '-') && isWord(content[end]) {
		end++
	}
	return []span{{start, end}}
}

func isWord(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_'
}

// mark is a span with the findings, numbered from 1, that are to be seen there.
type mark struct {
	span
	findings []int
}

// marks locates findings in a content. Overlaps are cut, so that each byte is in at most one mark.
func marks(content string, findings []evidence.Finding) []mark {
	at := map[int][]int{} // findings that begin (positive) or end (negative) there
	for i, f := range findings {
		for _, s := range locate(content, f) {
			at[s.start] = append(at[s.start], i+1)
			at[s.end] = append(at[s.end], -(i + 1))
		}
	}
	edges := make([]int, 0, len(at))
	for edge := range at {
		edges = append(edges, edge)
	}
	slices.Sort(edges)
	var found []mark
	open := map[int]int{}
	for i, edge := range edges {
		for _, n := range at[edge] {
			if n > 0 {
				open[n]++
			} else {
				open[-n]--
			}
		}
		var here []int
		for n, count := range open {
			if count > 0 {
				here = append(here, n)
			}
		}
		if len(here) > 0 && i+1 < len(edges) {
			slices.Sort(here)
			found = append(found, mark{span{edge, edges[i+1]}, here})
		}
	}
	return found
}
