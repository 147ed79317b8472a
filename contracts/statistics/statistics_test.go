package statistics_test

import (
	"math"
	"testing"

	"github.com/fallproof/fallproof/contracts/statistics"
	. "github.com/onsi/gomega"
)

// One-sided 95 % lower limits equal the lower limits of two-sided 90 % Clopper–Pearson intervals. The
// rows with failures were checked against the defining binomial sum below; the perfect ones have the
// closed form.
func TestLowerBoundAgainstKnownValues(t *testing.T) {
	for _, row := range []struct {
		successes, n int
		want         float64
	}{
		{0, 0, 0},
		{0, 10, 0},
		{1, 1, 0.05},
		{5, 10, 0.22244},
		{9, 10, 0.60584},
		{10, 10, 0.74113},
		{29, 30, 0.85140},
		{40, 40, 0.92784},
		{59, 59, 0.95049},
		{95, 100, 0.89775},
		{149, 149, 0.98010},
		{299, 299, 0.99003},
	} {
		g := NewWithT(t)
		g.Expect(statistics.LowerBound(row.successes, row.n)).To(BeNumerically("~", row.want, 1e-5), "%d of %d", row.successes, row.n)
	}
}

// The bound is defined by the binomial tail; summing it term by term is the independent check.
func TestLowerBoundSolvesItsDefinition(t *testing.T) {
	for n := 1; n <= 120; n++ {
		for successes := 1; successes <= n; successes++ {
			p := statistics.LowerBound(successes, n)
			if tail := binomialTail(successes, n, p); math.Abs(tail-0.05) > 1e-9 {
				t.Fatalf("%d of %d: P(X >= %d | %v) = %v, want 0.05", successes, n, successes, p, tail)
			}
		}
	}
}

func TestLowerBoundRisesWithSuccessesAndStaysBelowTheRate(t *testing.T) {
	for _, n := range []int{2, 40, 1000, 80000} {
		last := 0.0
		for successes := max(1, n-20); successes <= n; successes++ {
			p := statistics.LowerBound(successes, n)
			if p <= last || p >= float64(successes)/float64(n) {
				t.Fatalf("%d of %d: %v after %v", successes, n, p, last)
			}
			last = p
		}
	}
}

func TestSamplesNeeded(t *testing.T) {
	for _, row := range []struct {
		threshold float64
		want      int
	}{{-1, 1}, {0, 1}, {0.05, 1}, {0.5, 5}, {0.90, 29}, {0.92, 36}, {0.95, 59}, {0.98, 149}, {0.99, 299}} {
		g := NewWithT(t)
		n, ok := statistics.SamplesNeeded(row.threshold)
		g.Expect(ok).To(BeTrue())
		g.Expect(n).To(Equal(row.want), "threshold %v", row.threshold)
		if row.threshold > 0 {
			g.Expect(statistics.LowerBound(n, n)).To(BeNumerically(">=", row.threshold))
		}
		if n > 1 {
			g.Expect(statistics.LowerBound(n-1, n-1)).To(BeNumerically("<", row.threshold))
		}
	}
	for _, never := range []float64{1, 1.5, math.Nextafter(1, 0), math.NaN()} {
		_, ok := statistics.SamplesNeeded(never)
		NewWithT(t).Expect(ok).To(BeFalse(), "threshold %v", never)
	}
}

func binomialTail(k, n int, p float64) float64 {
	sum := 0.0
	for i := k; i <= n; i++ {
		ln, _ := math.Lgamma(float64(n + 1))
		li, _ := math.Lgamma(float64(i + 1))
		lr, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(ln - li - lr + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// TestLowerBoundAgainstWilksTable: how many trials prove a rate with 95 % confidence when so many of them
// failed is a published table (Wilks 1941 for none; tabulated on, for instance, by Guba, Makai and Pál 2003).
func TestLowerBoundAgainstWilksTable(t *testing.T) {
	for rate, trials := range map[float64][]int{
		0.90: {29, 46, 61, 76, 89, 103},
		0.95: {59, 93, 124, 153, 181, 208, 234, 260, 286, 311},
		0.99: {299, 473, 628, 773},
	} {
		for failures, n := range trials {
			g := NewWithT(t)
			g.Expect(statistics.LowerBound(n-failures, n)).To(BeNumerically(">=", rate), "%d failures in %d", failures, n)
			g.Expect(statistics.LowerBound(n-1-failures, n-1)).To(BeNumerically("<", rate), "%d failures in %d", failures, n-1)
			found, ok := statistics.Bearing(failures, rate)
			g.Expect(ok).To(BeTrue())
			g.Expect(found).To(Equal(n), "%d failures at %v", failures, rate)
		}
	}
}

func TestBearingAtTheEnds(t *testing.T) {
	g := NewWithT(t)
	for _, threshold := range []float64{1, 1.5} {
		_, ok := statistics.Bearing(1, threshold)
		g.Expect(ok).To(BeFalse())
	}
	for _, wrong := range []int{1, 7, 1000} {
		for _, threshold := range []float64{0.01, 0.5, 0.999} {
			n, ok := statistics.Bearing(wrong, threshold)
			g.Expect(ok).To(BeTrue())
			g.Expect(statistics.Proves(n-wrong, n, threshold)).To(BeTrue())
			g.Expect(statistics.Proves(n-1-wrong, n-1, threshold)).To(BeFalse(), "%d wrong at %v", wrong, threshold)
		}
	}
	_, ok := statistics.Bearing(1_000_000, 0.99999)
	g.Expect(ok).To(BeFalse(), "more than can be counted")
}

// Refutes is Proves of the failures: that their rate is above what the threshold leaves.
func TestRefutesIsProvesOfTheFailures(t *testing.T) {
	for n := 0; n <= 60; n++ {
		for successes := 0; successes <= n; successes++ {
			for _, threshold := range []float64{0.01, 0.5, 0.9, 0.98} {
				if got, want := statistics.Refutes(successes, n, threshold), statistics.Proves(n-successes, n, 1-threshold); got != want {
					t.Fatalf("%d of %d at %v: %t", successes, n, threshold, got)
				}
			}
		}
	}
	for _, row := range []struct {
		successes, n int
		threshold    float64
		want         bool
	}{{0, 1, 0.9, false}, {0, 2, 0.9, true}, {9, 10, 1, true}, {10, 10, 1, false}, {0, 10, 0, false}, {0, 0, 0.9, false}} {
		NewWithT(t).Expect(statistics.Refutes(row.successes, row.n, row.threshold)).To(Equal(row.want), "%+v", row)
	}
}

func TestPassAll(t *testing.T) {
	for _, row := range []struct {
		successes, n, k int
		want            float64
	}{
		{5, 5, 5, 1}, {4, 5, 5, 0}, {4, 5, 1, 0.8}, {4, 5, 2, 0.6}, {3, 5, 2, 0.3}, {0, 5, 1, 0}, {2, 4, 3, 0},
	} {
		NewWithT(t).Expect(statistics.PassAll(row.successes, row.n, row.k)).To(BeNumerically("~", row.want, 1e-12))
	}
}

// Proves is the bound's question without the bound: beside a hair's breadth both agree.
func TestProvesIsTheBound(t *testing.T) {
	for n := 0; n <= 60; n++ {
		for successes := 0; successes <= n; successes++ {
			bound := statistics.LowerBound(successes, n)
			for _, threshold := range []float64{bound - 1e-9, bound + 1e-9, 0.5, 0.9, 0.98, 1} {
				if got, want := statistics.Proves(successes, n, threshold), bound >= threshold && threshold < 1; got != want {
					t.Fatalf("%d of %d at %v: %t, the bound is %v", successes, n, threshold, got, bound)
				}
			}
		}
	}
}

// Neither a bound that falls short of its threshold nor a rate that is not whole is shown as if it were.
func TestShownIsNeverRoundedUp(t *testing.T) {
	g := NewWithT(t)
	for share, want := range map[float64]string{
		0: "0.000", 1: "1.000", 0.861: "0.861", 0.8609: "0.860", 0.9999: "0.999", 0.1 + 0.2: "0.300", 0.29: "0.290", 0.58: "0.580",
	} {
		g.Expect(statistics.Shown(share)).To(Equal(want), "%v", share)
	}
}
