package certify_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/suites/certify"
)

const calls = 43 // eight cases, five samples, a canary and two probes

// interrupting ends the run after so many answers.
type interrupting struct {
	providers.Provider
	after  int
	cancel context.CancelCauseFunc
}

var errInterrupted = errors.New("interrupted")

func (i *interrupting) Send(ctx context.Context, request providers.Request) providers.Exchange {
	ex := i.Provider.Send(ctx, request)
	if i.after--; i.after == 0 {
		i.cancel(errInterrupted)
	}
	return ex
}

// An interrupted run resumes under its name and pays only for what is missing; a finished one returns
// its record without a call.
func TestResume(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	options := w.options()
	options.RunName = "tonight"
	pair := w.pair("support-triage", "faithful")

	ctx, cancel := context.WithCancelCause(t.Context())
	cut := pair
	cut.Concurrency, cut.Client = 1, &interrupting{pair.Client, 10, cancel}
	_, err := certify.Collect(ctx, cut, options)
	g.Expect(err).To(MatchError(errInterrupted))
	g.Expect(w.simulator.Ledger()).To(HaveLen(10))

	record, evidence := w.certify(pair, options)
	g.Expect(record.Verdict).To(Equal(certification.Certified))
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls), "ten were kept, also the one after which it was cut")
	stored, won, err := w.store.FinishRun(t.Context(), evidence.Run.ID, record, time.Hour)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(won).To(BeTrue())

	again, evidence := w.certify(pair, options)
	g.Expect(evidence.Record).NotTo(BeNil())
	g.Expect(again).To(Equal(stored))
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls))

	options.RunName = "tomorrow"
	fresh, _ := w.certify(pair, options)
	g.Expect(fresh.ID).NotTo(Equal(stored.ID))
	g.Expect(w.simulator.Ledger()).To(HaveLen(2*calls), "another night is another run")
}

// Two runners that were started for the same night do the work once and agree on one record.
func TestTwoRunnersShareOneRun(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	options := w.options()
	options.RunName = "tonight"
	w.simulator.SetPersonality("faithful", simulator.Personality{Kind: simulator.Faithful, Delay: 5 * time.Millisecond})
	var (
		group  sync.WaitGroup
		stored [2]certification.Record
		won    [2]bool
	)
	for i := range stored {
		group.Go(func() {
			record, evidence := w.certify(w.pair("support-triage", "faithful"), options)
			if evidence.Record != nil {
				stored[i] = record
				return
			}
			var err error
			stored[i], won[i], err = w.store.FinishRun(t.Context(), evidence.Run.ID, record, time.Hour)
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls), "together, not each")
	g.Expect(stored[0]).To(Equal(stored[1]))
	g.Expect(won[0] != won[1]).To(BeTrue(), "one of them wrote it")
	g.Expect(stored[0].Verdict).To(Equal(certification.Certified))
	runners := map[string]bool{}
	samples := w.stored(stored[0].RunID)
	for _, s := range samples {
		runners[s.By] = true
	}
	g.Expect(runners).To(HaveLen(2), "both took part")
}

// What a runner that died had claimed is taken over when its claim runs out.
func TestClaimOfADeadRunner(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	options := w.options()
	options.RunName = "tonight"
	pair := w.pair("support-triage", "faithful")
	id := w.opened(pair, "tonight")
	lost := pair.Contract.Cases[2].Name
	claimed, err := w.store.StepSamples(t.Context(), []store.SampleStep{{
		RunID: id, Place: store.Place{Case: lost, Index: 3}, By: "the dead one", Lease: 300 * time.Millisecond,
	}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(claimed).To(Equal([]bool{true}))

	record, evidence := w.certify(pair, options)
	g.Expect(evidence.Run.ID).To(Equal(id))
	g.Expect(w.samples(evidence)).To(HaveLen(calls - 3))
	g.Expect(record.Verdict).To(Equal(certification.Certified))
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls))
}

// Every call has an id of its own, which is the one that the provider's log has; further tries are
// kept beside the one that counts.
func TestEveryCallIsInTheEvidence(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	_, evidence := w.certify(w.pair("support-triage", "rate-limited"), w.options())
	kept := map[string]bool{}
	finished := w.samples(evidence)
	if evidence.Canary != nil { // called off where the budget was spent before its last try
		finished = append(finished, *evidence.Canary)
	}
	g.Expect(finished).NotTo(BeEmpty())
	for _, sample := range finished {
		g.Expect(sample.Before).To(HaveLen(2), "two further tries")
		for _, seen := range append(sample.Before, sample.Seen) {
			g.Expect(seen.Header).To(HaveKey("Retry-After"))
			kept[seen.AttemptID] = true
		}
	}
	logged := map[string]bool{}
	for _, entry := range w.simulator.Ledger() {
		g.Expect(logged).NotTo(HaveKey(entry.AttemptID), "an id is used once")
		logged[entry.AttemptID] = true
	}
	for id := range kept {
		g.Expect(logged).To(HaveKey(id))
	}
	g.Expect(len(logged)).To(BeNumerically("<", 3*calls), "the budget ends it early")
}

// The tries of a sample that fails once succeed in the end, and nothing is held against the target.
func TestTroubleThatPasses(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	var once sync.Map
	pair := w.through(t, w.pair("support-triage", "faithful"), proxy{refuse: func(request map[string]any) (int, string) {
		if _, again := once.LoadOrStore(string(jsonOf(t, request)), true); again {
			return 0, ""
		}
		return 429, "slow down"
	}})
	pair.Concurrency = 1
	record, evidence := w.certify(pair, w.options())
	g.Expect(record.Verdict).To(Equal(certification.Certified), "%+v", record.Dimensions)
	tries := 0
	for _, sample := range w.samples(evidence) {
		tries += len(sample.Before)
	}
	g.Expect(tries).To(Equal(8), "the first call of each case was refused, and made again")
}
