package structure_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/structure"
	"github.com/fallproof/fallproof/contracts/value"
	. "github.com/onsi/gomega"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "id": {"type": "integer"},
    "level": {"enum": ["low", "high", null]},
    "kind": {"const": "note"},
    "day": {"type": "string", "format": "date"},
    "a/b": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"], "additionalProperties": false}}
  },
  "required": ["id"]
}`

func compile(t testing.TB, schema string) *structure.Checker {
	t.Helper()
	checker, err := structure.Compile(&contracts.Contract{Schema: []byte(schema)})
	if err != nil {
		t.Fatal(err)
	}
	return checker
}

func TestJudgeAccepts(t *testing.T) {
	checker := compile(t, schema)
	for _, content := range []string{
		`{"id": 1}`,
		"\n\t {\"id\": 1}\r\n",
		`{"id": 12.0}`,
		`{"id": 1e2, "level": null, "kind": "note", "day": "2026-01-31", "a/b": "\u05e9\u05dc\u05d5\u05dd"}`,
		`{"id": 9007199254740993}`,
		`{"id": 123456789012345678901234567890}`,
		`{"id": 1, "a/b": "x\u0000y"}`,
		`{"id": 1, "tags": [{"n": 0.1}, {"n": -1e-30}]}`,
	} {
		answer, findings := checker.Judge(content)
		NewWithT(t).Expect(findings).To(BeEmpty(), content)
		NewWithT(t).Expect(answer).To(HaveKey("id"))
	}
}

func TestIntegersBeyond2To53StayExact(t *testing.T) {
	g := NewWithT(t)
	answer, findings := compile(t, schema).Judge(`{"id": 9007199254740993}`)
	g.Expect(findings).To(BeEmpty())
	g.Expect(answer).To(Equal(map[string]any{"id": value.Number("9007199254740993")}))
	g.Expect(structure.Remarks(answer)).To(HaveExactElements(structure.Finding{
		Reason: structure.UnsafeInteger, InstancePath: "/id", Detail: "9007199254740993 is beyond 2^53: readers that use doubles change it",
	}))
	safe, _ := compile(t, schema).Judge(`{"id": -9007199254740992, "tags": [{"n": 0.1}, {"n": 1e300}]}`)
	g.Expect(structure.Remarks(safe)).To(BeEmpty(), "a number with a fraction or an exponent was never meant to be exact")

	bounded := compile(t, `{"properties": {"id": {"type": "integer", "maximum": 9007199254740992}}}`)
	_, findings = bounded.Judge(`{"id": 9007199254740993}`)
	g.Expect(findings).To(HaveLen(1), "compared exactly too")
	_, findings = bounded.Judge(`{"id": 9007199254740992}`)
	g.Expect(findings).To(BeEmpty())
}

// What overflows a double, or underflows to zero, is no fault of JSON, and is not what its readers get.
func TestNumbersBeyondDoublesAreNamed(t *testing.T) {
	const overflows, vanishes = "readers that use doubles refuse it, or read infinity", "readers that use doubles read 0"
	integer := "1" + strings.Repeat("0", 309)
	for literal, becomes := range map[string]string{
		"1e400": overflows, "-1e400": overflows, "1.8e308": overflows, integer: overflows,
		"1e-400": vanishes, "-1.5E-399": vanishes, "0." + strings.Repeat("0", 330) + "1": vanishes,
		"1.7e308": "", "5e-324": "", "0": "", "-0.0": "", "0e400": "", "0.000e-999": "", "1e300": "",
	} {
		g := NewWithT(t)
		answer, findings := compile(t, schema).Judge(`{"id": 1, "tags": [{"n": ` + literal + `}]}`)
		g.Expect(findings).To(BeEmpty(), literal)
		if becomes == "" {
			g.Expect(structure.Remarks(answer)).To(BeEmpty(), literal)
			continue
		}
		shown := literal
		if len(shown) > 60 {
			shown = shown[:60] + "…"
		}
		g.Expect(structure.Remarks(answer)).To(HaveExactElements(structure.Finding{
			Reason: structure.BeyondDouble, InstancePath: "/tags/0/n", Detail: shown + " is beyond what a double can hold: " + becomes,
		}))
	}
}

func TestJudgeNamesTheReason(t *testing.T) {
	checker := compile(t, schema)
	for _, row := range []struct {
		name, content string
		reason        structure.Reason
		path, detail  string
	}{
		{"nothing", "", structure.Empty, "", "no JSON value"},
		{"prose", "I cannot read this invoice.", structure.NotJSON, "", "not JSON"},
		{"NaN", `{"id": NaN}`, structure.NotFinite, "/id", "NaN"},
		{"NaN before a list", `{"id": NaN, "tags": ["a", {"b": 1}]}`, structure.NotFinite, "/id", "NaN"},
		{"Infinity", `{"id": -Infinity}`, structure.NotFinite, "/id", "Infinity"},
		{"raw newline in a string", "{\"id\": 1, \"a/b\": \"x\ny\"}", structure.RawControl, "/a~1b", `raw control character '\n'`},
		{"byte order mark", "\ufeff{\"id\": 1}", structure.ByteOrderMark, "", "byte order mark"},
		{"lone surrogate", `{"id": 1, "a/b": "\ud83d"}`, structure.LoneSurrogate, "/a~1b", "lone surrogate"},
		{"bad UTF-8", "{\"id\": 1, \"a/b\": \"\xff\"}", structure.InvalidUTF8, "", "invalid UTF-8"},
		{"white space alone", strings.Repeat(" ", 40), structure.Empty, "", "no JSON value"},
		{"white space for ever", `{"id": 1,` + strings.Repeat(" \n", 400), structure.WhiteSpaceLoop, "", "800 bytes of white space"},
		{"white space for ever in a whole value", `{"id":` + strings.Repeat("\t", 600) + `1}`, structure.WhiteSpaceLoop, "", "600 bytes"},
		{"the same for ever", `{"id": 1, "a/b": "` + strings.Repeat("very ", 200), structure.Runaway, "", `repeat " very`},
		{"a list for ever", `{"id": 1, "tags": [` + strings.Repeat(`{"n": 0}, `, 100), structure.Runaway, "", "repeat"},
		{"cut short", `{"id": 1, "tags": [`, structure.NotJSON, "/tags", "cut short"},
		{"single quotes", `{'id': 1}`, structure.NotJSON, "", "not JSON"},
		{"trailing comma", `{"id": 1,}`, structure.NotJSON, "", "not JSON"},
		{"too deep", strings.Repeat("[", 500) + strings.Repeat("]", 500), structure.NotJSON, strings.Repeat("/0", 200), "deeper"},
		{"fence", "```json\n{\"id\": 1}\n```", structure.Fenced, "", "code fence"},
		{"fence without a language", "```\n{\"id\": 1}\n```\n", structure.Fenced, "", "code fence"},
		{"fence with prose around", "Here you are:\n```json\n{\"id\": 1}\n```\nAnything else?", structure.Fenced, "", "code fence"},
		{"fence that is not closed", "```json\n{\"id\": 1}\n", structure.Fenced, "", "code fence"},
		{"text before", `Sure! {"id": 1}`, structure.TextAround, "", "before"},
		{"text before and after", "Here is {the} result:\n{\"id\": 1}\nRegards", structure.TextAround, "", "before"},
		{"leaked reasoning", "<think>The id [sic] is 1.</think>\n{\"id\": 1}", structure.TextAround, "", "before"},
		{"text after", "{\"id\": 1}\n\nNote: the id was guessed.", structure.TrailingBytes, "", "25 bytes after"},
		{"a second value", `{"id": 1}{"id": 2}`, structure.TrailingBytes, "", "after"},
		{"a brace too many", `{"id": 1}}`, structure.TrailingBytes, "", "after"},
		{"a comma after", `{"id": 1},`, structure.TrailingBytes, "", "after"},
		{"a space that JSON does not know after", "{\"id\": 1}\u00a0", structure.TrailingBytes, "", "2 bytes after"},
		{"a wide space after", "{\"id\": 1}\n\u3000", structure.TrailingBytes, "", "3 bytes after"},
		{"a next line after", "{\"id\": 1}\u0085", structure.TrailingBytes, "", "2 bytes after"},
		{"repeated key", `{"id": 1, "id": 1}`, structure.DuplicateKey, "/id", "duplicate key"},
		{"repeated key in other spelling", `{"id": 1, "\u0069d": 2}`, structure.DuplicateKey, "/id", "duplicate key"},
		{"repeated key further down", `{"id": 1, "tags": [{"n": 1, "n": 2}]}`, structure.DuplicateKey, "/tags/0/n", "duplicate key"},
		{"key that nobody asked for", `{"id": 1, "confidence": 0.9}`, structure.UnknownKey, "/confidence", `"confidence" is not known`},
		{"key in other case", `{"id": 1, "Level": "low"}`, structure.UnknownKey, "/Level", "not known"},
		{"not an object", `[{"id": 1}]`, structure.SchemaViolation, "", "expected object, but got array"},
		{"a text that holds JSON", `"{\"id\": 1}"`, structure.SchemaViolation, "", "expected object, but got string"},
		{"missing key", `{}`, structure.SchemaViolation, "", "missing properties: 'id'"},
		{"wrong type", `{"id": "1"}`, structure.SchemaViolation, "/id", "expected integer, but got string"},
		{"fraction", `{"id": 1.5}`, structure.SchemaViolation, "/id", "expected integer"},
		{"enum in other case", `{"id": 1, "level": "LOW"}`, structure.SchemaViolation, "/level", `"LOW" differs from "low" only in case`},
		{"const in other case", `{"id": 1, "kind": "Note"}`, structure.SchemaViolation, "/kind", `"Note" differs from "note" only in case`},
		{"other enum value", `{"id": 1, "level": "medium"}`, structure.SchemaViolation, "/level", "value must be one of"},
		{"format", `{"id": 1, "day": "31.01.2026"}`, structure.SchemaViolation, "/day", "is not valid 'date'"},
		{"day that does not exist", `{"id": 1, "day": "2026-02-30"}`, structure.SchemaViolation, "/day", "is not valid 'date'"},
		{"path is escaped", `{"id": 1, "a/b": 1}`, structure.SchemaViolation, "/a~1b", "expected string"},
		{"further down", `{"id": 1, "tags": [{"n": 1}, {"n": "x"}]}`, structure.SchemaViolation, "/tags/1/n", "expected number"},
		{"absurd exponent", `{"id": 1e999999999}`, structure.SchemaViolation, "/id", "exponents beyond"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			answer, findings := checker.Judge(row.content)
			g.Expect(findings).To(HaveLen(1), "%v", findings)
			g.Expect(findings[0].Reason).To(Equal(row.reason), findings[0].Detail)
			g.Expect(findings[0].InstancePath).To(Equal(row.path))
			g.Expect(findings[0].Detail).To(ContainSubstring(row.detail))
			readable := row.reason == structure.SchemaViolation || row.reason == structure.UnknownKey
			g.Expect(answer != nil).To(Equal(readable), "a value exists exactly where one could be read")
		})
	}
}

func TestUnknownTopLevelKeysFailWhateverTheSchemaTolerates(t *testing.T) {
	for name, row := range map[string]struct {
		schema string
		want   []structure.Finding
	}{
		"additional properties allowed": {`{"properties": {"id": {}}, "additionalProperties": true}`, []structure.Finding{
			{structure.UnknownKey, "/x", `key "x" is not known to the contract`},
		}},
		"additional properties with a schema": {`{"properties": {"id": {}}, "additionalProperties": {"type": "number"}}`, []structure.Finding{
			{structure.UnknownKey, "/x", `key "x" is not known to the contract`},
			{structure.SchemaViolation, "/x", "expected number, but got string"},
		}},
		"refused by the schema as well, said once": {`{"properties": {"id": {}}, "additionalProperties": false}`, []structure.Finding{
			{structure.UnknownKey, "/x", `key "x" is not known to the contract`},
		}},
		"unevaluated": {`{"properties": {"id": {}}, "unevaluatedProperties": false}`, []structure.Finding{
			{structure.UnknownKey, "/x", `key "x" is not known to the contract`},
		}},
		"known through a reference":  {`{"$ref": "#/$defs/answer", "$defs": {"answer": {"properties": {"id": {}, "x": {}}}}}`, nil},
		"known through combinations": {`{"allOf": [{"properties": {"id": {}}}], "anyOf": [{"oneOf": [{"properties": {"x": {}}}]}]}`, nil},
		"known through a condition":  {`{"if": {"properties": {"id": {}}}, "then": {"properties": {"x": {}}}}`, nil},
		"known by a pattern":         {`{"patternProperties": {"^(id|x)$": {}}}`, nil},
		"known only further down": {`{"properties": {"id": {"properties": {"x": {}}}}}`, []structure.Finding{
			{structure.UnknownKey, "/x", `key "x" is not known to the contract`},
		}},
		"a schema that refers to itself": {`{"properties": {"id": {"$ref": "#"}, "x": {}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, findings := compile(t, row.schema).Judge(`{"id": 1, "x": "extra"}`)
			if name == "a schema that refers to itself" {
				_, findings = compile(t, row.schema).Judge(`{"id": {"id": {}}, "x": "extra"}`)
			}
			NewWithT(t).Expect(findings).To(Equal(row.want))
		})
	}
}

// What repeats because it is meant to is no loop.
func TestWhatIsNoLoop(t *testing.T) {
	checker := compile(t, schema)
	for _, content := range []string{
		`{"id": 1, "a/b": "` + strings.Repeat("x", 5000) + `"}`,
		`{"id": 1, "tags": [` + strings.Repeat(`{"n": 0}, `, 500) + `{"n": 0}]}`,
		`{"id": 1,` + strings.Repeat(" ", 300) + `"tags": []}` + strings.Repeat("\n", 300),
	} {
		_, findings := checker.Judge(content)
		NewWithT(t).Expect(findings).To(BeEmpty(), content)
	}
	closing := strings.Repeat(`{"a": `, 100) + "1" + strings.Repeat("\n    }", 100)
	_, findings := compile(t, `{"properties": {"a": {}}}`).Judge(closing)
	NewWithT(t).Expect(findings).To(BeEmpty(), "what closes a hundred objects")
}

func TestAFenceIsTakenOffWhereTheContractAllowsIt(t *testing.T) {
	checker, err := structure.Compile(&contracts.Contract{Schema: []byte(schema), UnwrapFence: true})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for content, reason := range map[string]structure.Reason{
		"```json\n{\"id\": 1}\n```":              "",
		"\n```\n{\"id\": 1}\n```\n":              "",
		`{"id": 1}`:                              "",
		"```json\n{\"id\": 1, \"x\": 2}\n```":    structure.UnknownKey,
		"Here:\n```json\n{\"id\": 1}\n```":       structure.Fenced,
		"```json\n{\"id\": 1}\n```\nA note.":     structure.Fenced,
		"```json\n{\"id\": 1}":                   structure.Fenced,
		"```json\n{\"id\": 1}\n```\n```\n2\n```": structure.Fenced,
		"```json\n{\"id\": \"```\"}\n```":        structure.SchemaViolation,
	} {
		t.Run(content, func(t *testing.T) {
			g := NewWithT(t)
			_, findings := checker.Judge(content)
			if reason == "" {
				g.Expect(findings).To(BeEmpty())
				g.Expect(strings.TrimSpace(checker.Unwrap(content))).To(Equal(`{"id": 1}`), "which is what a job's result is")
				return
			}
			g.Expect(findings).To(HaveLen(1))
			g.Expect(findings[0].Reason).To(Equal(reason))
		})
	}
}

func TestFindingsComeInOneOrder(t *testing.T) {
	g := NewWithT(t)
	checker := compile(t, strings.Replace(schema, `"required": ["id"]`, `"required": ["id"], "additionalProperties": false`, 1))
	content := `{"z": 1, "y": 2, "x": 3, "level": "LOW", "day": "x", "tags": [{"c": 1, "b": 2, "a": 3}, 7]}`
	_, first := checker.Judge(content)
	g.Expect(first).To(HaveLen(9))
	g.Expect(first[0].InstancePath).To(Equal("/x"))
	for range 50 {
		_, again := checker.Judge(content)
		g.Expect(again).To(Equal(first))
	}
	g.Expect(first).To(ContainElement(structure.Finding{
		structure.SchemaViolation, "/tags/0", "additionalProperties 'a', 'b', 'c' not allowed",
	}))
}

func TestCompileRefuses(t *testing.T) {
	for name, row := range map[string]struct{ schema, complaint string }{
		"no JSON":                   {`{"type": object}`, "not JSON"},
		"repeated key":              {`{"type": "object", "type": "array"}`, "duplicate key"},
		"another draft":             {`{"$schema": "http://json-schema.org/draft-07/schema#"}`, "contracts are written in draft 2020-12"},
		"unknown type":              {`{"properties": {"a": {"type": "text"}}}`, "/properties/a/type"},
		"not a schema":              {`[]`, "the whole"},
		"reference to the web":      {`{"$ref": "https://example.com/schema.json"}`, "outside the schema"},
		"reference to a file":       {`{"$ref": "file:///etc/passwd"}`, "outside the schema"},
		"reference to a neighbour":  {`{"$ref": "other.json"}`, "reference to other.json, which is outside the schema"},
		"reference into nothing":    {`{"$ref": "#/$defs/nothing"}`, "nothing"},
		"reference to itself alone": {`{"$ref": "#"}`, "schema: infinite loop #/$ref"},
		"reference inside of an id": {`{"$id": "https://example.com/a/", "$ref": "b"}`, "outside the schema"},
		"broken pattern":            {`{"properties": {"a": {"pattern": "("}}}`, "/properties/a/pattern"},
		"look-ahead":                {`{"properties": {"a": {"pattern": "(?=x)"}}}`, "pattern"},
		"absurd number":             {`{"properties": {"a": {"maximum": 1e999999999}}}`, "/properties/a/maximum: "},
	} {
		t.Run(name, func(t *testing.T) {
			checker, err := structure.Compile(&contracts.Contract{Schema: []byte(row.schema)})
			g := NewWithT(t)
			g.Expect(checker).To(BeNil())
			g.Expect(err).To(MatchError(ContainSubstring(row.complaint)))
			g.Expect(err).To(MatchError(HavePrefix("schema: ")))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
		})
	}
}

func TestHostileTextIsReadFast(t *testing.T) {
	content := strings.Repeat("{[", 500_000)
	_, findings := compile(t, schema).Judge(content)
	NewWithT(t).Expect(findings).To(HaveLen(1))
	NewWithT(t).Expect(findings[0].Reason).To(Equal(structure.Runaway))
	_, findings = compile(t, schema).Judge(content + `"`)
	NewWithT(t).Expect(findings[0].Reason).To(Equal(structure.NotJSON))
}

func TestDescribesObject(t *testing.T) {
	g := NewWithT(t)
	g.Expect(compile(t, schema).DescribesObject()).To(BeTrue())
	g.Expect(compile(t, `{"patternProperties": {"^x": {}}}`).DescribesObject()).To(BeTrue())
	g.Expect(compile(t, `{}`).DescribesObject()).To(BeFalse())
	g.Expect(compile(t, `{"type": "array", "items": {"properties": {"a": {}}}}`).DescribesObject()).To(BeFalse())
}

// An answer of a few megabytes can break the schema a million times: neither may the judging take minutes nor the
// findings take more than the answer does.
func TestAnswersOfVeryManyFaults(t *testing.T) {
	g, checker := NewWithT(t), compile(t, schema)
	of := func(values int) string { // the object, the list, the id and the list's elements
		return `{"id": 1, "tags": [` + strings.TrimSuffix(strings.Repeat("1,", values-3), ",") + `]}`
	}
	_, findings := checker.Judge(of(structure.MaxValues))
	g.Expect(findings).To(HaveLen(101))
	g.Expect(findings[100]).To(Equal(structure.Finding{Reason: structure.SchemaViolation, Detail: "and 99897 more"}))
	for name, content := range map[string]string{
		"in a list": of(structure.MaxValues + 1), "as keys": `{"id": 1, "x": {` + manyKeys(structure.MaxValues) + `}}`,
	} {
		_, findings = checker.Judge(content)
		g.Expect(findings).To(HaveExactElements(HaveField("Reason", structure.TooManyValues)), name)
	}
	_, findings = checker.Judge(`{"id": 1, ` + manyKeys(1000) + `}`)
	g.Expect(findings).To(HaveLen(101))
	g.Expect(findings[100]).To(Equal(structure.Finding{Reason: structure.UnknownKey, Detail: "and 900 more"}))
}

func manyKeys(n int) string {
	var keys strings.Builder
	for i := range n {
		fmt.Fprintf(&keys, `"k%d": 1,`, i)
	}
	return strings.TrimSuffix(keys.String(), ",")
}
