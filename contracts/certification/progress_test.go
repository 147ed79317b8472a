package certification_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
)

// run draws a provider's samples one by one and stops as soon as it may, if early is set.
func run(draw *rand.Rand, samples int, rate, threshold float64, early bool) (certification.Verdict, int) {
	e := evidence(samples)
	e.Thresholds.Business = threshold
	for i := range e.Samples {
		if draw.Float64() >= rate {
			e.Samples[i].Business = wrong
		}
	}
	progress := certification.NewProgress(samples, names, e.Thresholds)
	for i, o := range e.Samples {
		progress.Add(o)
		if early && (progress.Rejected() || progress.Certain()) {
			e.Samples = e.Samples[:i+1]
			break
		}
	}
	return certification.Judge(e).Verdict, len(e.Samples)
}

// Stopping early is never another verdict than going on would have given, and saves samples.
func TestStoppingEarlyChangesNoVerdict(t *testing.T) {
	for _, rate := range []float64{1, 0.97, 0.9, 0.5, 0} {
		t.Run(fmt.Sprint("true rate ", rate), func(t *testing.T) {
			g := NewWithT(t)
			taken := 0
			for seed := range uint64(300) {
				whole, _ := run(rand.New(rand.NewPCG(seed, 1)), 80, rate, 0.9, false)
				stopped, n := run(rand.New(rand.NewPCG(seed, 1)), 80, rate, 0.9, true)
				g.Expect(stopped).To(Equal(whole), "seed %d", seed)
				g.Expect(n).To(BeNumerically(">=", 8), "every case is seen once")
				taken += n
			}
			g.Expect(taken).To(BeNumerically("<", 300*80))
		})
	}
}

// Over 1,000 seeded runs of a provider whose true rate is the threshold, no more than the promised 5 % are
// certified, whether or not the run stops early; the tolerance is what 1,000 draws may be off by.
func TestWrongCertificationsStayUnderFivePercent(t *testing.T) {
	const runs, tolerance = 1000, 0.014 // two standard deviations of a share of 5 % in 1,000
	for _, row := range []struct {
		threshold float64
		samples   int
	}{{0.98, 240}, {0.9, 40}, {0.9, 80}, {0.85, 64}, {0.6, 40}} {
		for _, early := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v with %d samples, early %t", row.threshold, row.samples, early), func(t *testing.T) {
				certified := 0
				for seed := range uint64(runs) {
					if verdict, _ := run(rand.New(rand.NewPCG(seed, 98)), row.samples, row.threshold, row.threshold, early); verdict == certification.Certified {
						certified++
					}
				}
				NewWithT(t).Expect(float64(certified) / runs).To(BeNumerically("<=", 0.05+tolerance))
			})
		}
	}
}

// Wrong in one of 20 answers: not certified at 0.98, however many samples; certified at 0.85 with enough.
func TestOneWrongInTwenty(t *testing.T) {
	flaky := func(samples int, threshold float64) certification.Judgement {
		e := evidence(samples)
		e.Thresholds.Business = threshold
		for i := range e.Samples {
			if i%20 == 7 {
				e.Samples[i].Business = wrong
			}
		}
		return certification.Judge(e)
	}
	g := NewWithT(t)
	for _, samples := range []int{40, 160, 400, 4000} {
		g.Expect(flaky(samples, 0.98).Dimension(certification.DimensionBusiness).Status).To(Equal(failed), "%d samples", samples)
	}
	g.Expect(flaky(32, 0.85).Verdict).To(Equal(certification.Rejected), "2 wrong in 32 prove 0.81")
	g.Expect(flaky(40, 0.85).Verdict).To(Equal(certification.Certified), "2 wrong in 40 prove 0.8508")
}

func TestProgressWaitsForEveryCase(t *testing.T) {
	g := NewWithT(t)
	progress := certification.NewProgress(40, names, certification.Thresholds{Structure: 0.9, Business: 0.9, RoundTrip: 0.9})
	for i, o := range answered(40)[:8] {
		o.Structure = wrong
		g.Expect(progress.Rejected()).To(BeFalse(), "after %d", i)
		progress.Add(o)
	}
	g.Expect(progress.Rejected()).To(BeTrue())
	g.Expect(progress.Certain()).To(BeFalse())
}

// Trouble decides nothing: a run that lost its budget ends, as neither.
func TestTroubleIsNoDecision(t *testing.T) {
	g := NewWithT(t)
	progress := certification.NewProgress(40, names, certification.Thresholds{Structure: 0.5, Business: 0.5, RoundTrip: 0.5})
	for i, o := range answered(40) {
		if i < 5 {
			trouble(&o)
		} else {
			o.Structure = wrong
		}
		progress.Add(o)
	}
	g.Expect(progress.Spent()).To(BeTrue())
	g.Expect(progress.Rejected()).To(BeFalse())
}

func TestWhatWasNotTakenSaysWhy(t *testing.T) {
	g := NewWithT(t)
	e := evidence(40)
	e.Samples = e.Samples[:16]
	for i := range e.Samples {
		e.Samples[i].Structure = wrong
	}
	judgement := certification.Judge(e)
	g.Expect(judgement.Verdict).To(Equal(certification.Rejected))
	g.Expect(status(judgement)).To(Equal([4]string{passed, failed, notJudged, notJudged}))
	g.Expect(judgement.Dimension(certification.DimensionBusiness).Findings).To(HaveExactElements(certification.Finding{
		Reason: certification.FindingStoppedEarly, Count: 24, Detail: "not taken: structure had decided the verdict",
	}))
}

func TestEnforcementCountsWhereItIsRequired(t *testing.T) {
	for shown, want := range map[certification.Enforcement]struct {
		status string
		reason string
	}{
		certification.Enforced:  {passed, ""},
		certification.Complied:  {failed, certification.FindingNotEnforced},
		certification.Ignored:   {failed, certification.FindingNotEnforced},
		certification.NotSent:   {failed, certification.FindingNotEnforced},
		certification.NotProbed: {notJudged, certification.FindingNotProbed},
	} {
		g := NewWithT(t)
		e := evidence(40)
		e.Enforcement = shown
		g.Expect(certification.Judge(e).Verdict).To(Equal(certification.Certified), "a finding where nothing requires it")
		e.RequireEnforcement = true
		d := certification.Judge(e).Dimension(certification.DimensionStructure)
		g.Expect(d.Status).To(Equal(want.status), string(shown))
		if want.reason != "" {
			g.Expect(d.Findings).To(ContainElement(HaveField("Reason", want.reason)))
		}
	}
}

func TestPassAllIsAveragedOverTheCases(t *testing.T) {
	g := NewWithT(t)
	e := evidence(40) // 8 cases of 5 samples
	g.Expect(certification.Judge(e).PassAll).To(Equal([]float64{1, 1, 1, 1, 1}))
	for i := range e.Samples {
		if e.Samples[i].Case == "case 3" && e.Samples[i].Index == 2 {
			e.Samples[i].Business = wrong // 4 of 5
		}
	}
	figures := certification.Judge(e).PassAll
	for k, want := range []float64{7.8 / 8, 7.6 / 8, 7.4 / 8, 7.2 / 8, 7.0 / 8} {
		g.Expect(figures[k]).To(BeNumerically("~", want, 1e-9))
	}
}

func TestLatencyFigures(t *testing.T) {
	g := NewWithT(t)
	e := evidence(100)
	e.Deadline = 2 * time.Second
	took := make([]time.Duration, 100)
	for i := range took {
		took[i] = time.Duration(i+1) * 10 * time.Millisecond
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(took), func(i, j int) { took[i], took[j] = took[j], took[i] })
	for i := range e.Samples {
		e.Samples[i].Latency = took[i]
	}
	l := certification.Judge(e).Latency
	for _, figure := range []struct{ got, exact int64 }{{l.P50MS, 500}, {l.P90MS, 900}, {l.P99MS, 990}} {
		g.Expect(figure.got).To(And(BeNumerically(">=", figure.exact), BeNumerically("<=", float64(figure.exact)*1.06)))
	}
	g.Expect(l.MaxMS).To(Equal(int64(1000)))
	g.Expect(l.DeadlineMS).To(Equal(int64(2000)))
	g.Expect(l.Samples).To(Equal(100))
	g.Expect(slices.IsSorted([]int64{l.P50MS, l.P90MS, l.P99MS, l.MaxMS})).To(BeTrue())
	g.Expect(l.Late).To(BeZero())

	for i := range 20 { // calls that were given up are the slowest of all, not left out
		late := certification.Lost{Reason: "timeout", Took: 2001 * time.Millisecond, Late: true}
		e.Samples[i].Lost = []certification.Lost{late, {Reason: "rate_limited", Took: time.Millisecond}}
	}
	l = certification.Judge(e).Latency
	g.Expect(*l).To(And(HaveField("Samples", 120), HaveField("Late", 20), HaveField("MaxMS", int64(2001)), HaveField("P50MS", BeNumerically(">", 500))))
	g.Expect(l.P90MS).To(BeNumerically(">=", 2000))
	g.Expect(l.String()).To(HaveSuffix("longest 2001 ms of 120 calls; the soft deadline is 2000 ms, and 20 had no answer by then"))
	e.Samples = nil
	g.Expect(certification.Judge(e).Latency).To(BeNil())
}
