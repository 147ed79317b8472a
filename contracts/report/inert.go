package report

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/bidi"
)

// Plain is foreign text that turns and moves nothing of what stands beside it, and hides nothing: characters that would
// are named, as U+202E, and white space and control characters become spaces.
func Plain(text string) string {
	return inert(text, func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	})
}

// plainLines is Plain for a text of several lines, which stay, as tabs do.
func plainLines(text string) string {
	return inert(text, func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	})
}

// unseen reports whether a character shows nothing of itself: it turns a line around or breaks it, joins or keeps apart,
// chooses a variant of the one before, or is not meant to be seen (Unicode's default ignorable code points). The marks
// that Arabic and its kin write before a number are seen.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// inert names the characters of a text that cannot be seen, and writes all others as they are mapped.
func inert(text string, mapped func(rune) rune) string {
	var out strings.Builder
	for _, r := range text {
		if unseen(r) {
			out.WriteString(codePoint(r))
			continue
		}
		out.WriteRune(mapped(r))
	}
	return out.String()
}

// codePoint names a character that cannot be shown as it is.
func codePoint(r rune) string { return fmt.Sprintf("U+%04X", r) }

// rightToLeft reports whether something in the text is read from right to left, so that it could reorder
// what stands beside it.
func rightToLeft(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		properties, _ := bidi.LookupRune(r)
		switch properties.Class() {
		case bidi.R, bidi.AL, bidi.AN:
			return true
		}
		return false
	})
}

// codeSpan shows foreign text as it is: no markup, no mention, no link, and in its own direction. The element
// around it is one that code hosts let through; the span inside is what makes the text inert.
func codeSpan(text string) string {
	text = strings.TrimSpace(Plain(text))
	if text == "" {
		return "(empty)"
	}
	fence, own := strings.Repeat("`", longestRun(text)+1), rightToLeft(text)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	if own {
		return `<span dir="auto">` + fence + text + fence + "</span>"
	}
	return fence + text + fence
}

// cellMD is a code span in a table, where a bar would end the cell even so.
func cellMD(text string) string { return strings.ReplaceAll(codeSpan(text), "|", `\|`) }

// wordsMD writes words of ours plainly, and anything in which Markdown or a code host could find a meaning as
// code. Escaping would not do: a mention is looked for after Markdown has taken the backslashes away.
func wordsMD(text string) string {
	text = Plain(text)
	meant := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ,.;:%=≥–-", r)
	}
	if strings.ContainsFunc(text, meant) || strings.Contains(strings.ToLower(text), "www.") || rightToLeft(text) {
		return codeSpan(text)
	}
	return text
}

// escaped is text within an element.
func escaped(text string) string { return forElement.Replace(text) }

var forElement = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// htmlText is foreign text inside an HTML block, where Markdown is not read and mentions still are.
func htmlText(text string) string {
	if rightToLeft(text) {
		return `<code dir="auto">` + escaped(Plain(text)) + "</code>"
	}
	return "<code>" + escaped(Plain(text)) + "</code>"
}

// How much of a text an excerpt shows: its beginning and its end, where loops and cuts are seen.
const (
	headExcerpt = 1_100
	tailExcerpt = 400
)

// excerpt is foreign text in a block that it cannot end. Code hosts show fences from left to right; what is
// read the other way stands in an element that says so, line by line.
func excerpt(text string) string {
	text = shortened(text)
	if len(text) > headExcerpt+tailExcerpt {
		head, tail := boundary(text, headExcerpt), boundary(text, len(text)-tailExcerpt)
		text = text[:head] + fmt.Sprintf("\n… %s bytes are left out …\n", grouped(tail-head)) + text[tail:]
	}
	text = plainLines(text)
	switch {
	case !rightToLeft(text):
		fence := strings.Repeat("`", max(3, longestRun(text)+1))
		return fence + "text\n" + text + "\n" + fence + "\n"
	case direction(text) == "ltr":
		return "<pre dir=\"ltr\">\n" + isolatedStrings(text) + "\n</pre>\n"
	}
	return "<pre dir=\"auto\">\n" + escaped(text) + "\n</pre>\n"
}

// direction is that of an answer: JSON, also in a fence, is read from left to right whatever stands in it; of
// anything else each line says its own.
func direction(answer string) string {
	if answer = strings.TrimSpace(answer); answer != "" && strings.ContainsRune("{[`\"", rune(answer[0])) {
		return "ltr"
	}
	return "auto"
}

// isolatedStrings is JSON, which is read from left to right, with each text in it in its own direction.
func isolatedStrings(text string) string {
	var out strings.Builder
	at := 0
	for _, s := range jsonStrings(text) {
		out.WriteString(escaped(text[at:s.start]))
		if one := text[s.start:s.end]; rightToLeft(one) {
			out.WriteString(`<span dir="auto">` + escaped(one) + "</span>")
		} else {
			out.WriteString(escaped(one))
		}
		at = s.end
	}
	out.WriteString(escaped(text[at:]))
	return out.String()
}

// longestRun is the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
