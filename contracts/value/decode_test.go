package value_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts/value"
	. "github.com/onsi/gomega"
)

func TestDecodeKeepsWhatWasSent(t *testing.T) {
	for text, want := range map[string]any{
		`null`:                            nil,
		` true `:                          true,
		`"\u00e9\ud83d\ude00\/"`:          "é😀/",
		`9007199254740993`:                value.Number("9007199254740993"),
		`-0`:                              value.Number("-0"),
		`1e131071`:                        value.Number("1e131071"),
		`[]`:                              []any{},
		`{}`:                              map[string]any{},
		"[1.0, {\"a\": [false, null]}]\n": []any{value.Number("1.0"), map[string]any{"a": []any{false, nil}}},
		`{"a/b": 1, "A": 2, "a": 3}`:      map[string]any{"a/b": value.Number("1"), "A": value.Number("2"), "a": value.Number("3")},
	} {
		got, err := value.Decode([]byte(text))
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
		if want == nil {
			NewWithT(t).Expect(got).To(BeNil(), text)
			continue
		}
		NewWithT(t).Expect(got).To(Equal(want), text)
	}
}

func TestDecodeRefusesWhatParsersDisagreeAbout(t *testing.T) {
	deep := strings.Repeat("[", value.MaxDepth+1) + strings.Repeat("]", value.MaxDepth+1)
	for _, row := range []struct {
		name, text string
		kind       value.Kind
		pointer    string
		offset     int64
	}{
		{"nothing", ``, value.KindEmpty, "", 0},
		{"white space alone", " \n", value.KindEmpty, "", 0},
		{"no JSON", `yes`, value.KindSyntax, "", 0},
		{"cut short", `{"a": [1`, value.KindSyntax, "/a", 8},
		{"single quotes", `{'a': 1}`, value.KindSyntax, "", 1},
		{"trailing comma", `[1,]`, value.KindSyntax, "", 2},
		{"comment", `[1 /* one */]`, value.KindSyntax, "", 3},
		{"leading zero", `[01]`, value.KindSyntax, "", 2},
		{"leading plus", `[+1]`, value.KindSyntax, "/0", 1},
		{"bare point", `[.5]`, value.KindSyntax, "/0", 1},
		{"key that is no string", `{1: 2}`, value.KindSyntax, "", 1},
		{"a second value", `{"a": 1} {"b": 2}`, value.KindTrailing, "", 9},
		{"text after", `[1] done`, value.KindTrailing, "", 4},
		{"NUL after", "1\x00", value.KindTrailing, "", 1},
		{"repeated key", `{"x": {"a": 1, "a": 2}}`, value.KindDuplicateKey, "/x/a", 15},
		{"repeated key in other spelling", `{"a": 1, "\u0061": 1}`, value.KindDuplicateKey, "/a", 9},
		{"bad UTF-8", "[\"\xff\"]", value.KindInvalidUTF8, "", 2},
		{"UTF-8 of a surrogate", "\"\xed\xa0\x80\"", value.KindInvalidUTF8, "", 1},
		{"overlong UTF-8", "\"\xc0\x80\"", value.KindInvalidUTF8, "", 1},
		{"byte order mark", "\ufeff{}", value.KindByteOrderMark, "", 0},
		{"high surrogate alone", `["\ud83d"]`, value.KindLoneSurrogate, "/0", 2},
		{"high surrogate and text", `["\ud83dx"]`, value.KindLoneSurrogate, "/0", 2},
		{"low surrogate alone", `{"a": "x\ude00"}`, value.KindLoneSurrogate, "/a", 8},
		{"pair the wrong way round", `["\ude00\ud83d"]`, value.KindLoneSurrogate, "/0", 2},
		{"surrogate in a key", `{"\uD800": 1}`, value.KindLoneSurrogate, "", 2},
		{"raw NUL", "[\"a\x00b\"]", value.KindNUL, "/0", 3},
		{"escaped NUL", `{"a": ["x\u0000"]}`, value.KindNUL, "/a/0", 16},
		{"NUL in a key", `{"a\u0000": 1}`, value.KindNUL, "/a\x00", 10},
		{"raw newline in a string", "{\"a\": \"x\ny\"}", value.KindControlCharacter, "/a", 8},
		{"raw tab in a string", "[\"\t\"]", value.KindControlCharacter, "/0", 2},
		{"NaN", `{"a": NaN}`, value.KindNotFinite, "/a", 6},
		{"Infinity", `[Infinity]`, value.KindNotFinite, "/0", 1},
		{"minus Infinity", `[-Infinity]`, value.KindNotFinite, "/0", 2},
		{"too deep", deep, value.KindTooDeep, strings.Repeat("/0", value.MaxDepth), value.MaxDepth + 1},
		{"deep objects", strings.Repeat(`{"a":`, value.MaxDepth+1), value.KindTooDeep, strings.Repeat("/a", value.MaxDepth), 5*value.MaxDepth + 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := value.Decode([]byte(row.text))
			g.Expect(got).To(BeNil())
			var fault *value.DecodeError
			g.Expect(errors.As(err, &fault)).To(BeTrue(), "%v", err)
			g.Expect(fault.Kind).To(Equal(row.kind), "%s", err)
			g.Expect(fault.Pointer).To(Equal(row.pointer))
			g.Expect(fault.Offset).To(Equal(row.offset))
			g.Expect(err.Error()).To(ContainSubstring("at byte"))
		})
	}
}

func TestDecodeAllowsTheDeepestNesting(t *testing.T) {
	text := strings.Repeat("[", value.MaxDepth) + strings.Repeat("]", value.MaxDepth)
	_, err := value.Decode([]byte(text))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func TestDecodeErrorNamesThePlace(t *testing.T) {
	_, err := value.Decode([]byte(`{"a": {"b": "\u0000"}}`))
	NewWithT(t).Expect(err).To(MatchError("NUL character at byte 20, in /a/b"))
	_, err = value.Decode([]byte(`{} {}`))
	NewWithT(t).Expect(err).To(MatchError("bytes after the value at byte 3"))
}

func TestDecodeErrorTellsNoValue(t *testing.T) {
	for _, text := range []string{`{"password": "hunter2" "x"}`, "[\"hunter2\xff\"]", `["hunter2", "hunter2\ud800"]`, `{"a":"hunter2","a":"hunter2"}`} {
		_, err := value.Decode([]byte(text))
		NewWithT(t).Expect(err).To(MatchError(Not(ContainSubstring("hunter2"))))
	}
}

func TestAnswersMayHoldNUL(t *testing.T) {
	g := NewWithT(t)
	got, err := value.DecodeLenientNUL([]byte(`{"a\u0000": "x\u0000y"}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(map[string]any{"a\x00": "x\x00y"}))
	again, err := value.DecodeLenientNUL(value.Encode(got))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(got))

	_, err = value.DecodeLenientNUL([]byte("\"x\x00y\""))
	var fault *value.DecodeError
	g.Expect(errors.As(err, &fault)).To(BeTrue(), "a raw NUL is no JSON at all")
	g.Expect(fault.Kind).To(Equal(value.KindNUL))
}

// Whatever is accepted means the same after any round trip, and differs from nothing but its spelling.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,1.0,1e0,-0,1e131071,"\u00e9\n"],"b":{"":null}}`, `[]`, `"\ud83d\ude00"`, `9007199254740993`, `{"a":1,"\u0061":2}`, "\ufeff1",
		`0.00000000000000000000000000000001`, `-1.5e-7`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.Decode(data)
		if err != nil {
			var fault *value.DecodeError
			if !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > int64(len(data)) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		encoded, canonical := value.Encode(v), value.Canonical(v)
		for _, text := range [][]byte{encoded, canonical} {
			again, err := value.Decode(text)
			if err != nil || !value.Equal(v, again) || string(value.Canonical(again)) != string(canonical) {
				t.Fatalf("%q became %q: %v", data, text, err)
			}
		}
		if len(canonical) > 30*len(data)+30 {
			t.Fatalf("%q blew up to %d bytes", data, len(canonical))
		}
	})
}
