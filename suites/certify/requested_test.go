package certify_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/suites/certify"
)

// A proof that ran out is asked to be renewed; whoever certifies what is requested certifies that pair alone.
func TestOnlyWhatIsRequested(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	lapsing, lasting := w.pair("support-triage", "faithful"), w.pair("invoice-extraction", "faithful")
	short := *lapsing.Contract
	short.ValidFor = time.Millisecond
	renewed := lapsing
	lapsing.Contract = &short
	key := func(pair certify.Pair) certification.Key {
		return certification.Key{
			Contract: pair.Contract.Name, Target: pair.Target, EffectiveDigest: pair.Contract.EffectiveDigest(pair.Target),
			ProfileDigest: pair.Profile.Digest(), ProofDigest: pair.Contract.ProofDigest(pair.Target, pair.Profile),
		}
	}
	certified := func(pairs ...certify.Pair) {
		options := w.options()
		options.Pairs = pairs
		result, err := certify.Conclude(t.Context(), options)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.Certified+result.Lapsed).To(Equal(len(pairs)), "one expired before it was written")
	}
	requested := func(pairs ...certify.Pair) []certify.Pair {
		found, err := certify.Requested(t.Context(), w.store, pairs)
		g.Expect(err).NotTo(HaveOccurred())
		return found
	}
	certified(lapsing, lasting)
	g.Expect(requested(lapsing, lasting)).To(BeEmpty())
	g.Eventually(func() ([]certification.Event, error) {
		return w.store.TendProofs(t.Context(), []certification.Key{key(lapsing), key(lasting)}, "a replica")
	}).Should(ContainElement(HaveField("Type", certification.EventRequested)))
	found := requested(lasting, lapsing)
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].Contract.Name).To(Equal("support-triage"))

	found = requested(renewed)
	g.Expect(found).To(HaveLen(1), "the contract was edited since, and is asked for as it is now")
	certified(renewed)
	g.Expect(requested(renewed, lasting)).To(BeEmpty())
	g.Expect(requested(lapsing)).To(HaveLen(1), "as it was before the edit it is still asked for")
}
