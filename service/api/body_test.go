package api

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

// read is readBody for a body of at most 100 bytes with the members a and b.
func read(text string, header http.Header, optional bool) (body, *problem) {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text))
	for name, values := range header {
		request.Header[name] = values
	}
	b, err := readBody(httptest.NewRecorder(), request, 100, optional, "a", "b")
	if err != nil {
		return b, known(err)
	}
	return b, nil
}

func TestABodyIsReadStrictly(t *testing.T) {
	for name, row := range map[string]struct {
		text    string
		kind    Kind
		pointer string
	}{
		"empty":                  {"", MalformedBody, ""},
		"white space":            {"  \n", MalformedBody, ""},
		"cut short":              {`{"a": {"x"`, MalformedBody, "/a/x"},
		"not JSON":               {"contract=x", MalformedBody, ""},
		"array":                  {`[]`, MalformedBody, ""},
		"null":                   {`null`, MalformedBody, ""},
		"text":                   {`"a"`, MalformedBody, ""},
		"unknown field":          {`{"a": 1, "x/y~z": 2}`, MalformedBody, "/x~1y~0z"},
		"case of a name":         {`{"A": 1}`, MalformedBody, "/A"},
		"duplicate key":          {`{"a": 1, "a": 2}`, MalformedBody, "/a"},
		"duplicate key, escaped": {`{"a": 1, "\u0061": 2}`, MalformedBody, "/a"},
		"duplicate key, deep":    {`{"a": {"k": 1, "k": 2}}`, MalformedBody, "/a/k"},
		"bad UTF-8":              {"{\"a\": \"\xff\"}", MalformedBody, ""},
		"lone surrogate":         {`{"a": "\ud800"}`, MalformedBody, "/a"},
		"NUL":                    {`{"a": "\u0000"}`, MalformedBody, "/a"},
		"trailing value":         {`{"a": 1} {}`, MalformedBody, ""},
		"trailing comma":         {`{"a": 1,}`, MalformedBody, ""},
		"comment":                {`{"a": 1} // x`, MalformedBody, ""},
		"byte order mark":        {"\xef\xbb\xbf{}", MalformedBody, ""},
		"NaN":                    {`{"a": NaN}`, MalformedBody, "/a"},
		"too large":              {`{"a": "` + strings.Repeat("x", 100) + `"}`, BodyTooLarge, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, p := read(row.text, nil, false)
			g.Expect(p).NotTo(gomega.BeNil(), "the body was taken")
			g.Expect(p.Kind).To(gomega.Equal(row.kind))
			if row.pointer != "" {
				g.Expect(p.Extra).To(gomega.HaveKeyWithValue("pointer", row.pointer))
			}
		})
	}
}

func TestABodyKeepsItsText(t *testing.T) {
	g := gomega.NewWithT(t)
	b, p := read(`{"a": {"n": 9007199254740993, "f": 1.00, "s": "\u00e9"}, "b": "x"}`, nil, false)
	g.Expect(p).To(gomega.BeNil())
	_, text, err := b.object("a")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(text).To(gomega.Equal(`{"n": 9007199254740993, "f": 1.00, "s": "\u00e9"}`))
	g.Expect(b.text("b")).To(gomega.Equal("x"))
	g.Expect(string(encode(map[string]any{"raw": raw(text)}))).To(gomega.Equal(`{"raw":{"n":9007199254740993,"f":1.00,"s":"\u00e9"}}`))
}

func TestMembersHaveTypes(t *testing.T) {
	for text, pointer := range map[string]string{
		`{"a": 1}`: "/a", `{"a": null}`: "/a", `{"a": ["x"]}`: "/a", `{"a": ""}`: "/a", `{}`: "/a",
	} {
		t.Run(text, func(t *testing.T) {
			g := gomega.NewWithT(t)
			b, p := read(text, nil, false)
			g.Expect(p).To(gomega.BeNil())
			_, err := b.requiredText("a")
			g.Expect(known(err)).To(gomega.HaveField("Kind", MalformedBody))
			g.Expect(known(err).Extra).To(gomega.HaveKeyWithValue("pointer", pointer))
			_, _, err = b.object("a")
			g.Expect(known(err)).To(gomega.HaveField("Kind", MalformedBody))
		})
	}
}

func TestAnOptionalBodyMayBeEmpty(t *testing.T) {
	g := gomega.NewWithT(t)
	b, p := read("", nil, true)
	g.Expect(p).To(gomega.BeNil())
	g.Expect(b.has("a")).To(gomega.BeFalse())
	_, p = read("x", nil, true)
	g.Expect(p).To(gomega.HaveField("Kind", MalformedBody))
}

func TestMediaTypes(t *testing.T) {
	for name, row := range map[string]struct {
		header http.Header
		taken  bool
	}{
		"absent":          {http.Header{}, true},
		"JSON":            {http.Header{"Content-Type": {"application/json"}}, true},
		"JSON in UTF-8":   {http.Header{"Content-Type": {"Application/JSON; charset=UTF-8"}}, true},
		"identity":        {http.Header{"Content-Encoding": {"identity"}}, true},
		"JSON in Latin-1": {http.Header{"Content-Type": {"application/json; charset=latin1"}}, false},
		"form":            {http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, false},
		"text":            {http.Header{"Content-Type": {"text/plain"}}, false},
		"nonsense":        {http.Header{"Content-Type": {";;"}}, false},
		"gzip":            {http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, p := read(`{"a": 1}`, row.header, false)
			if row.taken {
				g.Expect(p).To(gomega.BeNil())
				return
			}
			g.Expect(p).To(gomega.HaveField("Kind", UnsupportedMediaType))
		})
	}
}

// interrupted is a body whose sender goes away.
type interrupted struct{ *bytes.Reader }

func (r interrupted) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		return n, errors.New("connection reset")
	}
	return n, nil
}

func TestABodyThatEndsEarlyIsMalformed(t *testing.T) {
	g := gomega.NewWithT(t)
	request := httptest.NewRequest(http.MethodPost, "/", interrupted{bytes.NewReader([]byte(`{"a": 1}`))})
	_, err := readBody(httptest.NewRecorder(), request, 100, false, "a")
	g.Expect(known(err)).To(gomega.HaveField("Kind", MalformedBody))
}

func TestADeclaredLengthBeyondTheLimitIsNotRead(t *testing.T) {
	g := gomega.NewWithT(t)
	unread := bytes.NewReader(bytes.Repeat([]byte(" "), 101))
	request := httptest.NewRequest(http.MethodPost, "/", unread)
	_, err := readBody(httptest.NewRecorder(), request, 100, false, "a")
	g.Expect(known(err)).To(gomega.HaveField("Kind", BodyTooLarge))
	g.Expect(unread.Len()).To(gomega.Equal(101))
}
