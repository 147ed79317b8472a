package mutation_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/contracts/structure"
	"github.com/fallproof/fallproof/contracts/value"
	. "github.com/onsi/gomega"
)

// contract has one schema for the answer's key "v", checks, and one case for each expected value of it.
func contract(t *testing.T, schema string, checks []string, more string, expected ...string) *contracts.Contract {
	t.Helper()
	yaml := "name: tried\nmessages:\n  - {role: user, content: \"{{ .q }}\"}\nschema: schema.json\n" +
		"thresholds: {prompt: 1.0, structure: 0.1, business: 0.1, round_trip: 0.1}\nvalid_for: 1h\ncases: cases/\n" + more
	for i, check := range checks {
		if i == 0 {
			yaml += "checks:\n"
		}
		yaml += fmt.Sprintf("  - {name: check %d, expr: '%s'}\n", i, check)
	}
	files := fstest.MapFS{
		"tried/contract.yaml": {Data: []byte(yaml)},
		"tried/schema.json": {Data: []byte(`{"type": "object", "required": ["v"], "additionalProperties": false, "properties": {"v": ` + schema +
			`, "note": {"type": "string"}}, "$defs": {"color": {"enum": ["red", "green", "blue"]}}}`)},
	}
	for i, answer := range expected {
		files[fmt.Sprintf("tried/cases/%d.yaml", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf("name: case %d\ninput: {q: \"%d\"}\nexpected: %s\n", i, i, answer))}
	}
	c, err := contracts.Load(files, "tried")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t testing.TB, c *contracts.Contract) mutation.Report {
	t.Helper()
	checker, err := structure.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	program, err := business.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return mutation.Run(c, checker, program)
}

// answers are the mutants that checks which see nothing let pass: all there are.
func answers(report mutation.Report) []string {
	var all []string
	for _, m := range report.Survivors {
		all = append(all, fmt.Sprintf("%s %s: %s", m.Operator, m.Pointer, value.Encode(m.Answer)))
	}
	return all
}

func TestOperators(t *testing.T) {
	const anything = `true`
	for _, row := range []struct {
		name, schema, expected string
		want                   []string
	}{
		{"boolean", `{"type": "boolean"}`, `{v: true}`, []string{`negate /v: {"v":false}`}},
		{"number", `{"type": "number"}`, `{v: 12.5}`, []string{
			`off_by_one /v: {"v":13.5}`, `sign /v: {"v":-12.5}`, `scale /v: {"v":125}`, `blank /v: {"v":0}`}},
		{"a number that must not be negative nor fractional", `{"type": "integer", "minimum": 0}`, `{v: 9007199254740993}`, []string{
			`off_by_one /v: {"v":9007199254740994}`, `scale /v: {"v":90071992547409930}`, `blank /v: {"v":0}`}},
		{"zero has no sign", `{"type": "number"}`, `{v: 0.0}`, []string{`off_by_one /v: {"v":1}`}},
		{"text", `{"type": "string"}`, `{v: two words}`, []string{
			`letter /v: {"v":"two wprds"}`, `truncate /v: {"v":"two"}`, `blank /v: {"v":""}`}},
		{"text of one word", `{"type": "string"}`, `{v: "A-1009"}`, []string{
			`letter /v: {"v":"A-1109"}`, `truncate /v: {"v":"A-1"}`, `blank /v: {"v":""}`}},
		{"date", `{"type": "string", "format": "date"}`, `{v: "2026-01-31"}`, []string{
			`day /v: {"v":"2026-02-01"}`, `month /v: {"v":"2026-02-28"}`, `year /v: {"v":"2025-01-31"}`}},
		{"date that can be read both ways", `{"type": "string"}`, `{v: "2026-03-04"}`, []string{
			`day /v: {"v":"2026-03-05"}`, `month /v: {"v":"2026-04-04"}`, `year /v: {"v":"2025-03-04"}`, `day_month /v: {"v":"2026-04-03"}`}},
		{"moment", `{"type": "string", "format": "date-time"}`, `{v: "2026-12-31T23:00:00Z"}`, []string{
			`day /v: {"v":"2027-01-01T23:00:00Z"}`, `month /v: {"v":"2027-01-31T23:00:00Z"}`, `year /v: {"v":"2025-12-31T23:00:00Z"}`}},
		{"currency", `{"type": "string", "pattern": "^[A-Z]{3}$"}`, `{v: EUR}`, []string{
			`currency /v: {"v":"GBP"}`, `letter /v: {"v":"EVR"}`}},
		{"enumeration, behind a reference", `{"$ref": "#/$defs/color"}`, `{v: green}`, []string{
			`enum /v: {"v":"red"}`, `enum /v: {"v":"blue"}`}},
		{"null where the schema allows it", `{"type": ["string", "null"], "minLength": 2}`, `{v: ab}`, []string{
			`letter /v: {"v":"ac"}`, `null /v: {"v":null}`}},
		{"a value where there is none", `{"type": ["number", "null"]}`, `{v: null}`, []string{`invent /v: {"v":0}`}},
		{"an optional key", `{"type": "boolean"}`, `{v: true, note: x}`, []string{
			`omit /note: {"v":true}`, `letter /note: {"note":"y","v":true}`, `blank /note: {"note":"","v":true}`, `negate /v: {"note":"x","v":false}`}},
		{"array", `{"type": "array", "items": {"type": "boolean"}}`, `{v: [true, false]}`, []string{
			`empty /v: {"v":[]}`, `drop /v/0: {"v":[false]}`, `duplicate /v/0: {"v":[true,true,false]}`, `reorder /v/0: {"v":[false,true]}`,
			`drop /v/1: {"v":[true]}`, `duplicate /v/1: {"v":[true,false,false]}`,
			`negate /v/0: {"v":[false,false]}`, `negate /v/1: {"v":[true,true]}`}},
		{"what a set allows", `{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"enum": ["a", "b"]}}`, `{v: [a, b]}`, []string{
			`reorder /v/0: {"v":["b","a"]}`}},
		{"fields of a kind", `{"type": "object", "properties": {"a": {"const": 1}, "b": {"enum": [1, 2]}, "c": {"enum": [3, 1]}}}`, `{v: {a: 1, b: 2, c: 3}}`, []string{
			`omit /v/a: {"v":{"b":2,"c":3}}`, `omit /v/b: {"v":{"a":1,"c":3}}`, `omit /v/c: {"v":{"a":1,"b":2}}`,
			`enum /v/b: {"v":{"a":1,"b":1,"c":3}}`, `enum /v/c: {"v":{"a":1,"b":2,"c":1}}`}},
		{"fields exchanged", `{"type": "object", "required": ["a", "b", "s"], "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}, "s": {"const": "x"}}}`,
			`{v: {a: true, b: false, s: x}}`, []string{
				`swap /v/a: {"v":{"a":false,"b":true,"s":"x"}}`, `negate /v/a: {"v":{"a":false,"b":false,"s":"x"}}`, `negate /v/b: {"v":{"a":true,"b":true,"s":"x"}}`}},
		{"a field of two neighbours exchanged", `{"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "object", "required": ["k", "o"],
			"properties": {"k": {"enum": ["x", "y"]}, "o": {"type": "boolean"}}}}`, `{v: [{k: x, o: true}, {k: y, o: false}]}`, []string{
			`reorder /v/0: {"v":[{"k":"y","o":false},{"k":"x","o":true}]}`, `swap /v/0/k: {"v":[{"k":"y","o":true},{"k":"x","o":false}]}`, `swap /v/0/o: {"v":[{"k":"x","o":false},{"k":"y","o":true}]}`,
			`enum /v/0/k: {"v":[{"k":"y","o":true},{"k":"y","o":false}]}`, `negate /v/0/o: {"v":[{"k":"x","o":false},{"k":"y","o":false}]}`,
			`enum /v/1/k: {"v":[{"k":"x","o":true},{"k":"x","o":false}]}`, `negate /v/1/o: {"v":[{"k":"x","o":true},{"k":"y","o":true}]}`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			report := run(t, contract(t, row.schema, []string{anything}, "", row.expected))
			g.Expect(answers(report)).To(ConsistOf(row.want))
			g.Expect(answers(run(t, contract(t, row.schema, []string{anything}, "", row.expected)))).To(Equal(answers(report)), "in one order")
			g.Expect(report.Killed).To(BeZero())
			g.Expect(report.Score).To(BeZero())
		})
	}
}

// Where the order of an array means nothing, no mutant is a mere reordering, nor counted twice for one.
func TestUnordered(t *testing.T) {
	g := NewWithT(t)
	const schema = `{"type": "array", "items": {"type": "object", "required": ["s"], "properties": {"s": {"type": "array", "minItems": 2, "items": {"enum": ["a", "b"]}}}}}`
	ordered := run(t, contract(t, schema, []string{`true`}, "", `{v: [{s: [a, b]}, {s: [b, b]}]}`))
	unordered := run(t, contract(t, schema, []string{`true`}, "unordered: [/v, /v/*/s]\n", `{v: [{s: [a, b]}, {s: [b, b]}]}`))
	g.Expect(answers(ordered)).To(ContainElements(
		`reorder /v/0: {"v":[{"s":["b","b"]},{"s":["a","b"]}]}`, `reorder /v/0/s/0: {"v":[{"s":["b","a"]},{"s":["b","b"]}]}`))
	g.Expect(answers(unordered)).NotTo(ContainElement(HavePrefix("reorder")))
	g.Expect(answers(unordered)).NotTo(ContainElement(HavePrefix("swap")), "an exchange of all fields is a reordering")
	g.Expect(answers(unordered)).To(ContainElement(`drop /v/0: {"v":[{"s":["b","b"]}]}`))

	kept := run(t, contract(t, `{"type": "array", "items": {"type": "integer"}}`, []string{`expected == null || sameSet(output.v, expected.v)`},
		"unordered: [/v]\n", `{v: [3, 1, 2]}`))
	g.Expect(kept.Score).To(Equal(1.0), "%q", answers(kept))
}

// The wording of a free text is nobody's error; its absence, or another's text, is.
func TestFreeText(t *testing.T) {
	g := NewWithT(t)
	const schema = `{"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "object", "required": ["t", "n"], "properties": {"t": {"type": "string"}, "n": {"const": 1}}}}`
	report := run(t, contract(t, schema, []string{`true`}, "unordered: [/v]\nfree_text: [/v/*/t]\n", `{v: [{t: call Ann, n: 1}, {t: write, n: 1}]}`))
	g.Expect(answers(report)).To(ConsistOf(
		`blank /v/0/t: {"v":[{"n":1,"t":""},{"n":1,"t":"write"}]}`, `blank /v/1/t: {"v":[{"n":1,"t":"call Ann"},{"n":1,"t":""}]}`))
}

// What a check needs the expected answer for is no rule; a check that the right answer does not pass tells
// nothing; one that cannot be evaluated on a wrong answer has refused it.
func TestKilledByWhat(t *testing.T) {
	for _, row := range []struct {
		check                  string
		killed, byRules, total int
	}{
		{`output.v == expected.v`, 4, 0, 4},
		{`expected == null || output.v == expected.v`, 4, 0, 4},
		{`output.v > 0`, 2, 2, 4},
		{`output.v < 0`, 0, 0, 4},
		{`output.v == 5 || output.nothing == 1`, 4, 4, 4},
	} {
		t.Run(row.check, func(t *testing.T) {
			g := NewWithT(t)
			c := contract(t, `{"type": "number"}`, []string{row.check}, "", `{v: 5}`)
			report := run(t, c)
			g.Expect([]int{report.Killed, report.ByRules, report.Total}).To(Equal([]int{row.killed, row.byRules, row.total}))
			g.Expect(report.Pointers).To(Equal([]mutation.Tally{{Name: "/v", Killed: row.killed, ByRules: row.byRules, Total: row.total}}))
			g.Expect(report.Survivors).To(HaveLen(row.total - row.killed))
		})
	}
}

func TestSurvivorsSayWhatWasChanged(t *testing.T) {
	g := NewWithT(t)
	report := run(t, contract(t, `{"type": "array", "items": {"type": "number"}}`, []string{`size(output.v) == 2`}, "", `{v: [1, 20.0]}`))
	var lines []string
	for _, m := range report.Survivors {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", m.File, m.Operator, m.Pointer, m.Change))
	}
	g.Expect(lines).To(ContainElements("cases/0.yaml off_by_one /v/1 20.0 → 21", "cases/0.yaml reorder /v/0 1 after its neighbour"))
	g.Expect(report.Operators).To(ContainElement(mutation.Tally{Name: "drop", Killed: 2, ByRules: 2, Total: 2}))
	g.Expect(report.Pointers).To(ContainElement(HaveField("Name", "/v/*")))
}

func TestWithoutExpectedAnswers(t *testing.T) {
	g := NewWithT(t)
	c := contract(t, `{"const": 1}`, []string{`true`}, "", `{v: 1}`)
	report := run(t, c)
	g.Expect(report.Total).To(BeZero())
	g.Expect(report.Passed()).To(BeFalse())
	g.Expect(report.String()).To(Equal("mutation score 0: no wrong answer can be derived from the expected ones that satisfies the schema"))
	c.Cases[0].Expected = nil
	report = run(t, c)
	g.Expect(report.Passed()).To(BeFalse())
	g.Expect(report.String()).To(Equal("mutation score 0: no case has an expected answer, so the checks have never been tried"))
	c.MutationFloor = 0
	g.Expect(run(t, c).Passed()).To(BeTrue(), "where none is demanded")
}

// A long list is tried at some of its items, and the expected answer is left as it was.
func TestLargeAnswersAreBounded(t *testing.T) {
	g := NewWithT(t)
	items := make([]string, 1000)
	for i := range items {
		items[i] = fmt.Sprintf("{a: %d, b: %d}", i, i*2+1)
	}
	c := contract(t, `{"type": "array", "items": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}}`,
		[]string{`output.v == expected.v`}, "", "{v: ["+strings.Join(items, ", ")+"]}")
	before := string(value.Canonical(c.Cases[0].Expected))
	report := run(t, c)
	g.Expect(report.Total).To(BeNumerically("<", 200))
	g.Expect(report.Score).To(Equal(1.0))
	g.Expect(string(value.Canonical(c.Cases[0].Expected))).To(Equal(before))
}

// The shipped contracts' checks are worth what their floor demands, and have rules that hold in service too.
func TestShipped(t *testing.T) {
	catalog, err := contracts.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range catalog.All() {
		g := NewWithT(t)
		report := run(t, c)
		g.Expect(report.Passed()).To(BeTrue(), "%s: %s", c.Name, report)
		g.Expect(report.Cases).To(Equal(len(c.Cases)))
		g.Expect(report.ByRules).To(BeNumerically(">", 0))
	}
}

// A key is excluded only where it is certain that no answer has it.
func TestExcludedKeys(t *testing.T) {
	const closed = `{"type": "object", "properties": {"a": {}}, "additionalProperties": false}`
	for _, row := range []struct {
		schema, place string
		want          bool
	}{
		{`{}`, "", false},
		{`{}`, "/v", false},
		{`{}`, "/w", true},
		{`{}`, "/note", false},
		{`{}`, "/v/b", false},
		{closed, "/v/a", false},
		{closed, "/v/b", true},
		{closed, "/v/a/b", false},
		{closed, "/v/c", false}, // a case expects it
		{`{"properties": {"a": {}}}`, "/v/b", false},
		{`{"additionalProperties": false}`, "/v/b", false},
		{`{"type": "array", "items": ` + closed + `}`, "/v/*/b", true},
		{`{"type": "array", "items": ` + closed + `}`, "/v/*/a", false},
		{`{"type": "array", "items": ` + closed + `}`, "/v/b", false},
		{`{"anyOf": [{"type": "null"}, ` + closed + `]}`, "/v/b", true},
		{`{"anyOf": [{"properties": {"x": {}}}, ` + closed + `]}`, "/v/b", false},
		{`{"anyOf": [` + closed + `, {"properties": {"x": {}}}]}`, "/v/b", false},
		{`{"properties": {"a": {}}, "patternProperties": {"^b": {}}, "additionalProperties": false}`, "/v/b", false},
		{`{"$ref": "#/$defs/color"}`, "/v/b", false},
		{closed, "/v/b/c", false}, // nothing is known of what is below what is not there
	} {
		c := contract(t, row.schema, nil, "", `{v: {c: 1}}`)
		NewWithT(t).Expect(mutation.Excludes(c, row.place)).To(Equal(row.want), "%s at %s", row.place, row.schema)
	}
}
