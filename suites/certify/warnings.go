package certify

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/simulator"
)

// Warnings of a record beyond the remarks of other packages.
const (
	warningNotEnforced       = "schema_not_enforced" // the schema was sent, and nothing shows that the provider enforces it
	warningAlias             = "model_alias"         // the model's name stands for another one, which may change
	warningFingerprints      = "several_fingerprints"
	warningNotLive           = "not_live"              // declared as live, and answered by this machine or a simulator
	warningRetried           = "retried_calls"         // calls ended in provider trouble, and were made again
	warningUnnamed           = "served_model_unknown"  // no answer said which model it is of
	warningRulesAlone        = "judged_by_rules_alone" // cases have no expected answer: only the checks' rules were held against theirs
	warningNoFloor           = "mutation_floor_off"    // the contract asks nothing of its checks
	warningKeyInPrompt       = "key_in_prompt"         // a case's prompt holds a provider's key
	warningReplayed          = "replayed"              // nobody was called
	warningRecordedSimulated = "recorded_simulated"    // and it was no live provider that was recorded
)

// enforcement compares what the target made of an order to break the schema with what it made of it
// without the schema.
func (e Evidence) enforcement() certification.Enforcement {
	if e.Pair.Profile.StructuredOutput != providers.StructuredJSONSchema {
		return certification.NotSent
	}
	switch e.probed(e.Probe) {
	case binding.ProbeBroken:
		return certification.Ignored
	case binding.ProbeUnclear:
		return certification.NotProbed
	}
	switch e.probed(e.Free) {
	case binding.ProbeBroken:
		return certification.Enforced
	case binding.ProbeUnclear:
		return certification.NotProbed
	}
	return certification.Complied
}

// unprobed is why the probes did not show it.
func (e Evidence) unprobed() certification.Finding {
	for _, sample := range []*Sample{e.Probe, e.Free} {
		if e.probed(sample) != binding.ProbeUnclear {
			continue
		}
		if sample == nil {
			return certification.Finding{Cause: CauseNotMade, Detail: "the probe was not sent"}
		}
		if read := sample.reading(e.Pair); read.trouble || read.outcome.Verdict != providers.Succeeded {
			return certification.Finding{Cause: string(read.outcome.Reason), Detail: oneLine(string(read.outcome.Reason) + ": " + read.outcome.Detail)}
		}
		return certification.Finding{Cause: CauseUnclear, Detail: "what the probe was answered with shows neither"}
	}
	return certification.Finding{}
}

func (e Evidence) probed(sample *Sample) binding.Probed {
	if sample == nil {
		return binding.ProbeUnclear
	}
	read := sample.reading(e.Pair)
	if read.trouble || read.outcome.Verdict != providers.Succeeded {
		return binding.ProbeUnclear
	}
	return e.binding.JudgeProbe(read.outcome.Content, sample.Nonce, sample.Index == probeCall)
}

// warnings are what is worth knowing and changes no verdict.
func (e Evidence) warnings(record certification.Record) []certification.Finding {
	found := []certification.Finding{}
	warn := func(reason, detail string) {
		found = append(found, certification.Finding{Reason: reason, Count: 1, Detail: detail})
	}
	switch record.Enforcement {
	case certification.Ignored:
		warn(warningNotEnforced, "ordered to break the schema that it was sent, the target did")
	case certification.Complied:
		warn(warningNotEnforced, "the target kept to the schema also where it was not sent: whether the provider enforces it cannot be seen")
	case certification.NotProbed:
		if why := e.unprobed(); why.Cause != CauseNotMade {
			warn(certification.FindingNotProbed, "whether the provider enforces the schema was not seen: "+why.Detail)
		}
	}
	if models := e.models(); len(models) > 1 {
		detail := fmt.Sprintf("%d models answered: %q", len(models), models)
		if record.Verdict == certification.Certified {
			detail += fmt.Sprintf("; whatever is not %q counts as another model than certified", e.provenModel())
		}
		warn(certification.FindingSeveralModels, detail)
	} else if len(models) == 1 && models[0] != record.Target.Model {
		warn(warningAlias, fmt.Sprintf("%s is served by %s, and may be served by another one tomorrow", record.Target.Model, models[0]))
	}
	if unnamed := e.account.answers[""].all; unnamed > 0 {
		said := "no answer says which model it is of: where another one is served, nothing shows it"
		if len(e.account.models) > 0 {
			said = "so many answers do not say which model they are of, and others do: which model gave them, nothing shows"
		}
		found = append(found, certification.Finding{Reason: warningUnnamed, Count: unnamed, Detail: said})
	}
	if prints := record.Fingerprints; len(prints) > 1 {
		warn(warningFingerprints, fmt.Sprintf("%d configurations of the provider answered: %q", len(prints), prints))
	}
	return slices.Concat(found, tolerated(record), e.retried(record), e.unproven(record), e.exposed())
}

// tolerated are the faults of prompts for which a contract's threshold leaves room. Each is certain, and comes back with
// every call.
func tolerated(record certification.Record) []certification.Finding {
	var found []certification.Finding
	for _, d := range record.Dimensions {
		if !d.Census || d.Status != certification.StatusPassed {
			continue
		}
		for _, f := range d.Findings {
			if f.Reason != string(prompt.NotVerified) {
				f.Detail = strings.TrimPrefix(f.Detail+fmt.Sprintf(" (tolerated: the contract asks for %v of the prompt's checks)", d.Threshold), " ")
				found = append(found, f)
			}
		}
	}
	return found
}

// retried says that the provider did not answer every call, whatever became of the samples.
func (e Evidence) retried(record certification.Record) []certification.Finding {
	if len(record.Retried) == 0 {
		return nil
	}
	one := certification.Finding{Reason: warningRetried}
	var why []string
	for _, f := range record.Retried {
		one.Count += f.Count
		why = append(why, fmt.Sprintf("%s × %d", f.Reason, f.Count))
	}
	one.Detail = "calls that ended in provider trouble were made again, and would be attempts that fail or are in doubt: " + strings.Join(why, ", ")
	return []certification.Finding{one}
}

// unproven says where the business figure proves less than it seems to.
func (e Evidence) unproven(record certification.Record) []certification.Finding {
	var found []certification.Finding
	if alone, first := e.account.alone(); alone > 0 {
		found = append(found, certification.Finding{
			Reason: warningRulesAlone, Count: alone, Case: first,
			Detail: "answers to cases that expect none in particular: they were held against the checks' rules alone",
		})
	}
	if m := record.Mutation; m != nil && m.Floor == 0 {
		found = append(found, certification.Finding{
			Reason: warningNoFloor, Count: 1, Detail: fmt.Sprintf("the contract's mutation_floor is 0: its checks refuse %d of %d wrong answers", m.Killed, m.Total),
		})
	}
	return found
}

// notLive says why evidence that is declared as live does not count as that, or "" where it does: what was
// talked to decides, so that no address and no name in a configuration makes a simulator a provider.
func (e Evidence) notLive() string {
	if e.Pair.Profile.Source != providers.SourceLive {
		return ""
	}
	return e.account.simulated
}

// isThisMachine tells an answer of this machine from one of a simulator elsewhere.
const isThisMachine = " is this machine"

// AnsweredByThisMachine says whether it is for an address on loopback that a record, declared as live, does not
// count as that: live_on_loopback under its provider is what makes another run of it live.
func AnsweredByThisMachine(record certification.Record) bool {
	return slices.ContainsFunc(record.Warnings, func(f certification.Finding) bool {
		return f.Reason == warningNotLive && strings.Contains(f.Detail, isThisMachine)
	})
}

// ownAddresses are those of this machine's interfaces; none where the system does not tell.
var ownAddresses = sync.OnceValue(func() []netip.Addr {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var own []netip.Addr
	for _, each := range found {
		if network, ok := each.(*net.IPNet); ok {
			if address, ok := netip.AddrFromSlice(network.IP); ok {
				own = append(own, address.Unmap())
			}
		}
	}
	return own
})

// simulatedBy says by what one can see in a sample that no live provider answered; "" where nothing shows it.
func simulatedBy(pair Pair, sample Sample) string {
	if pair.LiveOnLoopback {
		return ""
	}
	address, err := netip.ParseAddr(sample.Seen.Peer)
	if err == nil && (address.Unmap().IsLoopback() || slices.Contains(ownAddresses(), address.Unmap().WithZone(""))) {
		return fmt.Sprintf("%s"+isThisMachine+"; where a real model listens there, say live_on_loopback: true under providers.%s",
			address, pair.Target.Provider)
	}
	if sample.Seen.Header["Server"] == simulator.ServerName {
		return "a simulator answered"
	}
	return ""
}
