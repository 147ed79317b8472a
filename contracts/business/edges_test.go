package business_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// The literal in an expression is taken from its text, wherever it stands in it.
func TestLiteralsAreExactWhereverTheyStand(t *testing.T) {
	for _, expr := range []string{
		"\n  output.tenth ==\n\t0.1000000000000000000000000",
		`"é😀" != "" && output.tenth == 0.1`,
		`[0.1, 0.2].exists(x, x == output.fifth)`,
		`{"x": 0.1}.x == output.tenth`,
		`output.lines.exists(l, l.p == 1.15)`,
		`sum([1e-1, 2.0E-1, -3.0e-1]) == 0`,
		`-1.5e1 == -15`,
		`- 1.5 == -1.5`,
		"- // minus\n 1.5 == -1.5",
		`1.5-.5 == 1`,
		`9007199254740993.0 == output.big`,
		`round(0.00000000000000000000000000000000000001, 38) == 1e-38`,
	} {
		NewWithT(t).Expect(judge(t, expr)).To(BeEmpty(), expr)
	}
}

func TestErrorsInsideContainersAreNotPassedOver(t *testing.T) {
	for _, expr := range []string{
		`[output.huge] == [1]`,
		`[1] == [output.huge]`,
		`output.huge in [1]`,
		`1 in [output.huge]`,
		`sum([1, output.huge]) > 0`,
		`{"a": output.huge} != {"a": 1}`,
		`!([output.huge] == [1])`,
	} {
		NewWithT(t).Expect(judge(t, expr)).To(HaveLen(1), expr)
	}
	g := NewWithT(t)
	program, err := compile(`sum(output) > 0`, `output == [1, 2]`, `!(2 in output)`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(program.Judge(nil, decode(t, `[1, 1e999]`), nil)).To(HaveLen(3))
}

func TestWhatCannotBeCalculatedWithFails(t *testing.T) {
	for _, expr := range []string{
		`output.words / 2 == 1`,
		`output.words % 2 == 1`,
		`-output.day == "x"`,
		`-output.words == output.words`,
		`days(1, output.day) == 1`,
		`max(output.words) == 1`,
		`min(output.nested) == 1`,
		`string(output.words) == "x"`,
		`int(output.big * 1000000) == 1`,
		`duration("1h") + "x" == duration("1h")`,
		`date(output.day) - 1 == date(output.day)`,
	} {
		NewWithT(t).Expect(judge(t, expr)).To(HaveLen(1), expr)
		NewWithT(t).Expect(judge(t, "!("+expr+")")).To(HaveLen(1), "not "+expr)
	}
}

func TestOddButTrue(t *testing.T) {
	for _, expr := range []string{
		`!(1.5 in {1: "one"})`,
		`-duration("1h") == duration("-1h")`,
		`string(1 / 3 * 3) == "1"`,
		`string(output.tenth / 3) == "1/30"`,
		`type(output.a) == type(output.b)`,
		`b"ab" + b"c" == b"abc"`,
		`false < true`,
		`date("2026-01-31") >= date("2026-01-31")`,
		`days("2026-03-28", "2026-03-30") == 2`,
		`days("0001-01-01", "9999-12-31") == 3652058`,
		`output.lines[0] == {"q": 2, "p": 1.15, "amount": 2.3}`,
		`output.lines == output.lines`,
		`output.words.map(w, w + "!") == ["x!", "y!"]`,
		`output.numbers.filter(n, n >= 2) == [2, 3]`,
	} {
		NewWithT(t).Expect(judge(t, expr)).To(BeEmpty(), expr)
	}
}
