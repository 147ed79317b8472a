package certify_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/suites/certify"
)

// An interrupt makes no further call, waits for those that are under way, and keeps them: they are paid for.
func TestAnInterruptKeepsWhatIsUnderWay(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	w.simulator.SetPersonality("faithful", simulator.Personality{Hold: true})
	options := w.options()
	options.RunName = "tonight"
	pair := w.pair("support-triage", "faithful")
	pair.Concurrency = 4
	told := make(chan struct{})
	options.Out = &hearing{text: "interrupted: waiting", heard: func() { close(told) }}
	options.Pairs = []certify.Pair{pair}

	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := certify.Conclude(ctx, options)
		ended <- err
	}()
	_, err := w.simulator.WaitForRequests(t.Context(), 4, simulator.Filter{})
	g.Expect(err).NotTo(HaveOccurred())
	interrupt()
	<-told
	g.Expect(ended).NotTo(Receive(), "what is under way is waited for")
	w.simulator.SetPersonality("faithful", faithful)
	w.simulator.Release(simulator.Filter{})
	g.Expect(<-ended).To(MatchError(context.Canceled))
	g.Expect(w.simulator.Ledger()).To(HaveLen(4), "nothing was called any more")

	record, evidence := w.certify(pair, options)
	g.Expect(record.Verdict).To(Equal(certification.Certified))
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls), "nothing was called twice")
	g.Expect(w.stored(evidence.Run.ID)).To(HaveLen(calls))
}

// overtaken has another runner finish the sample that is called as the twelfth, with another answer.
type overtaken struct {
	providers.Provider
	world *world
	runID string
	calls int
}

func (o *overtaken) Send(ctx context.Context, request providers.Request) providers.Exchange {
	if o.calls++; o.calls == 3+8+1 {
		o.finish(ctx)
	}
	return o.Provider.Send(ctx, request)
}

func (o *overtaken) finish(ctx context.Context) {
	first := o.world.contract("support-triage").Cases[0].Name
	for _, like := range o.world.stored(o.runID) {
		if like.Case != first {
			continue
		}
		seen, err := certify.Decode(like)
		if err != nil {
			o.world.t.Error(err)
		}
		theirs := strings.ReplaceAll(like.Evidence, seen.Seen.AttemptID, uuid.NewString())
		theirs = regexp.MustCompile(`chatcmpl-[0-9a-f]+`).ReplaceAllString(theirs, "chatcmpl-"+strings.Repeat("0", 24))
		request, answer, _ := strings.Cut(theirs, `"answer":`)
		theirs = request + `"answer":` + strings.Replace(answer, "urgency", "urgently", 1)
		if _, err := o.world.store.StepSamples(ctx, []store.SampleStep{{
			RunID: o.runID, Place: store.Place{Case: first, Index: 1}, By: "another", Evidence: theirs,
		}}); err != nil {
			o.world.t.Error(err)
		}
	}
}

// What the store has is what counts, also where this runner's own sample comes second.
func TestAnotherRunnersSampleCounts(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	options := w.options()
	options.RunName, options.Complete = "tonight", true
	pair := w.pair("support-triage", "faithful")
	pair.Concurrency = 1
	pair.Client = &overtaken{Provider: pair.Client, world: w, runID: w.opened(pair, options.RunName)}
	record, _ := w.certify(pair, options)
	g.Expect(record.Taken).To(Equal(40))
	figure := dimension(record, certification.DimensionStructure)
	g.Expect(figure.Successes).To(Equal(39), "%+v", record.Dimensions)
	g.Expect(figure.Findings).To(HaveEach(And(HaveField("Count", 1), HaveField("Sample", 1))))
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls))
}
