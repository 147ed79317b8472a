package value_test

import (
	"testing"

	"github.com/fallproof/fallproof/contracts/value"
	. "github.com/onsi/gomega"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	v, err := value.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEqualDespiteTheSpelling(t *testing.T) {
	for _, pair := range [][2]string{
		{`{"a":1,"b":[2,3]}`, " {\n \"b\" : [ 2,3 ] , \"a\" : 1 }\t"},
		{`"\u00e9"`, `"é"`},
		{`"\u05e9\u05dc\u05d5\u05dd"`, `"שלום"`},
		{`"a\/b\u000a"`, `"a/b\n"`},
		{`{"\u0061": 1}`, `{"a": 1.0}`},
		{`[12, -0, 1e2]`, `[12.0, 0, 100]`},
	} {
		a, b := decode(t, pair[0]), decode(t, pair[1])
		g := NewWithT(t)
		g.Expect(value.Equal(a, b)).To(BeTrue(), "%v", pair)
		g.Expect(value.Diff(a, b)).To(BeEmpty())
		g.Expect(value.Canonical(a)).To(Equal(value.Canonical(b)))
	}
}

func TestDiffPointsAtWhatDiffers(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want []string
	}{
		{`1`, `2`, []string{""}},
		{`1`, `"1"`, []string{""}},
		{`null`, `false`, []string{""}},
		{`null`, `0`, []string{""}},
		{`""`, `null`, []string{""}},
		{`[]`, `{}`, []string{""}},
		{`{"n":9007199254740993}`, `{"n":9007199254740992}`, []string{"/n"}},
		{`[1,2,3]`, `[3,2,1]`, []string{"/0", "/2"}},
		{`[1]`, `[1,2,3]`, []string{"/1", "/2"}},
		{`{"b":1,"a":1}`, `{"c":1,"a":2}`, []string{"/a", "/b", "/c"}},
		{`{"a":null}`, `{}`, []string{"/a"}},
		{`{"a/b":{"~":1,"":2}}`, `{"a/b":{"~":2,"":3}}`, []string{"/a~1b/", "/a~1b/~0"}},
		{`{"x":{"deep":[{"y":true}]}}`, `{"x":{"deep":[{"y":false}]}}`, []string{"/x/deep/0/y"}},
		{`"é"`, `"e\u0301"`, []string{""}},
	} {
		g := NewWithT(t)
		a, b := decode(t, row.a), decode(t, row.b)
		g.Expect(value.Diff(a, b)).To(Equal(row.want), "%s %s", row.a, row.b)
		g.Expect(value.Diff(b, a)).To(Equal(row.want))
		g.Expect(value.Equal(a, b)).To(BeFalse())
		g.Expect(value.Canonical(a)).NotTo(Equal(value.Canonical(b)))
	}
}

func TestCanonicalAndEncode(t *testing.T) {
	g := NewWithT(t)
	v := decode(t, `{ "b": [1.0, 1e2, "\u00e9\u0001\t\"\\\u2028<"], "a": {"\u05d0": null, "": true} }`)
	g.Expect(string(value.Canonical(v))).To(Equal("{\"a\":{\"\":true,\"א\":null},\"b\":[1,100,\"é\\u0001\\t\\\"\\\\\u2028<\"]}"))
	g.Expect(string(value.Encode(v))).To(Equal("{\"a\":{\"\":true,\"א\":null},\"b\":[1.0,1e2,\"é\\u0001\\t\\\"\\\\\u2028<\"]}"))
	g.Expect(func() { value.Encode(map[string]any{"a": 1}) }).To(PanicWith(ContainSubstring("int is not a JSON value")))
}

// The fingerprint's framing rests on this: no two values share their bytes.
func TestCanonicalSeparatesNeighbours(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		`1`, `"1"`, `[1]`, `["1"]`, `{"1":1}`, `{"1":"1"}`, `[[1]]`, `[1,1]`, `["1,1"]`, `""`, `null`, `"null"`, `[null]`, `[]`, `{}`, `[{}]`, `{"":{}}`,
		`true`, `"true"`, `"\""`, `"\\"`, `"\\\""`, `-1`, `10`, `0.1`, `1e25`, `"1e25"`,
	} {
		canonical := string(value.Canonical(decode(t, text)))
		NewWithT(t).Expect(seen).NotTo(HaveKey(canonical), text)
		seen[canonical] = text
	}
}

func TestAt(t *testing.T) {
	g := NewWithT(t)
	v := decode(t, `{"a/b": [10, {"~": "x", "": null}]}`)
	for pointer, want := range map[string]any{"/a~1b/0": value.Number("10"), "/a~1b/1/~0": "x"} {
		found, ok := value.At(v, pointer)
		g.Expect(ok).To(BeTrue(), pointer)
		g.Expect(found).To(Equal(want))
	}
	found, ok := value.At(v, "/a~1b/1/")
	g.Expect(found).To(BeNil())
	g.Expect(ok).To(BeTrue())
	whole, ok := value.At(v, "")
	g.Expect(ok).To(BeTrue())
	g.Expect(whole).To(Equal(v))
	for _, nowhere := range []string{"a", "/", "/a", "/a~1b/2", "/a~1b/-1", "/a~1b/00", "/a~1b/+0", "/a~1b/x", "/a~1b/0/0"} {
		_, ok := value.At(v, nowhere)
		g.Expect(ok).To(BeFalse(), nowhere)
	}
}
