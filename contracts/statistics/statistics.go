// Package statistics says what a count of good answers proves.
//
// It promises the exact one-sided 95 % lower confidence bound (Clopper–Pearson) on the rate behind
// s successes in n trials, and the inverse: how many perfect answers a threshold costs. It takes the
// trials to be independent; where answers to one case resemble each other, that is the reader's caveat.
package statistics

import (
	"math"
	"sort"
	"strconv"
)

// alpha is the chance, at most, that the true rate lies below the bound.
const alpha = 0.05

// LowerBound is the rate that successes out of n prove with 95 % confidence: the p at which seeing as
// many or more has probability 0.05. It is 0 where nothing was tried or nothing succeeded, and for
// perfect answers 0.05^(1/n). It never exceeds the true bound by more than rounding.
func LowerBound(successes, n int) float64 {
	switch {
	case n <= 0 || successes <= 0:
		return 0
	case successes >= n:
		return math.Pow(alpha, 1/float64(n))
	}
	low, high := 0.0, float64(successes)/float64(n)
	for range 100 { // halving 2^-53 apart takes fewer
		middle := (low + high) / 2
		if atLeast(successes, n, middle) < alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Proves reports whether the rate that successes out of n prove, see [LowerBound], reaches the threshold. It
// costs a hundredth of finding the bound.
func Proves(successes, n int, threshold float64) bool {
	switch {
	case threshold <= 0:
		return true
	case n <= 0 || successes <= 0:
		return false
	}
	return atLeast(min(successes, n), n, threshold) <= alpha
}

// Refutes reports whether successes out of n prove with the same confidence that the rate lies below the
// threshold: that at the threshold so few or fewer have a probability of no more than 0.05.
func Refutes(successes, n int, threshold float64) bool {
	switch {
	case threshold <= 0 || n <= 0 || successes >= n:
		return false
	case threshold >= 1:
		return true
	}
	return 1-atLeast(successes+1, n, threshold) <= alpha
}

// SamplesNeeded is the least n whose perfect answers prove the threshold. ok is false where no number
// of samples does: at 1 and above.
func SamplesNeeded(threshold float64) (n int, ok bool) {
	switch {
	case threshold >= 1 || math.IsNaN(threshold):
		return 0, false
	case threshold <= 0:
		return 1, true
	}
	estimate := math.Ceil(math.Log(alpha) / math.Log(threshold))
	if estimate > math.MaxInt32 {
		return 0, false
	}
	n = max(1, int(estimate)-1) // the logarithms' rounding may be off by one either way
	for LowerBound(n, n) < threshold {
		n++
	}
	return n, true
}

// Bearing is the least n of which so many may be wrong, and the rest proves the threshold. ok is false where no n is
// large enough: at 1 and above, and beyond what a machine counts.
func Bearing(wrong int, threshold float64) (n int, ok bool) {
	few, ok := SamplesNeeded(threshold)
	if !ok || wrong <= 0 {
		return few, ok
	}
	enough := func(n int) bool { return Proves(n-wrong, n, threshold) }
	low, high := max(few, wrong), 2*max(few, wrong)
	for ; !enough(high); low, high = high, 2*high {
		if high > math.MaxInt32 {
			return 0, false
		}
	}
	return low + sort.Search(high-low, func(more int) bool { return enough(low + more) }), true
}

// PerCase is how many samples of each case make at least so many answers.
func PerCase(answers, cases int) int { return (answers + cases - 1) / cases }

// Shown is a share as people read it, with three decimals and never rounded up: what falls short of a threshold is not
// shown as reaching it.
func Shown(share float64) string {
	exact := strconv.FormatFloat(share, 'f', 9, 64) // nine decimals hold what binary fractions are off by
	return exact[:len(exact)-6]
}

// PassAll is the chance that k further answers, drawn without returning them from the n that were seen, are
// all good: C(successes, k) / C(n, k), the unbiased estimate of pass^k (Yao et al. 2024, tau-bench). It wants
// 1 <= k <= n.
func PassAll(successes, n, k int) float64 {
	chance := 1.0
	for i := range k {
		chance *= float64(max(0, successes-i)) / float64(n-i)
	}
	return chance
}

// atLeast is P(X >= k) for X binomial (n, p), which is the regularised incomplete beta function
// I_p(k, n-k+1).
func atLeast(k, n int, p float64) float64 {
	return regularisedBeta(p, float64(k), float64(n-k+1))
}

// regularisedBeta is I_x(a, b) by its continued fraction (modified Lentz), taken on the side of the
// mean where it converges fast.
func regularisedBeta(x, a, b float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	if x > (a+1)/(a+b+2) {
		return 1 - regularisedBeta(1-x, b, a)
	}
	logA, _ := math.Lgamma(a)
	logB, _ := math.Lgamma(b)
	logAB, _ := math.Lgamma(a + b)
	front := math.Exp(logAB-logA-logB+a*math.Log(x)+b*math.Log1p(-x)) / a
	return front * betaFraction(x, a, b)
}

func betaFraction(x, a, b float64) float64 {
	const tiny, precision = 1e-300, 1e-16
	guard := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/guard(1-(a+b)*x/(a+1))
	result := d
	for i := 1; i <= 10000; i++ {
		m := float64(i)
		for _, numerator := range []float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d = 1 / guard(1+numerator*d)
			c = guard(1 + numerator/c)
			result *= c * d
		}
		if math.Abs(c*d-1) < precision {
			break
		}
	}
	return result
}
