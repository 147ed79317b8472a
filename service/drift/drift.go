// Package drift says whether what a target answers today is still what was certified.
//
// It is the one place where that rule lives (DESIGN section 6): another served model than certified, or
// more contract violations than declared, suspend a proof; a changed fingerprint alone is a warning, and so is a
// model that is named where none was when it was certified, or none where one was.
// It promises to be pure, and never to suspend for want of knowledge: a provider that does not name its
// model is never another one. Counting, and acting on what is found, is
// the store's, which asks inside the transaction that ends the attempt.
package drift

import (
	"fmt"
	"slices"
	"strings"
)

// Causes of a suspension or a warning; the words are part of the API.
const (
	CauseServedModel = "served_model_changed"
	CauseViolations  = "contract_violations"
	CauseFingerprint = "fingerprint_changed"
)

// MostWindow is the widest window that can be declared: no more outcomes than that are kept of a proof.
const MostWindow = 10_000

// Settings are when a target's contract violations suspend its proof, as its contract's route declares it.
type Settings struct {
	Off        bool    // nothing is compared
	Violations float64 // the rate above which
	Window     int     // over so many of its last answers
	Minimum    int     // and never on fewer
}

// Defaults are the settings of a route that says nothing.
func Defaults() Settings { return Settings{Violations: 0.05, Window: 200, Minimum: 20} }

// Certified is what answered while the record was made.
type Certified struct {
	ServedModels []string
	Fingerprints []string
}

// Answer is what a live answer says about its target.
type Answer struct {
	ServedModel string // "" = it does not say
	SystemPrint string // the provider's system_fingerprint; "" = it does not say
	Judged      bool   // it was an answer to be held against the contract, not a failure to give one
}

// Window is what the last judged answers came to.
type Window struct{ Answers, Violations int }

// Finding is what follows. The zero Finding is nothing.
type Finding struct {
	Cause    string
	Suspends bool   // else it is a warning
	Detail   string // for people
}

// Single judges one answer by itself.
func Single(certified Certified, answer Answer) Finding {
	if differs(answer.ServedModel, certified.ServedModels) {
		return Finding{Cause: CauseServedModel, Suspends: true, Detail: fmt.Sprintf(
			"%q served an answer; certified was %s", answer.ServedModel, quoted(certified.ServedModels))}
	}
	if differs(answer.SystemPrint, certified.Fingerprints) {
		return Finding{Cause: CauseFingerprint, Detail: fmt.Sprintf(
			"an answer has the fingerprint %q; certified was %s", answer.SystemPrint, quoted(certified.Fingerprints))}
	}
	if answer.ServedModel != "" && len(certified.ServedModels) == 0 {
		return Finding{Cause: CauseServedModel, Detail: fmt.Sprintf(
			"%q served an answer; no answer said which model it was of when it was certified", answer.ServedModel)}
	}
	if answer.Judged && answer.ServedModel == "" && len(certified.ServedModels) > 0 { // a failure to answer names none either
		return Finding{Cause: CauseServedModel, Detail: fmt.Sprintf(
			"an answer does not say which model served it; certified was %s", quoted(certified.ServedModels))}
	}
	return Finding{}
}

// Judge judges the last answers together. A rate that is exactly as declared is not above it.
func (s Settings) Judge(w Window) Finding {
	if s.Off || w.Answers == 0 || w.Answers < s.Minimum || float64(w.Violations)/float64(w.Answers) <= s.Violations {
		return Finding{}
	}
	return Finding{Cause: CauseViolations, Suspends: true, Detail: fmt.Sprintf(
		"%d of the last %d answers violate the contract; %g %% are declared as tolerable", w.Violations, w.Answers, 100*s.Violations)}
}

func differs(seen string, certified []string) bool {
	return seen != "" && len(certified) > 0 && !slices.Contains(certified, seen)
}

func quoted(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(words, ", ")
}
