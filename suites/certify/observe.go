package certify

import (
	"strings"

	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/structure"
	"github.com/fallproof/fallproof/providers"
)

// Reasons that a run gives beyond those of the packages that it asks.
const (
	reasonNotRendered        = "not_rendered"        // no request can be made of the case
	reasonProfileError       = "profile_error"       // every call was refused: 400 404 413 422
	reasonConfigurationError = "configuration_error" // every call was turned away: 401 403
)

// observe reduces samples to what they show, in the order of the plan.
func (e Evidence) observe() []certification.Observation {
	watch := newObserver(e.Pair, e.binding)
	observations := make([]certification.Observation, 0, len(e.Samples))
	for i, sample := range e.Samples {
		o, known := e.observed[slot{sample.Case, sample.Index}]
		if !known {
			o = watch.observe(sample, e.read[i])
		}
		observations = append(observations, o)
	}
	return nameRefusals(observations)
}

// observer reduces one sample after the other to what it shows. Beside hashes of what it has seen it keeps
// nothing of them.
type observer struct {
	pair    Pair
	binding *binding.Binding
	fresh   freshness
}

func newObserver(pair Pair, bound *binding.Binding) *observer {
	return &observer{pair: pair, binding: bound, fresh: newFreshness()}
}

func (w *observer) observe(sample Sample, read reading) certification.Observation {
	o := certification.Observation{
		Case: sample.Case, Index: sample.Index,
		Kind: certification.Unusable, Reason: string(read.outcome.Reason), Detail: read.outcome.Detail,
	}
	stale := w.fresh.stale(sample)
	switch {
	case read.trouble:
		o.Kind = certification.Trouble
	case sample.Unrenderable != "":
		o.Reason = reasonNotRendered
	case !read.answered():
	case stale != "":
		o.Reason, o.Detail = reasonNotFresh, stale
	default:
		o.Kind, o.Reason, o.Detail = certification.Answered, "", ""
		o.Latency = sample.Seen.Finished.Sub(sample.Seen.Started)
		w.content(&o, sample.Case, read.outcome)
	}
	return o
}

// content judges an answer. One that was cut is not read on, even where the rest happens to parse; only
// whether it ran in a loop is told apart from an answer that was too long.
func (w *observer) content(o *certification.Observation, name string, out providers.Outcome) {
	if out.Reason == providers.ReasonTruncated {
		o.Structure = []certification.Finding{{Reason: string(out.Reason), Detail: out.Detail}}
		if loop, found := structure.Loop(out.Content); found {
			o.Structure = []certification.Finding{{Reason: string(loop.Reason), Detail: oneLine(loop.Detail + ", until the limit")}}
		}
		return
	}
	answer, faults := w.binding.Structure().Judge(out.Content)
	for _, fault := range faults {
		detail := fault.Detail
		if fault.InstancePath != "" {
			detail = fault.InstancePath + ": " + detail
		}
		o.Structure = append(o.Structure, certification.Finding{Reason: string(fault.Reason), Detail: oneLine(detail)})
	}
	if len(faults) > 0 {
		return
	}
	for _, remark := range structure.Remarks(answer) {
		o.Remarks = append(o.Remarks, certification.Finding{Reason: string(remark.Reason), Detail: remark.InstancePath + ": " + remark.Detail})
	}
	tested, _ := w.pair.Contract.CaseNamed(name)
	for _, fault := range w.binding.Business().Judge(tested.Input, answer, tested.Expected) {
		o.Business = append(o.Business, certification.Finding{Reason: fault.Check, Detail: oneLine(fault.Detail)})
	}
}

// nameRefusals names a provider that refuses every single call for what it is: not a target that fails
// now and then, but a profile or a key that cannot work.
func nameRefusals(observations []certification.Observation) []certification.Observation {
	names := map[string]string{
		string(providers.ReasonRejected):     reasonProfileError,
		string(providers.ReasonUnauthorized): reasonConfigurationError,
	}
	refused := false
	for _, o := range observations {
		if o.Kind == certification.Trouble {
			continue
		}
		if _, ok := names[o.Reason]; !ok || o.Kind != certification.Unusable {
			return observations
		}
		refused = true
	}
	for i, o := range observations {
		if refused && o.Kind == certification.Unusable {
			observations[i].Reason = names[o.Reason]
		}
	}
	return observations
}

// maxDetail bounds what an answer can put into a record.
const maxDetail = 300

// oneLine keeps foreign text to one bounded line.
func oneLine(text string) string {
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(line) <= maxDetail {
		return line
	}
	return strings.ToValidUTF8(line[:maxDetail], "") + "…"
}
