package structure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/go-json-experiment/json/jsontext"
)

// named are the faults that tell by themselves what is wrong; a byte order mark is invisible, so it is not
// called text before the value.
var named = map[value.Kind]Reason{
	value.KindEmpty: Empty, value.KindDuplicateKey: DuplicateKey, value.KindByteOrderMark: ByteOrderMark,
	value.KindNotFinite: NotFinite, value.KindControlCharacter: RawControl, value.KindLoneSurrogate: LoneSurrogate,
	value.KindInvalidUTF8: InvalidUTF8,
}

// Unwrap is the inside of a code fence that is the whole content, where the contract allows one; else the
// content as it is.
func (c *Checker) Unwrap(content string) string {
	text := strings.TrimSpace(content)
	if !c.unwrap || !strings.HasPrefix(text, "```") || !strings.HasSuffix(text, "\n```") {
		return content
	}
	_, inner, _ := strings.Cut(strings.TrimSuffix(text, "```"), "\n") // the opening line may name a language
	if strings.Contains("\n"+inner, "\n```") {
		return content // more than one
	}
	return inner
}

// unreadable says why content is not exactly one JSON value.
func unreadable(content string, err error) Finding {
	var fault *value.DecodeError
	if !errors.As(err, &fault) { // unreachable: decoding has no other error
		return Finding{NotJSON, "", err.Error()}
	}
	if reason, ok := named[fault.Kind]; ok {
		return Finding{reason, fault.Pointer, fault.Error()}
	}
	if inner, ok := insideFence(content); ok && isValue(inner) {
		return Finding{Fenced, "", "the JSON value stands in a code fence"}
	}
	switch before, after, found := around(content); {
	case found && before != "":
		return Finding{TextAround, "", fmt.Sprintf("%d bytes of text before the JSON value", len(before))}
	case found && after != "":
		return Finding{TrailingBytes, "", fmt.Sprintf("%d bytes after the JSON value", len(after))}
	}
	return Finding{NotJSON, fault.Pointer, fault.Error()}
}

// insideFence is the content of the first code fence.
func insideFence(content string) (string, bool) {
	_, rest, found := strings.Cut(content, "```")
	if !found {
		return "", false
	}
	_, rest, found = strings.Cut(rest, "\n") // the rest of the line is the fence's language
	if !found {
		return "", false
	}
	inner, _, _ := strings.Cut(rest, "```")
	return inner, true
}

func isValue(text string) bool {
	_, err := value.DecodeLenientNUL([]byte(text))
	return err == nil
}

// around finds a whole object or array in content and what stands before and after it, without white
// space. A value that starts the content may be of any kind. Candidates are limited, so that hostile
// text costs no more than a few passes.
func around(content string) (before, after string, found bool) {
	const candidates = 16
	if rest, ok := afterValue(content); ok {
		return "", trimmed(rest), true
	}
	if opensAsJSON(content) { // broken JSON, not prose around a part of it
		return "", "", false
	}
	at := 0
	for range candidates {
		next := strings.IndexAny(content[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		if rest, ok := afterValue(content[at:]); ok {
			return trimmed(content[:at]), trimmed(rest), true
		}
		at++
	}
	return "", "", false
}

func opensAsJSON(content string) bool {
	text := trimmed(content)
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// space is what JSON calls white space (RFC 8259, section 2). Unicode calls more so, and that is text here.
const space = " \t\r\n"

func trimmed(text string) string { return strings.Trim(text, space) }

// afterValue is what follows the JSON value that text begins with.
func afterValue(text string) (string, bool) {
	decoder := jsontext.NewDecoder(strings.NewReader(text))
	if _, err := decoder.ReadValue(); err != nil {
		return "", false
	}
	return text[decoder.InputOffset():], true
}
