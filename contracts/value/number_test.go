package value_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts/value"
	. "github.com/onsi/gomega"
)

func TestCanonicalNumber(t *testing.T) {
	for want, literals := range map[string][]string{
		"0":                         {"0", "-0", "0.0", "-0.000", "0e9", "0E-99999999999999999999"},
		"1":                         {"1", "1.0", "1e0", "10e-1", "1E+0", "0.1e1", "1.000e00"},
		"-1":                        {"-1", "-1.0", "-10e-1"},
		"12":                        {"12", "12.0", "1.2e1", "120e-1"},
		"100":                       {"100", "1e2", "1.00E+2"},
		"17.5":                      {"17.5", "17.50", "1.75e1", "175e-1"},
		"0.05":                      {"0.05", "5e-2", "0.5e-1"},
		"-0.001":                    {"-0.001", "-1e-3"},
		"9007199254740992":          {"9007199254740992"},
		"9007199254740993":          {"9007199254740993", "9007199254740993.0"},
		"1e131071":                  {"1e131071", "10E131070", "0.1e131072"},
		"-15e-1000":                 {"-1.5e-999"},
		"1e99999999999999999999999": {"1e99999999999999999999999", "100e99999999999999999999997"},
	} {
		for _, literal := range literals {
			g := NewWithT(t)
			g.Expect(value.Number(literal).Canonical()).To(Equal(want), literal)
			g.Expect(value.IsNumber(want)).To(BeTrue())
			g.Expect(value.Equal(value.Number(literal), value.Number(want))).To(BeTrue())
			g.Expect(value.Number(literal).String()).To(Equal(literal), "the literal stays")
		}
	}
}

func TestDifferentNumbersStayDifferent(t *testing.T) {
	for _, pair := range [][2]string{
		{"9007199254740992", "9007199254740993"}, {"1", "-1"}, {"0.1", "0.10000000000000000001"},
		{"1e400", "1e401"}, {"1e131071", "1e131070"}, {"1e-400", "0"}, {"12", "1.2"}, {"100000000000000000000000000", "100000000000000000000000001"},
	} {
		a, b := value.Number(pair[0]), value.Number(pair[1])
		NewWithT(t).Expect(value.Equal(a, b)).To(BeFalse(), "%v", pair)
		NewWithT(t).Expect(value.Canonical(a)).NotTo(Equal(value.Canonical(b)))
	}
}

// 90 kB of 1e131071 once filled a gigabyte; a few show it as well.
func TestHugeExponentsStayShort(t *testing.T) {
	g := NewWithT(t)
	text := "[" + strings.TrimSuffix(strings.Repeat("1e131071,", 3), ",") + "]"
	v, err := value.Decode([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(value.Canonical(v)).To(HaveLen(len(text)))
	g.Expect(value.Encode(v)).To(HaveLen(len(text)))
}

func TestRat(t *testing.T) {
	g := NewWithT(t)
	for literal, want := range map[string]*big.Rat{
		"0": big.NewRat(0, 1), "-0.0": big.NewRat(0, 1), "17.5": big.NewRat(35, 2), "-1e-2": big.NewRat(-1, 100), "1e2": big.NewRat(100, 1),
	} {
		rat, err := value.Number(literal).Rat()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rat.Cmp(want)).To(BeZero(), literal)
	}
	big53, err := value.Number("9007199254740993").Rat()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(big53.RatString()).To(Equal("9007199254740993"))
	_, err = value.Number("1e400").Rat()
	g.Expect(err).NotTo(HaveOccurred())

	for literal, complaint := range map[string]string{
		"1e401":                     "exponents beyond",
		"1e-401":                    "exponents beyond",
		"1e999999999999999999999":   "exponents beyond",
		strings.Repeat("7", 1001):   "1001 digits",
		"1/3":                       "not a JSON number",
		"0x10":                      "not a JSON number",
		"":                          "not a JSON number",
		"NaN":                       "not a JSON number",
		strings.Repeat("x", 100000): "not a JSON number",
	} {
		_, err := value.Number(literal).Rat()
		g.Expect(err).To(MatchError(ContainSubstring(complaint)))
		g.Expect(len(err.Error())).To(BeNumerically("<", 200))
	}
}

func TestFromRat(t *testing.T) {
	g := NewWithT(t)
	for rat, want := range map[*big.Rat]string{
		big.NewRat(35, 2): "17.5", big.NewRat(-100, 1): "-100", big.NewRat(1, 8): "0.125", new(big.Rat): "0",
	} {
		n, ok := value.FromRat(rat)
		g.Expect(ok).To(BeTrue())
		g.Expect(n).To(Equal(value.Number(want)))
	}
	_, ok := value.FromRat(big.NewRat(1, 3))
	g.Expect(ok).To(BeFalse())
	g.Expect(value.FromInt(-12)).To(Equal(value.Number("-12")))
}

func TestIsNumberFollowsTheGrammar(t *testing.T) {
	for _, yes := range []string{"0", "-0", "10", "1.5", "1e5", "1E+5", "1.0e-05", "-12.50"} {
		NewWithT(t).Expect(value.IsNumber(yes)).To(BeTrue(), yes)
	}
	for _, no := range []string{"", "-", "+1", "01", "-01", ".5", "5.", "1.e5", "1e", "1e+", "1_000", "0x1", "1 ", " 1", "1,5", "NaN", "Infinity", "1e5.0", "--1", "٣"} {
		NewWithT(t).Expect(value.IsNumber(no)).To(BeFalse(), no)
	}
}
