package certify

import (
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
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
	observations := make([]certification.Observation, 0, len(e.Samples))
	for i, sample := range e.Samples {
		o := certification.Observation{Case: sample.Case, Index: sample.Index}
		e.observation(&o, i)
		observations = append(observations, o)
	}
	return nameRefusals(observations)
}

func (e Evidence) observation(o *certification.Observation, i int) {
	sample, read := e.Samples[i], e.read[i]
	o.Kind, o.Reason, o.Detail = certification.Unusable, string(read.outcome.Reason), read.outcome.Detail
	switch {
	case read.trouble:
		o.Kind = certification.Trouble
	case sample.Unrenderable != "":
		o.Reason = reasonNotRendered
	case !read.answered():
	default:
		if why := stale(sample, e.Samples[:i]); why != "" {
			o.Reason, o.Detail = reasonNotFresh, why
			return
		}
		o.Kind, o.Reason, o.Detail = certification.Answered, "", ""
		e.content(o, sample.Case, read.outcome)
	}
}

// content judges an answer. One that was cut is not read on, even where the rest happens to parse.
func (e Evidence) content(o *certification.Observation, name string, out providers.Outcome) {
	if out.Reason == providers.ReasonTruncated {
		o.Structure = []certification.Finding{{Reason: string(out.Reason), Detail: out.Detail}}
		return
	}
	answer, faults := e.binding.Structure().Judge(out.Content)
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
	tested, _ := e.Pair.Contract.CaseNamed(name)
	for _, fault := range e.binding.Business().Judge(tested.Input, answer, tested.Expected) {
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
