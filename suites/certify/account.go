package certify

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

// account is what a run's samples showed, kept so that many take hardly more memory than few: counts, the
// first of every kind of fault, and of each sample some bytes by which answers are told apart. The samples
// themselves are in the store. Counting is not safe for concurrent use.
type account struct {
	pair    Pair
	binding *binding.Binding
	grid    grid
	tally   *certification.Progress
	cases   map[string]*caseAccount // by name
	prompt  []prompt.Finding        // of render
	wire    []*certification.Check  // one for each parameter: passed, or the first that differs
	fresh   freshness
	seen    places         // samples that were counted
	good    places         // of them, those in which nothing is wrong
	stale   map[int]string // why samples are no live evidence, by place
	faulty  int            // bytes of bodies in samples in which something is wrong

	rendered sync.Once

	parameters *certification.Parameters // as they were sent; nil where nothing was
	models     names                     // that answered
	answers    map[string]modelCount     // of each of them, and of "" those that name none
	prints     names                     // their fingerprints
	simulated  string                    // what shows that no live provider answered; "" = nothing
	recorded   *string                   // where an answer was played: the source that the cassette claims
	calls      period                    // when they were made
}

// caseAccount is what is known of one case.
type caseAccount struct {
	wire     []providers.Message // of render, like the next five: as the target is sent it, without keys; nil where no request can be made
	keys     []string            // the providers whose keys it held
	tokens   int                 // of it, by the local tokenizer
	counted  bool
	input    map[string]any // without keys, like the next
	expected map[string]any
	right    atomic.Uint64 // hash of a body in which every parameter is as declared, the attempt's id left out
	answered bool
	usage    int // the provider's count of its prompt, as first seen; 0 = not seen
	differs  *certification.Check
	alone    int // answers that meet the schema and were held against no expected one
}

func newAccount(pair Pair, options Options, bound *binding.Binding) *account {
	a := &account{
		pair: pair, binding: bound, grid: newGrid(pair.Contract), cases: map[string]*caseAccount{}, answers: map[string]modelCount{},
		fresh: newFreshness(), stale: map[int]string{},
		tally: certification.NewProgress(planned(pair, options), pair.Contract.CaseNames(), certification.Thresholds(pair.Contract.Thresholds)),
	}
	for _, each := range pair.Contract.Cases {
		a.cases[each.Name] = &caseAccount{}
	}
	return a
}

// hopeless reports whether the pair fails whatever a call would show: the contract requires a schema to be enforced that
// is not sent, or it asks for all checks of the prompts, and one that asks nobody fails.
func (a *account) hopeless() bool {
	a.render()
	contract := a.pair.Contract
	if contract.Requires(contracts.RequireEnforcement) && a.pair.Profile.StructuredOutput != providers.StructuredJSONSchema {
		return true
	}
	fails := func(f prompt.Finding) bool { return f.Fails() || contract.Requires(contracts.RequireTokens) }
	return contract.Thresholds.Prompt >= 1 && slices.ContainsFunc(a.prompt, fails)
}

// render finds out, once, what can be known of the prompts without asking. Whoever comes second waits.
func (a *account) render() { a.rendered.Do(a.renderCases) }

func (a *account) renderCases() {
	count := counter{}
	a.prompt = prompt.Judge(a.pair.Contract, a.pair.Target, a.pair.Profile, count.count)
	for i, f := range a.prompt {
		a.prompt[i].Detail = a.pair.Scrub.Text(f.Detail)
	}
	for _, each := range a.pair.Contract.Cases {
		known := a.cases[each.Name]
		known.input, known.expected = a.pair.redactedObject(each.Input), a.pair.redactedObject(each.Expected)
		request, err := a.binding.Request(each.Input)
		if err != nil {
			continue // said by the prompt's findings, and so is what fails below
		}
		wire, err := a.pair.Profile.WireMessages(request.Messages)
		if err == nil {
			known.wire, known.keys = a.pair.redacted(wire), a.pair.keysIn(wire)
			known.tokens, known.counted, err = count.count(a.pair.Profile, request.Messages)
			known.counted = known.counted && err == nil
		}
	}
}

// look is what one sample shows by itself.
type look struct {
	sample Sample
	read   reading
	shows  certification.Observation
	wire   []certification.Check
}

// look may be used concurrently, also while samples are counted.
func (a *account) look(sample Sample, read reading) look {
	a.render()
	l := look{sample: sample, read: read}
	l.shows = a.observe(sample, l.read)
	if sample.Seen.Request != "" {
		l.wire = a.checkWire(sample)
	}
	return l
}

// count counts a sample of a case.
func (a *account) count(l look) {
	place, _ := a.grid.place(slot{l.sample.Case, l.sample.Index}) // who calls has looked
	if stale := a.fresh.stale(a.grid, l.sample); stale != "" {
		a.stale[place] = stale
	}
	o := notFresh(l.shows, a.stale[place])
	a.seen.add(place)
	a.tally.Add(o)
	if good(o) {
		a.good.add(place)
	} else {
		a.faulty += artifactExchanges(l.sample).Size() + len(l.read.outcome.Content)
	}
	if known := a.cases[o.Case]; known.expected == nil && o.Kind == certification.Answered && len(o.Structure) == 0 {
		known.alone++
	}
	a.usage(l.sample, l.read)
	a.sent(l)
	a.served(l.sample, l.read, o)
	a.passed(l.sample)
}

// has says whether a sample was counted.
func (a *account) has(where slot) bool {
	place, ok := a.grid.place(where)
	return ok && a.seen.has(place)
}

// again is what a sample showed when it was counted.
func (a *account) again(sample Sample, read reading) certification.Observation {
	place, _ := a.grid.place(slot{sample.Case, sample.Index})
	if a.good.has(place) {
		return certification.Observation{Case: sample.Case, Index: sample.Index, Kind: certification.Answered, Latency: latency(sample)}
	}
	o := notFresh(a.observe(sample, read), a.stale[place])
	if o.Kind == certification.Unusable {
		o.Reason = a.tally.Reason(o.Reason)
	}
	return o
}

// alone is how many answers were held against no expected one, and the first case of them.
func (a *account) alone() (count int, first string) {
	for _, each := range a.pair.Contract.Cases {
		if n := a.cases[each.Name].alone; n > 0 {
			count, first = count+n, cmp.Or(first, each.Name)
		}
	}
	return count, first
}

// notFresh is what an answer shows that is no live evidence, for a reason; "" = it is. Something on the way gave it,
// and not the target.
func notFresh(o certification.Observation, why string) certification.Observation {
	if o.Kind != certification.Answered || why == "" {
		return o
	}
	return certification.Observation{Case: o.Case, Index: o.Index, Kind: certification.Trouble, Reason: ReasonNotFresh, Detail: why, Lost: o.Lost}
}

func good(o certification.Observation) bool {
	return o.Kind == certification.Answered && len(o.Structure)+len(o.Business) == 0
}

// latency is how long an answer took, to its last byte.
func latency(sample Sample) time.Duration { return sample.Seen.Finished.Sub(sample.Seen.Started) }

// usage compares the provider's own count of the prompt with the local one.
func (a *account) usage(sample Sample, read reading) {
	known := a.cases[sample.Case]
	known.answered = known.answered || read.answered()
	theirs := usageOf(read)
	if theirs <= 0 {
		return
	}
	if known.usage == 0 {
		known.usage = theirs
	}
	if known.counted && differ(a.pair.Profile, theirs, known.tokens) && before(sample, known.differs) {
		known.differs = tokensDiffer(a.pair.Profile, sample, theirs, known.tokens)
	}
}

// sent compares the body that was sent with what is declared.
func (a *account) sent(l look) {
	if a.parameters == nil && l.sample.Seen.Request != "" {
		if parameters, err := certification.ReadParameters([]byte(l.sample.Seen.Request), a.pair.Profile); err == nil {
			a.parameters = &parameters
		}
	}
	for _, check := range l.wire {
		check.Case, check.Sample = l.sample.Case, l.sample.Index
		a.keepWire(check)
	}
}

// keepWire keeps the first check of a parameter that fails, else one that passes.
func (a *account) keepWire(check certification.Check) {
	for i, known := range a.wire {
		if known.Name != check.Name {
			continue
		}
		failed := known.Status == certification.CheckFailed
		if check.Status == certification.CheckFailed && (!failed || before(Sample{Case: check.Case, Index: check.Sample}, known)) {
			a.wire[i] = &check
		}
		return
	}
	a.wire = append(a.wire, &check)
}

// before says whether a sample comes before the one that a check names; a check that is nil names none.
func before(sample Sample, check *certification.Check) bool {
	return check == nil || sample.Index < check.Sample || (sample.Index == check.Sample && sample.Case < check.Case)
}

// served notes who answered.
func (a *account) served(sample Sample, read reading, o certification.Observation) {
	a.models.add(read.outcome.ServedModel)
	if read.answered() {
		a.answers[read.outcome.ServedModel] = a.answers[read.outcome.ServedModel].with(o)
	}
	a.prints.add(read.outcome.Fingerprint)
	if a.simulated == "" {
		a.simulated = simulatedBy(a.pair, sample)
	}
}

// passed notes when a call was made, and whether its answer was only played.
func (a *account) passed(sample Sample) {
	a.calls = a.calls.with(sample)
	if sample.Replayed != "" && a.recorded == nil {
		a.recorded = &sample.Replayed
	}
}

// period is from when to when calls were made.
type period struct{ first, last time.Time }

func (p period) with(sample Sample) period {
	if started := sample.Seen.Started; !started.IsZero() && (p.first.IsZero() || started.Before(p.first)) {
		p.first = started
	}
	if finished := sample.Seen.Finished; finished.After(p.last) {
		p.last = finished
	}
	return p
}

// checkWire compares a body that was sent with what is declared. A case's samples send the same but for the
// attempt's id: where such a body was found right once, there is nothing new to say.
func (a *account) checkWire(sample Sample) []certification.Check {
	right := &a.cases[sample.Case].right
	body := maphash.String(a.fresh.seed, strings.ReplaceAll(sample.Seen.Request, sample.Seen.AttemptID, ""))
	if right.Load() == body {
		return nil
	}
	declared := a.pair.declared(a.cases[sample.Case].wire, map[string]string{openai.AttemptMetadata: sample.Seen.AttemptID})
	checks := certification.CheckWire([]byte(sample.Seen.Request), declared)
	if !slices.ContainsFunc(checks, func(c certification.Check) bool { return c.Status != certification.CheckPassed }) {
		right.Store(body)
	}
	return checks
}
