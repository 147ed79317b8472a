package value_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/goccy/go-yaml/parser"
	. "github.com/onsi/gomega"
)

func fromYAML(t *testing.T, text string) (any, error) {
	t.Helper()
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	return value.FromYAML(file.Docs[0].Body)
}

func TestFromYAMLIsExact(t *testing.T) {
	for _, row := range []struct{ yaml, json string }{
		{"n: 9007199254740993", `{"n":9007199254740993}`},
		{"n: 123456789012345678901234567890", `{"n":123456789012345678901234567890}`},
		{"n: -9223372036854775809", `{"n":-9223372036854775809}`},
		{"n: 0.1000000000000000000000001", `{"n":0.1000000000000000000000001}`},
		{"n: 1.50", `{"n":1.50}`},
		{"n: 1e999", `{"n":1e999}`},
		{"n: \"123456789012345678901234567890\"", `{"n":"123456789012345678901234567890"}`},
		{"n: 1e3", `{"n":1e3}`},
		{"n: 0", `{"n":0}`},
		{"- a\n- ~\n- null\n- true\n- 'true'\n- \"12\"\n-\n", `["a",null,null,true,"true","12",null]`},
		{"d: 2024-01-31\nv: 1.2.3\ny: yes\ne: \"\"\n", `{"d":"2024-01-31","v":"1.2.3","y":"yes","e":""}`},
		{"text: |\n  Zeile 1\n  שורה 2\n\n  {{ x }}\n", `{"text":"Zeile 1\nשורה 2\n\n{{ x }}\n"}`},
		{"text: >-\n  a\n  b\n", `{"text":"a b"}`},
		{"a: {b: [1, {c: 2.0}], d: {}}", `{"a":{"b":[1,{"c":2.0}],"d":{}}}`},
		{"\"1\": x\n'true': y\n", `{"1":"x","true":"y"}`},
		{"u: \"\\u00e9 \\x41\"", `{"u":"é A"}`},
		{"a: # nothing\nb: 2 # two\n", `{"a":null,"b":2}`},
	} {
		g := NewWithT(t)
		got, err := fromYAML(t, row.yaml)
		g.Expect(err).NotTo(HaveOccurred(), row.yaml)
		g.Expect(string(value.Encode(got))).To(Equal(string(value.Encode(decode(t, row.json)))), row.yaml)
	}
}

func TestFromYAMLRefusesWhatJSONCannotSay(t *testing.T) {
	for _, row := range []struct {
		yaml      string
		line      int
		complaint string
	}{
		{"a: 1\nb: 0x1F", 2, "0x1F is not a JSON number"},
		{"a: 0o17", 1, "not a JSON number"},
		{"a: 0123", 1, "not a JSON number"},
		{"a: 1_000", 1, "not a JSON number"},
		{"a: +5", 1, "not a JSON number"},
		{"a: .nan", 1, "not possible"},
		{"a:\n  - .inf", 2, "not possible"},
		{"a: 1\n2: x", 2, "is not a string"},
		{"true: x", 1, "is not a string"},
		{"a: &x 1\nb: *x", 1, "not possible"},
		{"a: !!binary aGk=", 1, "not possible"},
		{"a: \"x\\0y\"", 1, "NUL"},
		{strings.Repeat("[", 230) + strings.Repeat("]", 230), 1, "deeper than"},
	} {
		g := NewWithT(t)
		got, err := fromYAML(t, row.yaml)
		g.Expect(got).To(BeNil())
		var fault *value.YAMLError
		g.Expect(errors.As(err, &fault)).To(BeTrue(), "%s: %v", row.yaml, err)
		g.Expect(fault.Line).To(Equal(row.line), "%s: %v", row.yaml, err)
		g.Expect(fault.Detail).To(ContainSubstring(row.complaint))
		g.Expect(err.Error()).To(HavePrefix("line "))
	}
}
