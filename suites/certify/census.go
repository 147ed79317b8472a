package certify

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
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

// Count is the target's own count of what it is sent: the profile's roles applied. counted is false where its
// tokenizer is declared as none.
func Count(profile providers.Profile, messages []providers.Message) (tokens int, counted bool, err error) {
	wire, err := profile.WireMessages(messages)
	if err != nil {
		return 0, false, err
	}
	return chattemplate.Count(profile, wire)
}

// counter is [Count] that counts each prompt once.
type counter map[string]counted

type counted struct {
	tokens int
	by     bool
}

func (c counter) count(profile providers.Profile, messages []providers.Message) (tokens int, ok bool, err error) {
	var text strings.Builder
	for _, m := range messages {
		text.WriteString(m.Role + "\x00" + m.Content + "\x00")
	}
	if known, ok := c[text.String()]; ok {
		return known.tokens, known.by, nil
	}
	if tokens, ok, err = Count(profile, messages); err == nil {
		c[text.String()] = counted{tokens, ok}
	}
	return tokens, ok, err
}

// promptChecks counts a case in which nothing is wrong as one check passed.
func (e Evidence) promptChecks() []certification.Check {
	wrong := map[string]bool{}
	var checks []certification.Check
	for _, f := range e.account.prompt {
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

// usageChecks say, case by case, how the provider's own count of the prompt compares with the local one.
func (e Evidence) usageChecks() []certification.Check {
	var checks []certification.Check
	for _, each := range e.Pair.Contract.Cases {
		known := e.account.cases[each.Name]
		switch check := (certification.Check{Name: "usage", Case: each.Name, Status: certification.CheckPassed}); {
		case !known.counted: // said by promptChecks
		case known.differs != nil:
			checks = append(checks, *known.differs)
		case known.usage > 0:
			checks = append(checks, check)
		default:
			check.Status, check.Reason = certification.CheckNotVerified, string(prompt.NotVerified)
			check.Detail = "no count of the prompt by the provider was seen"
			checks = append(checks, e.unverified(check, known.answered))
		}
	}
	return checks
}

// tokensDiffer is the check of a sample whose prompt the provider counts otherwise.
func tokensDiffer(profile providers.Profile, sample Sample, theirs, ours int) *certification.Check {
	return &certification.Check{
		Name: "usage", Case: sample.Case, Sample: sample.Index, Status: certification.CheckFailed, Reason: reasonTokenCount,
		Detail: fmt.Sprintf("the provider counts %d prompt tokens, %s counts %d", theirs, tokenizerOf(profile), ours),
	}
}

// differ says whether two counts of one prompt are further apart than the profile tolerates.
func differ(profile providers.Profile, theirs, ours int) bool {
	off := theirs - ours
	return max(off, -off) > max(int(float64(ours)*profile.Tolerance()), toleratedTokens)
}

// tokenizerOf is the name of the local one, for people.
func tokenizerOf(profile providers.Profile) string {
	if file := profile.TokenizerFile; file.Present() {
		return filepath.Base(file.Name)
	}
	return profile.Tokenizer
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

// wireChecks say of each parameter how it really left the machine: passed where every body has it right,
// else with the first that has not.
func (e Evidence) wireChecks() []certification.Check {
	var checks []certification.Check
	for _, check := range e.account.wire {
		checks = append(checks, *check)
	}
	return checks
}

// canaryCheck is judged by the nonce alone, wherever in the answer it stands: a fence around the answer
// is a finding about structure, and a disobedient one says nothing of the sort.
func (e Evidence) canaryCheck() certification.Check {
	check := certification.Check{Name: "canary", Status: certification.CheckMissing, Must: true, Reason: reasonCanaryNoAnswer}
	if e.Canary == nil {
		check.Detail, check.Cause = "the canary was not sent", CauseNotMade
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
		check.Cause = string(read.outcome.Reason)
		check.Detail = oneLine(check.Cause + ": " + read.outcome.Detail)
	}
	return check
}

func obeyed(content, nonce string) bool {
	if binding.CanaryObeyed(content, nonce) {
		return true
	}
	return regexp.MustCompile(`"nonce"\s*:\s*"` + regexp.QuoteMeta(nonce) + `"`).MatchString(content)
}
