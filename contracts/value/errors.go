package value

import (
	"fmt"
)

// Kind names what is wrong with a text that should have been one JSON value.
type Kind string

// The kinds of [DecodeError].
const (
	KindEmpty            Kind = "empty"             // nothing but white space
	KindSyntax           Kind = "syntax"            // not JSON by the grammar of RFC 8259
	KindTrailing         Kind = "trailing"          // bytes after the value
	KindDuplicateKey     Kind = "duplicate_key"     // compared after decoding escapes
	KindInvalidUTF8      Kind = "invalid_utf8"      // bytes that are not UTF-8
	KindByteOrderMark    Kind = "byte_order_mark"   // EF BB BF before the value
	KindLoneSurrogate    Kind = "lone_surrogate"    // half of a surrogate pair, escaped
	KindNUL              Kind = "nul"               // U+0000 in a string or key, raw or escaped
	KindControlCharacter Kind = "control_character" // a raw newline, tab … inside a string
	KindNotFinite        Kind = "not_finite"        // NaN, Infinity
	KindTooDeep          Kind = "too_deep"          // nested beyond [MaxDepth]
)

// DecodeError says what is wrong with a text and where. It holds keys at most, never a value.
type DecodeError struct {
	Kind    Kind
	Pointer string // RFC 6901; the value being read when the fault was met
	Offset  int64  // in bytes from the start
	Detail  string
}

func (e *DecodeError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("%s at byte %d", e.Detail, e.Offset)
	}
	return fmt.Sprintf("%s at byte %d, in %s", e.Detail, e.Offset, e.Pointer)
}
