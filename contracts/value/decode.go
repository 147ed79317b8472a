package value

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 200

// Decode reads exactly one JSON value. Whatever two parsers might read differently is refused with a
// *[DecodeError]: duplicate keys (after decoding escapes), invalid UTF-8, lone surrogates, NUL in any
// string or key, trailing bytes, nesting beyond [MaxDepth].
func Decode(data []byte) (any, error) { return decode(data, false) }

// DecodeLenientNUL is Decode for what a provider answered: there \u0000 inside a string is kept as it
// is, because an answer that has arrived must be judged and stored, not lost.
func DecodeLenientNUL(data []byte) (any, error) { return decode(data, true) }

func decode(data []byte, allowNUL bool) (any, error) {
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return nil, &DecodeError{Kind: KindByteOrderMark, Detail: "byte order mark before the value"}
	}
	if i := firstInvalidUTF8(data); i >= 0 {
		return nil, &DecodeError{Kind: KindInvalidUTF8, Offset: int64(i), Detail: "invalid UTF-8"}
	}
	d := decoder{data: data, tokens: jsontext.NewDecoder(bytes.NewBuffer(data)), allowNUL: allowNUL}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimLeft(data[d.tokens.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, &DecodeError{Kind: KindTrailing, Offset: int64(len(data) - len(rest)), Detail: "bytes after the value"}
	}
	return v, nil
}

type decoder struct {
	data     []byte
	tokens   *jsontext.Decoder
	allowNUL bool
}

func (d *decoder) value(depth int) (any, error) {
	token, err := d.tokens.ReadToken()
	if err != nil {
		return nil, d.explain(err)
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '0':
		return Number(token.String()), nil
	case '"':
		return d.text(token)
	case '[':
		return d.array(depth + 1)
	case '{':
		return d.object(depth + 1)
	default: // unreachable: the decoder hands out ends only where we ask past the last element
		return nil, d.fault(KindSyntax, fmt.Sprintf("unexpected %s", token.Kind()))
	}
}

func (d *decoder) array(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, d.fault(KindTooDeep, fmt.Sprintf("nested deeper than %d", MaxDepth))
	}
	array := []any{}
	for d.tokens.PeekKind() != ']' {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	return array, d.end()
}

func (d *decoder) object(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, d.fault(KindTooDeep, fmt.Sprintf("nested deeper than %d", MaxDepth))
	}
	object := map[string]any{}
	for d.tokens.PeekKind() != '}' {
		token, err := d.tokens.ReadToken()
		if err != nil {
			return nil, d.explain(err)
		}
		key, err := d.text(token)
		if err != nil {
			return nil, err
		}
		if object[key], err = d.value(depth); err != nil {
			return nil, err
		}
	}
	return object, d.end()
}

func (d *decoder) end() error {
	if _, err := d.tokens.ReadToken(); err != nil {
		return d.explain(err)
	}
	return nil
}

func (d *decoder) text(token jsontext.Token) (string, error) {
	s := token.String()
	if !d.allowNUL && strings.IndexByte(s, 0) >= 0 {
		return "", d.fault(KindNUL, "NUL character")
	}
	return s, nil
}

func (d *decoder) fault(kind Kind, detail string) error {
	return &DecodeError{
		Kind: kind, Detail: detail,
		Pointer: string(d.tokens.StackPointer()), Offset: d.tokens.InputOffset(),
	}
}

// explain turns a syntax error into one with a kind. The kind is read from the bytes at the fault, not
// from the library's message, which may change.
func (d *decoder) explain(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return &DecodeError{Kind: KindEmpty, Detail: "no JSON value"}
	}
	fault := &DecodeError{Kind: KindSyntax, Pointer: string(d.tokens.StackPointer()), Offset: d.tokens.InputOffset(), Detail: "not JSON"}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		fault.Pointer, fault.Offset = string(syntactic.JSONPointer), syntactic.ByteOffset
		fault.Detail = "not JSON: " + syntactic.Err.Error()
	}
	rest := d.data[min(int(fault.Offset), len(d.data)):]
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		fault.Kind, fault.Detail = KindDuplicateKey, "duplicate key"
	case errors.Is(err, io.ErrUnexpectedEOF):
		fault.Detail = "JSON value cut short"
	case isSurrogateEscape(rest):
		fault.Kind, fault.Detail = KindLoneSurrogate, "lone surrogate in a string"
	case bytes.HasPrefix(rest, []byte("\x00")):
		fault.Kind, fault.Detail = KindNUL, "NUL character"
	case len(rest) > 0 && rest[0] < ' ':
		fault.Kind, fault.Detail = KindControlCharacter, fmt.Sprintf("raw control character %q", rest[0])
	case startsNotFinite(rest):
		fault.Kind, fault.Detail = KindNotFinite, "NaN or Infinity, which JSON does not have"
	}
	return fault
}

func isSurrogateEscape(rest []byte) bool {
	return len(rest) >= 4 && rest[0] == '\\' && rest[1] == 'u' &&
		(rest[2] == 'd' || rest[2] == 'D') && strings.IndexByte("89abcdefABCDEF", rest[3]) >= 0
}

func startsNotFinite(rest []byte) bool {
	rest = bytes.TrimPrefix(rest, []byte("-"))
	return bytes.HasPrefix(rest, []byte("NaN")) || bytes.HasPrefix(rest, []byte("Infinity"))
}

func firstInvalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}
