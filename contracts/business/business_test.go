package business_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/value"
	. "github.com/onsi/gomega"
)

const input = `{"message": "Rechtsanwalt ruft", "limit": 100, "n": 2}`

const output = `{
  "a": 100, "b": 17.5, "tenth": 0.1, "fifth": 0.2, "twelve": 12.0, "neg": -3, "zero": 0, "i": 1,
  "big": 9007199254740993, "huge": 1e131071, "amount": "1234.50",
  "lines": [{"q": 2, "p": 1.15, "amount": 2.3}, {"q": 3, "p": 0.1, "amount": 0.3}],
  "numbers": [1, 2.0, 3e0], "words": ["x", "y"], "nothing": null, "yes": true,
  "day": "2026-02-28", "due": "2026-03-31", "nested": {"k": [1, {"v": 2.50}]}, "Name": "ÄRGER"
}`

func decode(t *testing.T, text string) any {
	t.Helper()
	v, err := value.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func compile(expressions ...string) (*business.Program, error) {
	c := &contracts.Contract{}
	for _, expr := range expressions {
		c.Checks = append(c.Checks, contracts.Check{Name: expr, Expr: expr})
	}
	return business.Compile(c)
}

func judge(t *testing.T, expr string) []business.Finding {
	t.Helper()
	program, err := compile(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return program.Judge(decode(t, input), decode(t, output), nil)
}

// Each of these must hold, and its negation must not: so that no expression passes for another reason.
func TestTrueChecks(t *testing.T) {
	for _, expr := range []string{
		// exact arithmetic, whichever side a literal stands on
		`output.a + 17.5 == 117.5`,
		`17.5 + output.a == 117.5`,
		`output.a + 17 == 117`,
		`output.a + output.b == 117.5`,
		`100 + 17.5 == 117.5`,
		`output.tenth + output.fifth == 0.3`,
		`0.1 + 0.2 == 0.3`,
		`output.tenth + 0.2 == 3e-1`,
		`0.1234567890123456789 + 0.0000000000000000001 == 0.123456789012345679`,
		`.5 + .5 == 1`,
		`-0.5 == 0.5 - 1`,
		`output.tenth * 3 == 0.3`,
		`output.a - output.b == 82.5`,
		`output.a / 3 * 3 == output.a`,
		`7 / 2 == 3.5`,
		`output.a % 7 == 2`,
		`output.neg % 2 == -1`,
		`-output.neg == 3`,
		`-(output.tenth) == -0.1`,
		`2 + 3 * 4 == 14`,
		`size(output.lines) * 2 + 1 == 5`,
		// equality by value, from either side and at any depth
		`output.twelve == 12`,
		`12 == output.twelve`,
		`12u == output.twelve`,
		`size(output.lines) == input.n`,
		`input.n == size(output.lines)`,
		`output.numbers == [1, 2, 3]`,
		`[1.0, 2, 3u] == output.numbers`,
		`output.nested == {"k": [1, {"v": 2.5}]}`,
		`{"k": [1, {"v": 2.5}]} == output.nested`,
		`output.nested != {"k": [1, {"v": 2.51}]}`,
		`output.nested != {"k": [1]}`,
		`output.nested != {"l": [1, {"v": 2.5}]}`,
		`output.numbers != [1, 2]`,
		`[1, 2] != output.numbers`,
		`output.nested != {"k": [1, {"v": 2.5}], "l": 1}`,
		`{"k": [1, {"v": 2.5}], "l": 1} != output.nested`,
		`output.numbers != 1`,
		`1 != output.numbers`,
		`output.a != "100"`,
		`"100" != output.a`,
		`output.nothing == null`,
		`output.a != null`,
		`output.zero != output.nothing`,
		`output.big == 9007199254740993`,
		`output.big != 9007199254740992`,
		`output.big - 9007199254740992 == 1`,
		`output.big * output.big == num("81129638414606699710187514626049")`,
		`output.yes == true`,
		// membership
		`output.i in [1, 2]`,
		`2 in output.numbers`,
		`output.twelve in [11, 12]`,
		`!(4 in output.numbers)`,
		`"x" in output.words`,
		`"k" in output.nested`,
		`!("z" in output.nested)`,
		`output.i in {1: "one"}`,
		// order
		`output.b < 18`,
		`17 < output.b`,
		`output.b <= 17.5`,
		`output.b >= 17.5`,
		`18 > output.b`,
		`output.neg < output.zero`,
		`output.big > 9007199254740992`,
		`output.day < output.due`,
		`"a" < "b"`,
		// functions
		`num(output.amount) == 1234.5`,
		`num("9007199254740993") == output.big`,
		`num(size(output.words)) == 2`,
		`sum(output.lines.map(l, l.amount)) == 2.6`,
		`sum(output.lines.map(l, l.q * l.p)) == 2.6`,
		`sum([]) == 0`,
		`sum([0.1, 0.2, 1]) == 1.3`,
		`min(output.numbers) == 1`,
		`max([1, 2.5, output.neg]) == 2.5`,
		`abs(output.neg) == 3`,
		`round(2.675, 2) == 2.68`,
		`round(-2.675, 2) == -2.68`,
		`round(2.5) == 3`,
		`round(-2.5) == -3`,
		`round(2.4999) == 2`,
		`round(1234.5, -2) == 1200`,
		`round(1 / 3, 4) == 0.3333`,
		`round(output.tenth, input.n) == 0.1`,
		`date(output.day) < date(output.due)`,
		`date(output.day) + duration("24h") == date("2026-03-01")`,
		`date(output.due) - date(output.day) == duration("744h")`,
		`days(output.day, output.due) == 31`,
		`days(output.due, output.day) == -31`,
		`days(date("2024-02-28"), "2024-03-01") == 2`,
		`date(output.day).getFullYear() == 2026`,
		`lower(output.Name) == "ärger"`,
		`upper("ß ä") == "SS Ä" || upper("ß ä") == "ß Ä"`,
		`trim(" x ") == "x"`,
		`lower(input.message).contains("rechtsanwalt")`,
		`"a,b".split(",") == output.words || size("a,b".split(",")) == 2`,
		`string(output.b) == "17.5"`,
		// comparison as declared
		`same(output.twelve, 12)`,
		`same(output.numbers, [1, 2, 3])`,
		`!same(output.numbers, [2, 1, 3])`,
		`same(output.lines, [{"amount": 2.30, "p": 1.15, "q": 2.0}, {"q": 3, "p": 0.1, "amount": 0.3}])`,
		`same("é", "e\u0301") && "é" != "e\u0301"`,
		`!same("1", 1) && !same(null, false) && !same([], {}) && !same("[1,]", [1])`,
		`same(date("2026-01-31"), date("2026-01-31T23:30:00-05:00"))`,
		`sameSet(output.numbers, [3, 2.0, 1])`,
		`!sameSet([1, 1, 2], [1, 2, 2])`,
		`!sameSet([1], [1, 1])`,
		`sameSet([{"a": 1, "b": [2]}, null], [null, {"b": [2.0], "a": 1e0}])`,
		`sameSet([], [])`,
		`subset([3, 3, 1], output.numbers) && !subset([4], output.numbers) && subset([], [])`,
		`union([1, 2.0], [2, 3]) == [1, 2, 3]`,
		`intersect([3, 1, 1, 5], output.numbers) == [3, 1]`,
		`minus(output.numbers, [2]) == [1, 3]`,
		`distinct([1, 1.0, "a", "a", null]) == [1, "a", null]`,
		`nfc("e\u0301") == "é"`,
		`fold("  Stra\u0308ße \n 5 ") == "sträße 5"`,
		`words("Don't ask: 3 x Ärger, ב\"כ!") == ["don't", "ask", "3", "x", "ärger", "ב\"כ"]`,
		`days("2026-01-31T23:59:59Z", "2026-02-01") == 1`,
		`date("2026-01-31T00:30:00+02:00") == date("2026-01-31")`,
		`string(output.twelve) == "12"`,
		`int(output.twelve) == 12`,
		`int("12") == 12 && string(12) == "12" && string("x") == "x"`,
		// macros and joining
		`output.lines.all(l, round(l.q * l.p, 2) == l.amount)`,
		`output.lines.exists(l, l.q == 3)`,
		`output.lines.exists_one(l, l.q == 3)`,
		`size(output.lines.filter(l, l.q > 2)) == 1`,
		`output.lines.map(l, l.q) == [2, 3]`,
		`output.words + ["z"] == ["x", "y", "z"]`,
		`"x" + "y" == "xy"`,
		`has(output.a) && !has(output.missing)`,
		`expected == null || output.a == expected.a`,
		`output.yes ? output.a == 100 : false`,
		`output.lines[1].q == 3`,
	} {
		t.Run(expr, func(t *testing.T) {
			NewWithT(t).Expect(judge(t, expr)).To(BeEmpty())
			NewWithT(t).Expect(judge(t, "!("+expr+")")).To(Equal([]business.Finding{{Check: "!(" + expr + ")", Detail: "does not hold"}}))
		})
	}
}

// An error is a failed check, never a pass and never a quiet false.
func TestErrorsFail(t *testing.T) {
	for expr, complaint := range map[string]string{
		`output.missing == 1`:                                "no such key: missing",
		`output.missing != 1`:                                "no such key: missing",
		`expected.a == 100`:                                  "cannot be evaluated",
		`output.a + "1" == 101`:                              "+ is not possible between number and string",
		`"1" + output.a == "1100"`:                           "+ is not possible between string and number",
		`output.nothing + 1 == 1`:                            "+ is not possible between null_type and number",
		`output.yes - output.yes == 0`:                       "- is not possible between bool and bool",
		`output.words * 2 == output.words`:                   "* is not possible",
		`-output.words == 1`:                                 "- is not possible for list",
		`output.a < "1"`:                                     "< is not possible between number and string",
		`output.nothing < 1`:                                 "< is not possible between null_type and number",
		`output.day >= output.nothing`:                       ">= is not possible between string and null_type",
		`output.words < output.words`:                        "< is not possible between list and list",
		`output.a / output.zero == 1`:                        "division by zero",
		`output.a % 0 == 1`:                                  "division by zero",
		`output.b % 2 == 1`:                                  "% is for whole numbers",
		`output.huge > 1`:                                    "exponents beyond",
		`output.huge == 1`:                                   "exponents beyond",
		`output == output`:                                   "exponents beyond",
		`1 in output.a`:                                      "in: number holds nothing",
		`num("1.234,50") == 1`:                               "not a JSON number",
		`num(output.yes) == 1`:                               "num: bool is no number",
		`num("1e999") == 1`:                                  "exponents beyond",
		`sum(output.words) == 1`:                             "sum: element 0 is string",
		`sum(output.a) == 1`:                                 "sum: want a list of numbers, not number",
		`min([]) == 1`:                                       "min of an empty list",
		`abs(output.words) == 1`:                             "abs: list is no number",
		`round(output.day) == 1`:                             "round: string is no number",
		`round(output.a, 0.5) == 1`:                          "whole number of places",
		`round(output.a, 101) == 1`:                          "whole number of places",
		`date("31.01.2026") == date("2026-01-31")`:           "no day of the form",
		`date("2026-02-30") == date("2026-01-31")`:           "no day of the form",
		`date(output.a) == date("2026-01-31")`:               "date: want a text",
		`days("x", output.day) == 1`:                         "no day of the form",
		`lower(output.a) == "x"`:                             "lower: want a text, not number",
		`same(output.huge, 1)`:                               "exponents beyond",
		`sameSet(output.a, [1])`:                             "sameSet: want a list, not number",
		`sameSet([1], output.nothing)`:                       "sameSet: want a list, not null_type",
		`subset(["a"], "abc")`:                               "subset: want a list, not string",
		`distinct(output.nested) == []`:                      "distinct: want a list, not map",
		`words(output.nothing) == []`:                        "words: want a text, not null_type",
		`nfc(output.a) == "100"`:                             "nfc: want a text, not number",
		`date("2026-01-31T25:00:00Z") == date("2026-01-31")`: "no day of the form",
		`int(output.b) == 17`:                                "not a whole number",
		`output.words[output.i] == "y"`:                      "cannot be evaluated",
		`output.lines.all(l, l.missing == 1)`:                "no such key",
		`output.lines[7].q == 1`:                             "cannot be evaluated",
	} {
		t.Run(expr, func(t *testing.T) {
			g := NewWithT(t)
			findings := judge(t, expr)
			g.Expect(findings).To(HaveLen(1))
			g.Expect(findings[0].Check).To(Equal(expr))
			g.Expect(findings[0].Detail).To(HavePrefix("cannot be evaluated: "))
			g.Expect(findings[0].Detail).To(ContainSubstring(complaint))
			g.Expect(judge(t, "!("+expr+")")).To(HaveLen(1), "nor does its negation pass")
		})
	}
}

func TestCompileNamesTheCheck(t *testing.T) {
	for expr, complaint := range map[string]string{
		`output.a`:                 "not a boolean",
		`output.a + 1`:             "not a boolean",
		`"x"`:                      "is string, not a boolean",
		`size(output.lines)`:       "is int, not a boolean",
		`output.a ==`:              "column 12",
		`outptu.a == 1`:            "undeclared reference to 'outptu'",
		`nosuch(output.a) == 1`:    "undeclared reference to 'nosuch'",
		`double(output.a) == 1`:    "double() rounds: use num()",
		`uint(output.a) == 1u`:     "uint() wraps: use num()",
		`output.a == 1 && "x"`:     "expected type 'bool' but found 'string'",
		`9223372036854775808 == 1`: "column 1",
	} {
		g := NewWithT(t)
		program, err := compile(`true`, expr)
		g.Expect(program).To(BeNil())
		var fault *business.CheckError
		g.Expect(errors.As(err, &fault)).To(BeTrue(), "%s: %v", expr, err)
		g.Expect(fault.Check).To(Equal(expr))
		g.Expect(fault.Detail).To(ContainSubstring(complaint))
		g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
	}
}

func TestExpectedIsNullWhereAbsent(t *testing.T) {
	g := NewWithT(t)
	program, err := compile(`expected == null || output.a == expected.a`)
	g.Expect(err).NotTo(HaveOccurred())
	answer := decode(t, `{"a": 1}`)
	g.Expect(program.Judge(nil, answer, nil)).To(BeEmpty())
	g.Expect(program.Judge(nil, answer, map[string]any(nil))).To(BeEmpty(), "as a case without an expected answer holds it")
	g.Expect(program.Judge(nil, answer, decode(t, `{"a": 1.0}`))).To(BeEmpty())
	g.Expect(program.Judge(nil, answer, decode(t, `{"a": 2}`))).To(HaveLen(1))
}

func TestFindingsInTheContractsOrder(t *testing.T) {
	g := NewWithT(t)
	program, err := compile(`false`, `true`, `output.missing`+` == 1`, `1 == 2`)
	g.Expect(err).NotTo(HaveOccurred())
	findings := program.Judge(nil, decode(t, `{}`), nil)
	g.Expect(findings).To(HaveLen(3))
	g.Expect(findings[0].Check).To(Equal(`false`))
	g.Expect(findings[1].Check).To(Equal(`output.missing == 1`))
	g.Expect(findings[2].Check).To(Equal(`1 == 2`))
}

func TestCostIsBounded(t *testing.T) {
	g := NewWithT(t)
	program, err := compile(`output.l.all(a, output.l.all(b, output.l.all(c, a + b + c != -1)))`)
	g.Expect(err).NotTo(HaveOccurred())
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + "]" // ten times the limit, and over soon without one
	findings := program.Judge(nil, decode(t, `{"l": `+list+`}`), nil)
	g.Expect(findings).To(HaveLen(1))
	g.Expect(findings[0].Detail).To(ContainSubstring("cost limit exceeded"))
}

// The functions and operators of this package are no way round the limit.
func TestCostOfFunctionsIsBounded(t *testing.T) {
	expressions := map[string]string{
		"@equal": `output.l == output.l`, "@not_equal": `output.l != output.l`, "@within": `a in output.l`, "@add": `size(output.l + output.l) > a`,
		"@less": `output.t < output.t`, "@less_equal": `output.t <= output.t`, "@greater": `output.t > output.t`, "@greater_equal": `output.t >= output.t`,
		"same": `same(output.l, output.l)`, "sameSet": `sameSet(output.l, output.l)`, "subset": `subset(output.l, output.l)`,
		"union": `size(union(output.l, output.l)) > a`, "intersect": `size(intersect(output.l, output.l)) > a`, "minus": `size(minus(output.l, output.l)) > a`,
		"distinct": `distinct(output.l)`, "sum": `sum(output.l) > a`, "min": `min(output.l) > a`, "max": `max(output.l) > a`,
		"words": `size(words(output.t)) > a`, "fold": `size(fold(output.t)) > a`, "nfc": `size(nfc(output.t)) > a`,
		"lower": `size(lower(output.t)) > a`, "upper": `size(upper(output.t)) > a`, "trim": `size(trim(output.t)) > a`,
	}
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 3000), ",") + "]"
	answer := decode(t, `{"l": `+list+`, "t": "`+strings.Repeat("word ", 3000)+`"}`)
	for _, function := range business.Going() {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			expr, known := expressions[function]
			g.Expect(known).To(BeTrue())
			program, err := compile(`output.l.all(a, ` + expr + ` || true)`)
			g.Expect(err).NotTo(HaveOccurred())
			findings := program.Judge(nil, answer, nil)
			g.Expect(findings).To(HaveLen(1))
			g.Expect(findings[0].Detail).To(ContainSubstring("cost limit exceeded"))
		})
	}
}

func TestRefusesStopsAtTheFirst(t *testing.T) {
	g := NewWithT(t)
	program, err := compile(`output.a == 1`, `output.b == 1`)
	g.Expect(err).NotTo(HaveOccurred())
	answer := decode(t, `{"a": 1, "b": 2}`)
	g.Expect(program.Refuses(nil, answer, nil, map[string]bool{`output.b == 1`: true})).To(BeFalse())
	for range 2 {
		g.Expect(program.Refuses(nil, answer, nil, nil)).To(BeTrue())
		g.Expect(program.Refuses(nil, decode(t, `{"a": 1}`), nil, nil)).To(BeTrue(), "an error is no pass")
		g.Expect(program.Refuses(nil, decode(t, `{"a": 1, "b": 1}`), nil, nil)).To(BeFalse())
		g.Expect(program.Refuses(nil, decode(t, `{"a": 2, "b": 1}`), nil, nil)).To(BeTrue())
	}
}

func TestAnOrdinaryLargeAnswerIsWithinTheCost(t *testing.T) {
	g := NewWithT(t)
	program, err := compile(`output.lines.all(l, round(l.q * l.p, 2) == l.a) && sum(output.lines.map(l, l.a)) == output.total`)
	g.Expect(err).NotTo(HaveOccurred())
	lines := strings.TrimSuffix(strings.Repeat(`{"q": 3, "p": 0.1, "a": 0.3},`, 5000), ",")
	g.Expect(program.Judge(nil, decode(t, `{"lines": [`+lines+`], "total": 1500}`), nil)).To(BeEmpty())
}

func TestNumbersCannotGrowWithoutEnd(t *testing.T) {
	g := NewWithT(t)
	var terms []string
	for i := range 40 {
		terms = append(terms, strings.Repeat("7", 300+i))
	}
	list := `{"l": [` + strings.Join(terms, ",") + `]}`
	program, err := compile(`sum(output.l.map(x, 1 / x)) > 0`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(program.Judge(nil, decode(t, list), nil)).To(BeEmpty())
	product := "output.l[0]" + strings.Repeat(" * output.l[0]", 100)
	program, err = compile(product + " > 0")
	g.Expect(err).NotTo(HaveOccurred())
	findings := program.Judge(nil, decode(t, list), nil)
	g.Expect(findings).To(HaveLen(1))
	g.Expect(findings[0].Detail).To(ContainSubstring("number too large"))
}

func TestProgramsServeManyAtOnce(t *testing.T) {
	program, err := compile(`sum(output.lines.map(l, l.q * l.p)) == 2.6`, `output.big == 9007199254740993`)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	answer := decode(t, output)
	done := make(chan []business.Finding)
	for range 8 {
		go func() { done <- program.Judge(nil, answer, nil) }()
	}
	for range 8 {
		NewWithT(t).Expect(<-done).To(BeEmpty())
	}
}
