package certify

import (
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
	"github.com/fallproof/fallproof/providers/openai"
)

// Reasons of the prompt dimension that only a call can give.
const (
	reasonTokenCount     = "token_count_differs"   // the provider counts other tokens than the local tokenizer
	reasonIgnored        = "system_prompt_ignored" // the canary's order was not obeyed
	reasonCanaryNoAnswer = "canary_unanswered"     // whether it is obeyed could not be seen
)

// Local and reported counts may differ by the share that the profile declares, or by a few tokens where the
// prompt is short: chat formats differ in their overhead.
const toleratedTokens = 8

// census makes every deterministic check of the prompt dimension: what can be known of each case's
// prompt without asking, what the calls showed of it, and the canary.
func (e Evidence) census() []certification.Check {
	checks := e.promptChecks()
	checks = append(checks, e.usageChecks()...)
	checks = append(checks, e.wireChecks()...)
	checks = append(checks, e.nativeChecks()...)
	checks = append(checks, e.controlChecks()...)
	return append(checks, e.canaryCheck())
}

func (e Evidence) count(profile providers.Profile, messages []providers.Message) (int, bool, error) {
	return Count(profile, messages)
}

// Count is the target's own count of what it is sent: the profile's roles applied. counted is false where its
// tokenizer is declared as none.
func Count(profile providers.Profile, messages []providers.Message) (tokens int, counted bool, err error) {
	wire, err := profile.WireMessages(messages)
	if err != nil {
		return 0, false, err
	}
	return chattemplate.Count(profile, wire)
}

// promptChecks counts a case in which nothing is wrong as one check passed.
func (e Evidence) promptChecks() []certification.Check {
	wrong := map[string]bool{}
	var checks []certification.Check
	for _, f := range e.prompt {
		check := certification.Check{
			Name: "prompt", Status: certification.CheckNotVerified, Reason: string(f.Reason), Case: f.Case, Detail: oneLine(f.Detail),
		}
		if f.Fails() {
			check.Status = certification.CheckFailed
		} else {
			check = e.unverified(check, true)
		}
		wrong[f.Case] = wrong[f.Case] || check.Status == certification.CheckFailed
		checks = append(checks, check)
	}
	for _, each := range e.Pair.Contract.Cases {
		if !wrong[each.Name] {
			checks = append(checks, certification.Check{Name: "prompt", Status: certification.CheckPassed, Case: each.Name})
		}
	}
	return checks
}

// usageChecks compares, case by case, the provider's own count of the prompt with the local one.
func (e Evidence) usageChecks() []certification.Check {
	var checks []certification.Check
	for _, each := range e.Pair.Contract.Cases {
		request, err := e.binding.Request(each.Input)
		if err != nil {
			continue // said by promptChecks
		}
		local, counted, err := e.count(e.Pair.Profile, request.Messages)
		if err != nil || !counted {
			continue // said by promptChecks too
		}
		checks = append(checks, e.usageCheck(each.Name, local))
	}
	return checks
}

func (e Evidence) usageCheck(name string, local int) certification.Check {
	check := certification.Check{
		Name: "usage", Case: name, Status: certification.CheckNotVerified, Reason: string(prompt.NotVerified),
		Detail: "no count of the prompt by the provider was seen",
	}
	for i, sample := range e.Samples {
		usage := e.read[i].outcome.Usage
		if sample.Case != name || usage == nil || usage.PromptTokens <= 0 {
			continue
		}
		if e.differ(usage.PromptTokens, local) {
			check.Status, check.Reason, check.Sample = certification.CheckFailed, reasonTokenCount, sample.Index
			check.Detail = fmt.Sprintf("the provider counts %d prompt tokens, %s counts %d", usage.PromptTokens, e.tokenizer(), local)
			return check
		}
		check.Status, check.Reason, check.Detail = certification.CheckPassed, "", ""
	}
	if check.Status == certification.CheckNotVerified {
		return e.unverified(check, e.answeredCase(name))
	}
	return check
}

// differ says whether two counts of one prompt are further apart than the profile tolerates.
func (e Evidence) differ(theirs, ours int) bool {
	off := theirs - ours
	return max(off, -off) > max(int(float64(ours)*e.Pair.Profile.Tolerance()), toleratedTokens)
}

// tokenizer is the name of the local one, for people.
func (e Evidence) tokenizer() string {
	if file := e.Pair.Profile.TokenizerFile; file.Present() {
		return filepath.Base(file.Name)
	}
	return e.Pair.Profile.Tokenizer
}

// unverified is a token check that could not be made: neither passed nor failed, unless the contract requires
// it. Then it fails where the target answered, and is missing where provider trouble kept it from being seen.
func (e Evidence) unverified(check certification.Check, answered bool) certification.Check {
	if !e.Pair.Contract.Requires(contracts.RequireTokens) {
		return check
	}
	check.Status = certification.CheckMissing
	if answered {
		check.Status = certification.CheckFailed
	}
	check.Detail = oneLine(check.Detail + "; the contract requires it")
	return check
}

func (e Evidence) answered(number int) bool {
	return e.answeredCase(e.Pair.Contract.Cases[number].Name)
}

func (e Evidence) answeredCase(name string) bool {
	for i, sample := range e.Samples {
		if sample.Case == name && e.read[i].answered() {
			return true
		}
	}
	return false
}

// wireChecks reads every body that was sent. A parameter counts once: passed where every body has it
// right, else with the first that has not.
func (e Evidence) wireChecks() []certification.Check {
	messages := e.wireMessages()
	var checks []certification.Check
	at := map[string]int{}
	for _, sample := range e.Samples {
		if sample.Seen.Request == "" {
			continue
		}
		declared := certification.Declared{
			Profile: e.Pair.Profile, Schema: e.Pair.Contract.Schema, Messages: messages[sample.Case],
			Temperature: e.Pair.Contract.Sampling.Temperature, MaxOutputTokens: e.Pair.Contract.Sampling.MaxOutputTokens,
			Metadata: map[string]string{openai.AttemptMetadata: sample.Seen.AttemptID},
		}
		for _, check := range certification.CheckWire([]byte(sample.Seen.Request), declared) {
			check.Case, check.Sample = sample.Case, sample.Index
			i, known := at[check.Name]
			switch {
			case !known:
				at[check.Name] = len(checks)
				checks = append(checks, check)
			case check.Status == certification.CheckFailed && checks[i].Status == certification.CheckPassed:
				checks[i] = check
			}
		}
	}
	return checks
}

// wireMessages are the messages that each case sends; promptChecks says why a case has none.
func (e Evidence) wireMessages() map[string][]providers.Message {
	messages := map[string][]providers.Message{}
	for _, each := range e.Pair.Contract.Cases {
		request, err := e.binding.Request(each.Input)
		if err != nil {
			continue
		}
		if wire, err := e.Pair.Profile.WireMessages(request.Messages); err == nil {
			messages[each.Name] = wire
		}
	}
	return messages
}

// canaryCheck is judged by the nonce alone, wherever in the answer it stands: a fence around the answer
// is a finding about structure, and a disobedient one says nothing of the sort.
func (e Evidence) canaryCheck() certification.Check {
	check := certification.Check{Name: "canary", Status: certification.CheckMissing, Must: true, Reason: reasonCanaryNoAnswer}
	if e.Canary == nil {
		check.Detail = "the canary was not sent"
		return check
	}
	read := e.Canary.reading(e.Pair)
	switch {
	case read.answered() && obeyed(read.outcome.Content, e.Canary.Nonce):
		check.Status, check.Reason = certification.CheckPassed, ""
	case read.outcome.Verdict == providers.Succeeded:
		check.Status, check.Reason = certification.CheckFailed, reasonIgnored
		check.Detail = "the system message ordered a nonce to be returned, and the answer does not hold it"
	default:
		check.Detail = oneLine(string(read.outcome.Reason) + ": " + read.outcome.Detail)
	}
	return check
}

func obeyed(content, nonce string) bool {
	if binding.CanaryObeyed(content, nonce) {
		return true
	}
	return regexp.MustCompile(`"nonce"\s*:\s*"` + regexp.QuoteMeta(nonce) + `"`).MatchString(content)
}
