package certify

import (
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/structure"
	"github.com/fallproof/fallproof/providers"
)

// reasonNotRendered: no request can be made of the case.
const reasonNotRendered = "not_rendered"

// remarkUsage: what the provider reports of its own counting makes no sense, and nobody can be billed by it.
const remarkUsage = "implausible_usage"

// observe reduces a sample to what it shows, taken for live.
func (a *account) observe(sample Sample, read reading) certification.Observation {
	o := certification.Observation{
		Case: sample.Case, Index: sample.Index,
		Kind: certification.Unusable, Reason: string(read.outcome.Reason), Detail: read.outcome.Detail,
		Lost: sample.lost(a.pair, read),
	}
	switch {
	case read.trouble:
		o.Kind = certification.Trouble
	case sample.Unrenderable != "":
		o.Reason = reasonNotRendered
	case !read.answered():
	default:
		o.Kind, o.Reason, o.Detail = certification.Answered, "", ""
		o.Latency = latency(sample)
		a.content(&o, read.outcome)
		if fault := read.outcome.UsageFault; fault != "" {
			o.Remarks = append(o.Remarks, certification.Finding{Reason: remarkUsage, Detail: "the usage that came with an answer makes no sense: " + fault})
		}
	}
	return o
}

// content judges an answer. One that was cut is not read on, even where the rest happens to parse; only
// whether it ran in a loop is told apart from an answer that was too long.
func (a *account) content(o *certification.Observation, out providers.Outcome) {
	if out.Reason == providers.ReasonTruncated {
		o.Structure = []certification.Finding{{Reason: string(out.Reason), Detail: out.Detail}}
		if loop, found := structure.Loop(out.Content); found {
			o.Structure = []certification.Finding{{Reason: string(loop.Reason), Detail: oneLine(loop.Detail + ", until the limit")}}
		}
		return
	}
	answer, faults := a.binding.Structure().Judge(out.Content)
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
		o.Remarks = append(o.Remarks, certification.Finding{Reason: string(remark.Reason), Detail: oneLine(remark.InstancePath + ": " + remark.Detail)})
	}
	tested := a.cases[o.Case]
	for _, fault := range a.binding.Business().Judge(tested.input, answer, tested.expected) {
		o.Business = append(o.Business, certification.Finding{Reason: fault.Check, Detail: oneLine(fault.Detail)})
	}
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
