package lint_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/lint"
	. "github.com/onsi/gomega"
)

const contractYAML = `name: total
messages:
  - {role: system, content: "Add up."}
  - {role: user, content: "{{ .a }} and {{ .b }}"}
variants:
  beta/b:
    messages:
      - {role: user, content: "Add: {{ .a }}, {{ .b }}"}
schema: schema.json
sampling: {temperature: 0, samples: 15, max_output_tokens: 50}
checks:
  - {name: adds up, expr: output.total == input.a + input.b}
  - {name: as expected, expr: expected == null || output == expected}
thresholds: {prompt: 1.0, structure: 0.90, business: 0.90, round_trip: 0.90}
valid_for: 24h
cases: cases/
`

const schemaJSON = `{"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"], "additionalProperties": false}`

// problems lints a sound contract in which the given texts have been replaced, pair by pair.
func problems(t *testing.T, replacements ...string) []string {
	t.Helper()
	return texts(lint.Examine(changed(t, replacements...)).Problems)
}

func texts(problems []lint.Problem) []string {
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	return texts
}

func changed(t *testing.T, replacements ...string) *contracts.Contract {
	t.Helper()
	files := map[string]string{
		"contract.yaml":  contractYAML,
		"schema.json":    schemaJSON,
		"cases/one.yaml": "name: one\ninput: {a: 0.1, b: 0.2}\nexpected: {total: 0.3}\n",
		"cases/two.yaml": "name: two\ninput: {a: 1, b: 2}\nexpected: {total: 3}\n",
	}
	fsys, replacer := fstest.MapFS{}, strings.NewReplacer(replacements...)
	differs := len(replacements) == 0
	for name, content := range files {
		replaced := replacer.Replace(content)
		differs = differs || replaced != content
		fsys["total/"+name] = &fstest.MapFile{Data: []byte(replaced)}
	}
	if !differs {
		t.Fatalf("%q replaces nothing", replacements)
	}
	c, err := contracts.Load(fsys, "total")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestASoundContractHasNoProblems(t *testing.T) {
	NewWithT(t).Expect(problems(t)).To(BeEmpty())
}

func TestLint(t *testing.T) {
	for _, row := range []struct {
		name         string
		replacements []string
		want         []string
	}{
		{"schema that does not compile", []string{`"type": "number"`, `"type": "money"`}, []string{
			"schema.json: error: schema: /properties/total/type: ",
		}},
		{"schema with keywords that nobody knows", []string{`"type": "number"`, `"type": "number", "minium": 0, "x-note": {"a": 1}, "not": {"type": "null", "formt": "date"}, "anyOf": [{"format": "dat"}, {"format": "date"}, true]`, `"required": ["total"]`, `"requierd": ["total"], "$defs": {"minium": {"nullable": true, "default": {"a": 1}}}`}, []string{
			`schema.json: warning: /$defs/minium/nullable: JSON Schema has no such keyword, so it asks for nothing: see whether it is misspelt`,
			`schema.json: warning: /properties/total/anyOf/0/format: no format "dat" is known, so it asks for nothing`,
			`schema.json: warning: /properties/total/minium: JSON Schema has no such keyword`,
			`schema.json: warning: /properties/total/not/formt: JSON Schema has no such keyword`,
			`schema.json: warning: /requierd: JSON Schema has no such keyword`,
		}},
		{"schema that names no keys", []string{schemaJSON, `{"type": "array"}`, "expected: {total: 0.3}\n", "", "expected: {total: 3}\n", "", "  - {name: as expected, expr: expected == null || output == expected}\n", ""}, []string{
			"schema.json: error: the schema must describe an object and name its keys",
			"contract.yaml:15: error: mutation score 0: no case has an expected answer, so the checks have never been tried, below mutation_floor 0.8: it can certify nothing",
		}},
		{"message that does not parse", []string{`"{{ .a }} and {{ .b }}"`, `"{{ .a"`}, []string{
			"contract.yaml:3: error: message 2 (user):1: unclosed action",
		}},
		{"variable that is missing", []string{`"{{ .a }} and {{ .b }}"`, `"{{ .a }} and {{ .b }} {{ .c }}"`}, []string{
			`contract.yaml:3: error: case "one" and 1 more: message 2 (user), line 1: variable "c" is missing`,
		}},
		{"variable that is not used", []string{"{a: 1, b: 2}", "{a: 1, b: 2, c: 3}"}, []string{
			`contract.yaml:3: error: case "two": field "c" is used by no message`,
			`contract.yaml:7: error: variant beta/b: case "two": field "c" is used by no message`,
		}},
		{"variant alone", []string{"Add: {{ .a }}, {{ .b }}", "Add: {{ .a }}"}, []string{
			`contract.yaml:7: error: variant beta/b: case "one" and 1 more: field "b" is used by no message`,
		}},
		{"variant without a user message", []string{`{role: user, content: "Add:`, `{role: system, content: "Add:`}, []string{
			`contract.yaml:7: error: variant beta/b: case "one" and 1 more: no user message`,
		}},
		{"checks that do not compile, all of them", []string{"output.total == input.a + input.b", "output.total", "expected == null ||", "expceted == null ||"}, []string{
			`contract.yaml:12: error: check "adds up": is a value of no certain type, not a boolean`,
			`contract.yaml:13: error: check "as expected": column 1: undeclared reference to 'expceted'`,
		}},
		{"check that fails on its own expected answer", []string{"input.a + input.b", "input.a - input.b"}, []string{
			`contract.yaml:12: error: check "adds up" refuses the expected answers of all 2 cases that have one: it does not hold`,
		}},
		{"check that fails on one expected answer", []string{"input.a + input.b", "(input.a == 1 ? 9 : input.a + input.b)"}, []string{
			`cases/two.yaml: error: expected answer: check "adds up" does not hold`,
		}},
		{"check that fails on every expected answer, for other reasons", []string{"output.total == input.a + input.b", "input.a == 1 ? output.total == 9 : output.total == input.x"}, []string{
			`cases/one.yaml: error: expected answer: check "adds up" cannot be evaluated: no such key: x`,
			`cases/two.yaml: error: expected answer: check "adds up" does not hold`,
		}},
		{"check that errs on its own expected answer", []string{"input.a + input.b", "input.x + input.b"}, []string{
			`contract.yaml:12: error: check "adds up" refuses the expected answers of all 2 cases that have one: it cannot be evaluated: no such key: x`,
		}},
		{"key that is misspelt where nothing reaches it", []string{"output == expected}", "(output == expected || output.ttoal.x == expected.ttl)}"}, []string{
			`contract.yaml:13: warning: check "as expected" reads output.ttoal: no answer has such a key, by the schema`,
			`contract.yaml:13: warning: check "as expected" reads expected.ttl: no answer has such a key, by the schema`,
		}},
		{"key that is misspelt behind has()", []string{"output.total == input.a + input.b", "output.total == input.a + input.b && (!has(output.ttl) || output.ttl == 0) && !has(input.c)"}, []string{
			`contract.yaml:12: warning: check "adds up" reads output.ttl: no answer has such a key, by the schema`,
			`contract.yaml:12: warning: check "adds up" reads input.c: no case's input has that`,
		}},
		{"expected answer that breaks the schema", []string{"{total: 0.3}", `{total: "0.3"}`, "output.total == input.a + input.b", "num(output.total) > 0"}, []string{
			`cases/one.yaml: error: expected answer: schema_violation at "/total": expected number, but got string`,
		}},
		{"expected answer with a key that the contract does not know", []string{"{total: 0.3}", "{total: 0.3, note: x}", `, "additionalProperties": false`, ""}, []string{
			`cases/one.yaml: error: expected answer: unknown_key at "/note"`,
		}},
		{"no checks", []string{"checks:\n  - {name: adds up, expr: output.total == input.a + input.b}\n  - {name: as expected, expr: expected == null || output == expected}\n", ""}, []string{
			"contract.yaml:1: warning: no checks: an answer that fits the schema and is wrong will pass",
			"contract.yaml:13: error: mutation score 0.000: the checks refuse 0 of 8 wrong answers, below mutation_floor 0.8: it can certify nothing",
		}},
		{"no expected answer", []string{"expected: {total: 0.3}\n", "", "expected: {total: 3}\n", ""}, []string{
			"contract.yaml:16: error: mutation score 0: no case has an expected answer, so the checks have never been tried, below mutation_floor 0.8: it can certify nothing",
		}},
		{"no expected answer, and none asked for", []string{"expected: {total: 0.3}\n", "", "expected: {total: 3}\n", "", "valid_for: 24h", "mutation_floor: 0\nvalid_for: 24h"}, []string{
			"contract.yaml:15: warning: mutation_floor 0 asks nothing of the checks: wrong answers may pass unnoticed; leave it out, and 0.8 is asked",
			`cases/one.yaml: warning: case "one" and 1 more, of 2, have no expected answer: whatever the checks' rules alone let pass there counts as right; say what is expected`,
		}},
		{"one case without an expected answer", []string{"expected: {total: 3}\n", ""}, []string{
			"contract.yaml:16: warning: only 4 wrong answers could be derived from the expected ones",
			`cases/two.yaml: warning: case "two", of 2, has no expected answer: whatever the checks' rules alone let pass there counts as right`,
		}},
		{"one case without an expected answer, and no rule that would refuse another's", []string{"expr: output.total == input.a + input.b}", "expr: output.total > 0}", "expected: {total: 3}\n", ""}, []string{
			"contract.yaml:16: warning: only 4 wrong answers could be derived from the expected ones",
			"cases/one.yaml: warning: the expected answer passes in every case: a model that reads nothing and always gives it would be certified",
			`cases/two.yaml: warning: case "two", of 2, has no expected answer: whatever the checks' rules alone let pass there counts as right`,
		}},
		{"one case without an expected answer, beside an error", []string{"expected: {total: 3}\n", "", "output.total ==", "output.tally =="}, []string{
			`cases/one.yaml: error: expected answer: check "adds up" cannot be evaluated`,
			`cases/two.yaml: warning: case "two", of 2, has no expected answer`,
		}},
		{"a floor of nothing", []string{"valid_for: 24h", "mutation_floor: 0.0\nvalid_for: 24h"}, []string{
			"contract.yaml:15: warning: mutation_floor 0 asks nothing of the checks: wrong answers may pass unnoticed (now the checks refuse 8 of 8); leave it out, and 0.8 is asked",
		}},
		{"checks that see too little", []string{"output.total == input.a + input.b", "output.total > 0", "output == expected", "true"}, []string{
			"contract.yaml:12: error: mutation score 0.500: the checks refuse 4 of 8 wrong answers, below mutation_floor 0.8: it can certify nothing",
		}},
		{"the same with a floor of its own", []string{"output.total == input.a + input.b", "output.total > 0", "output == expected", "true", "valid_for: 24h", "mutation_floor: 0.51\nvalid_for: 24h"}, []string{
			"contract.yaml:15: error: mutation score 0.500: the checks refuse 4 of 8 wrong answers, below mutation_floor 0.51: it can certify nothing",
		}},
		{"threshold out of reach", []string{"structure: 0.90", "structure: 0.98"}, []string{
			"contract.yaml:14: error: structure 0.98 is out of reach: 2 cases × 15 samples = 30 perfect answers prove 0.904; it takes 149 answers, so samples: 75",
		}},
		{"one sample too few", []string{"samples: 15", "samples: 14"}, []string{
			"contract.yaml:14: error: structure 0.9 is out of reach: 2 cases × 14 samples = 28 perfect answers prove 0.898; it takes 29 answers, so samples: 15",
			"contract.yaml:14: error: business 0.9 is out of reach",
			"contract.yaml:14: error: round_trip 0.9 is out of reach",
		}},
		{"prompts that may be at fault", []string{"prompt: 1.0", "prompt: 0.95"}, []string{"contract.yaml:14: warning: prompt 0.95 tolerates faults that are certain"}},
		{"threshold of one where nothing proves it", []string{"business: 0.90, round_trip: 0.90", "business: 1.0, round_trip: 1"}, []string{
			"contract.yaml:14: error: business 1 cannot be proven by any number of samples: only prompt can be 1.0",
			"contract.yaml:14: error: round_trip 1 cannot be proven by any number of samples: only prompt can be 1.0",
		}},
		{"two cases with the same input", []string{"{a: 1, b: 2}", "{b: 2e-1, a: 0.10}", "{total: 3}", "{total: 0.3}"}, []string{
			"cases/one.yaml: warning: the expected answer passes in every case",
			`cases/two.yaml: warning: case "two" has the same input as cases/one.yaml`,
		}},
		{"answers that are right in each other's place", []string{"output.total == input.a + input.b", "output.total > 0", "expr: expected == null || output == expected", `expr: "output.total in [0.3, 3]"`}, []string{
			"cases/one.yaml: warning: the expected answer passes in every case",
		}},
		{"a check that no job would pass", []string{"expected == null || output == expected", "output == expected"}, []string{
			`contract.yaml:13: error: check "as expected" does not pass the right answer where expected is null, as it is in every job (does not hold): begin it with ` + "`expected == null ||`",
		}},
		{"a check that errs in every job", []string{"expected == null || output == expected", "output.total == expected.total"}, []string{
			`contract.yaml:13: error: check "as expected" does not pass the right answer where expected is null, as it is in every job (cannot be evaluated: no such key: total)`,
		}},
		{"cases that contradict each other", []string{"{a: 1, b: 2}", "{b: 2e-1, a: 0.10}", "output.total == input.a + input.b", "output.total > 0"}, []string{
			`cases/two.yaml: warning: case "two" has the same input as cases/one.yaml and another expected answer: unless the checks take one answer for both, no model is right in both`,
		}},
		{"places that no answer has", []string{"valid_for: 24h", "valid_for: 24h\nunordered: [/items]\nfree_text: [/total, /note/*/text]"}, []string{
			"contract.yaml:16: warning: unordered /items: no answer has such a place", "contract.yaml:17: warning: free_text /note/*/text: no answer has such a place",
		}},
		{"a place that nothing checks", []string{`"total": {"type": "number"}`, `"total": {"type": "number"}, "note": {"type": "string"}`, `["total"]`, `["total", "note"]`,
			"{total: 0.3}", "{total: 0.3, note: rent}", "{total: 3}", "{total: 3, note: food}", "output == expected", "output.total == expected.total", "valid_for: 24h", "mutation_floor: 0.1\nvalid_for: 24h"}, []string{
			`contract.yaml:12: warning: nothing checks /note: none of the `,
		}},
		{"a check that refuses nothing", []string{"output.total == input.a + input.b", "output.total == input.a + input.b || true"}, []string{
			`contract.yaml:12: warning: check "adds up" refuses none of the 8 wrong answers that were tried: see whether it can refuse anything`,
		}},
		{"the same answer to every question", []string{"{a: 1, b: 2}", "{a: 0.2, b: 0.1}", "{total: 3}", "{total: 0.3}"}, []string{
			"cases/one.yaml: warning: the expected answer passes in every case: a model that reads nothing and always gives it would be certified; add a case with another answer",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			got := problems(t, row.replacements...)
			g.Expect(got).To(HaveLen(len(row.want)), "%q", got)
			for i, want := range row.want {
				g.Expect(got[i]).To(HavePrefix(want))
			}
		})
	}
}

func TestStrictModeWarnings(t *testing.T) {
	for _, row := range []struct {
		schema string
		want   []string
	}{
		{`{"type": "object", "properties": {"total": {"type": ["number", "null"]}}, "required": ["total"], "additionalProperties": false}`, nil},
		{`{"type": "object", "properties": {"total": {}, "b": {}, "a": {}}, "required": ["total"], "additionalProperties": false}`,
			[]string{"/: not required: a, b (write optional values as required and nullable)"}},
		{`{"type": "object", "properties": {"total": {"minLength": 1, "oneOf": [{}], "format": "uri"}}, "required": ["total"], "additionalProperties": false}`,
			[]string{"/properties/total: keyword minLength is not supported", "/properties/total: keyword oneOf is not supported", "/properties/total: format uri is not supported"}},
		{`{"type": "object", "properties": {"total": {"anyOf": [{"type": "number"}, {"type": "object", "additionalProperties": false, "properties": {"a/b": true}, "required": ["a/b"]}]}}, "required": ["total"], "additionalProperties": false}`,
			[]string{"/properties/total/anyOf/1/properties/a~1b: a boolean schema"}},
		{`{"type": "object", "properties": {"total": {"$ref": "#/$defs/t"}}, "required": ["total"], "additionalProperties": false, "$defs": {"t": {"type": "array", "items": {"properties": {}}}}}`,
			[]string{"/$defs/t/items: additionalProperties must be false"}},
		{`{"anyOf": [{"type": "object", "properties": {"total": {}}, "required": ["total"], "additionalProperties": false}]}`,
			[]string{"/: anyOf at the root"}},
	} {
		g := NewWithT(t)
		got := texts(lint.Strict(changed(t, schemaJSON, row.schema)))
		var want []string
		for _, w := range row.want {
			want = append(want, "schema.json: warning: strict mode: "+w)
		}
		g.Expect(got).To(HaveLen(len(want)), "%s: %q", row.schema, got)
		for i := range want {
			g.Expect(got[i]).To(Equal(want[i]))
		}
	}
}

func TestDeepNestingIsWarnedOfOnce(t *testing.T) {
	schema := `{"type": "number"}`
	for range 12 {
		schema = `{"type": "object", "properties": {"total": ` + schema + `}, "required": ["total"], "additionalProperties": false}`
	}
	g := NewWithT(t)
	got := texts(lint.Strict(changed(t, schemaJSON, schema)))
	g.Expect(got).To(HaveExactElements(ContainSubstring("objects nested deeper than 10")))
}

func TestFailed(t *testing.T) {
	g := NewWithT(t)
	g.Expect(lint.Failed(nil)).To(BeFalse())
	g.Expect(lint.Failed([]lint.Problem{{Severity: lint.Warning}})).To(BeFalse())
	g.Expect(lint.Failed([]lint.Problem{{Severity: lint.Warning}, {Severity: lint.Error}})).To(BeTrue())
}

// What makes a contract certify nothing is told without trying what its checks are worth.
func TestFaults(t *testing.T) {
	for _, row := range []struct {
		name         string
		replacements []string
		want         []string
	}{
		{"sound", nil, nil},
		{"a schema that does not compile", []string{schemaJSON, `{"type": 3}`}, []string{"schema.json: error: "}},
		{"a check that does not compile", []string{"expr: output.total ==", "expr: output.total ="}, []string{"contract.yaml:12: error: "}},
		{"an expected answer that a check refuses", []string{"{total: 3}", "{total: 4}"}, []string{`cases/two.yaml: error: expected answer: check "adds up" does not hold`}},
		{"an expected answer that breaks the schema", []string{"{total: 3}", "{total: x}"}, []string{`cases/two.yaml: error: expected answer: schema_violation`, `cases/two.yaml: error: `}},
		{"a threshold that nothing proves", []string{"structure: 0.90", "structure: 1.0"}, []string{"contract.yaml:14: error: structure 1 cannot be proven by any number of samples"}},
		{"a threshold that more samples prove", []string{"structure: 0.90", "structure: 0.99"}, nil},
		{"checks that are worth nothing", []string{"expr: output.total == input.a + input.b", "expr: 'true'", "expr: expected == null || output == expected", "expr: 'true'"}, nil},
		{"a prompt that cannot be rendered for any target", []string{"{{ .a }} and", "{{ .z }} and"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			faults, _, _ := lint.Faults(changed(t, row.replacements...))
			got := texts(faults)
			g := NewWithT(t)
			g.Expect(got).To(HaveLen(len(row.want)), "%q", got)
			for i, want := range row.want {
				g.Expect(got[i]).To(HavePrefix(want))
			}
		})
	}
}

// What a contract calls right its checks must not refuse: lists whose order means nothing come in any order.
func TestUnorderedAnswersMustPass(t *testing.T) {
	const lists = `{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}, "required": ["l"], "additionalProperties": false}`
	for check, want := range map[string][]string{
		"expected == null || same(output, expected)": {
			`cases/one.yaml: error: expected answer in another order, which unordered says is as right: check "as expected" does not hold; compare it with sameSet`,
		},
		"expected == null || sameSet(output.l, expected.l)": nil,
	} {
		got := texts(lint.Examine(changed(t, schemaJSON, lists, "{total: 0.3}", "{l: [1, 2, 2]}", "{total: 3}", "{l: [7]}", "valid_for: 24h", "unordered: [/l]\nvalid_for: 24h",
			"{name: adds up, expr: output.total == input.a + input.b}", "{name: present, expr: size(output.l) > 0}", "expr: expected == null || output == expected", fmt.Sprintf("expr: %q", check))).Problems)
		NewWithT(t).Expect(got).To(HaveExactElements(want), check)
	}
}

// An answer that passes where another is right is told, unless the contract itself says that both are the same.
func TestAnswersToOtherQuestions(t *testing.T) {
	const texts2 = `{"type": "object", "properties": {"n": {"enum": [1, 2, 3]}, "t": {"type": "string", "minLength": 1}}, "required": ["n", "t"], "additionalProperties": false}`
	told := func(more string) []string {
		c, err := contracts.Load(fstest.MapFS{
			"three/contract.yaml": {Data: []byte("name: three\nmessages: [{role: user, content: '{{ .q }}'}]\nschema: schema.json\nsampling: {samples: 15}\n" +
				"checks: [{name: number, expr: expected == null || output.n == expected.n}]\nmutation_floor: 0.1\n" +
				"thresholds: {prompt: 1.0, structure: 0.9, business: 0.9, round_trip: 0.9}\nvalid_for: 24h\ncases: cases/\n" + more)},
			"three/schema.json":    {Data: []byte(texts2)},
			"three/cases/one.yaml": {Data: []byte("name: one\ninput: {q: a}\nexpected: {n: 1, t: red}\n")},
			"three/cases/two.yaml": {Data: []byte("name: two\ninput: {q: b}\nexpected: {n: 1, t: blue}\n")},
			"three/cases/xyz.yaml": {Data: []byte("name: three\ninput: {q: c}\nexpected: {n: 3, t: green}\n")},
		}, "three")
		if err != nil {
			t.Fatal(err)
		}
		return texts(lint.Examine(c).Problems)
	}
	g := NewWithT(t)
	g.Expect(told("")).To(ContainElement(
		`contract.yaml:5: warning: the answer to case "one" passes in case "two", where another one is expected (2 such pairs): a model that mixes its inputs up would not be noticed`))
	g.Expect(told("free_text: [/t]\n")).To(BeEmpty())
}
