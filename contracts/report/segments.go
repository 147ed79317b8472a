package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fallproof/fallproof/contracts/evidence"
)

// segment is a piece of a content as it is shown.
type segment struct {
	Text     string
	Isolated bool  // a JSON string: right-to-left text in it must not reorder its neighbours
	Marked   bool  // a finding is to be seen here
	Refs     []int // numbers of the findings whose mark begins here
	Control  bool  // Text names a character that cannot be seen, or that would turn the line
	Gap      bool  // Text says what was left out here
}

// How much of a text is shown: its beginning and its end.
const (
	headShown = 12 << 10
	tailShown = 4 << 10
)

// segments cuts a content into the pieces that it is shown in.
func segments(content string, findings []evidence.Finding) []segment {
	return window(&cutter{content: content, marks: marks(content, findings), strings: jsonStrings(content), told: map[int]bool{}})
}

// prose cuts a text for people: a quotation mark in it may be a letter's, as in Hebrew abbreviations, and ends
// no string.
func prose(content string) []segment {
	if direction(content) == "ltr" {
		return segments(content, nil)
	}
	return window(&cutter{content: content})
}

// window is all of a text, or its beginning and its end.
func window(c *cutter) []segment {
	content := c.content
	if len(content) <= headShown+tailShown {
		return c.cut(span{0, len(content)})
	}
	head := boundary(content, headShown)
	tail := boundary(content, len(content)-tailShown)
	shown := c.cut(span{0, head})
	shown = append(shown, segment{Text: fmt.Sprintf("… %d bytes are left out …", tail-head), Gap: true})
	return append(shown, c.cut(span{tail, len(content)})...)
}

// boundary is the first boundary of a character from at on.
func boundary(text string, at int) int {
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

type cutter struct {
	content string
	marks   []mark
	strings []span
	told    map[int]bool // findings whose first mark was shown
}

// cut walks over the edges of marks and strings within a window.
func (c *cutter) cut(window span) []segment {
	edges := []int{window.start, window.end}
	add := func(s span) {
		for _, edge := range []int{s.start, s.end} {
			if edge > window.start && edge < window.end {
				edges = append(edges, edge)
			}
		}
	}
	for _, m := range c.marks {
		add(m.span)
	}
	for _, s := range c.strings {
		add(s)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var shown []segment
	m, s := 0, 0
	for i := 0; i+1 < len(edges); i++ {
		from, to := edges[i], edges[i+1]
		one := segment{Text: c.content[from:to]}
		for m < len(c.marks) && c.marks[m].end <= from {
			m++
		}
		if m < len(c.marks) && c.marks[m].start <= from {
			one.Marked = true
			for _, n := range c.marks[m].findings {
				if !c.told[n] {
					c.told[n] = true
					one.Refs = append(one.Refs, n)
				}
			}
		}
		for s < len(c.strings) && c.strings[s].end <= from {
			s++
		}
		one.Isolated = s < len(c.strings) && c.strings[s].start <= from
		if name := blank(one); name != "" {
			shown = append(shown, segment{Text: name, Isolated: one.Isolated, Marked: true, Refs: one.Refs, Control: true})
			one.Refs = nil
		}
		shown = append(shown, visible(one)...)
	}
	return shown
}

// blank names a marked piece of which nothing would be seen: an unescaped newline, white space without end.
func blank(one segment) string {
	const few = 4
	switch runes := []rune(one.Text); {
	case !one.Marked || strings.TrimSpace(one.Text) != "":
		return ""
	case len(runes) > few:
		return fmt.Sprintf("%d bytes of white space", len(one.Text))
	default:
		var names []string
		for _, r := range runes {
			if !hidden(r) { // those are named where they stand
				names = append(names, codePoint(r))
			}
		}
		return strings.Join(names, " ")
	}
}

// jsonStrings are the string tokens of a content, read without asking for the rest to be JSON.
func jsonStrings(content string) []span {
	var found []span
	for at := 0; at < len(content); at++ {
		if content[at] != '"' {
			continue
		}
		end := at + 1
		for end < len(content) && content[end] != '"' {
			if content[end] == '\\' {
				end++
			}
			end++
		}
		end = boundary(content, min(end+1, len(content)))
		found = append(found, span{at, end})
		at = end - 1
	}
	return found
}

// visible splits characters off a segment that cannot be seen or would turn the text around, and names them.
func visible(one segment) []segment {
	if !strings.ContainsFunc(one.Text, hidden) {
		return []segment{one}
	}
	var shown []segment
	refs := one.Refs
	put := func(text string, control bool) {
		if text != "" {
			shown = append(shown, segment{Text: text, Isolated: one.Isolated, Marked: one.Marked, Refs: refs, Control: control})
			refs = nil
		}
	}
	start := 0
	for i, r := range one.Text {
		if hidden(r) {
			put(one.Text[start:i], false)
			put(codePoint(r), true)
			start = i + utf8.RuneLen(r)
		}
	}
	put(one.Text[start:], false)
	return shown
}

// hidden characters are those that a browser shows as nothing, or as something else elsewhere.
func hidden(r rune) bool {
	switch r {
	case '\n', '\t', utf8.RuneError: // RuneError also stands for a broken byte, whose length is another
		return false
	}
	return unicode.IsControl(r) || unseen(r)
}

func number(n int) string { return strconv.Itoa(n) }
