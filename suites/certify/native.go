package certify

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
)

// Reasons that only the target's own server can give.
const (
	reasonRendering   = "rendering_differs"    // the server makes another prompt of the messages than we do
	reasonServerCount = "server_count_differs" // it counts other tokens than we do
	ReasonServerLost  = "server_unanswered"    // what it makes of them could not be seen
)

// Causes for which something could not be seen, besides the reasons of calls.
const (
	CauseNotMade   = "not_made"  // the call was not made
	CauseUnclear   = "unclear"   // it was, and its answer tells nothing
	CauseUncounted = "uncounted" // and of its prompt the provider gave no count
)

// nativeChecks compare, case by case, what the server says of its prompts with our own rendering: byte for
// byte where it tells the prompt, else by the number of tokens, and by the BOS that it begins with.
func (e Evidence) nativeChecks() []certification.Check {
	chat := chatOf(e.Pair.Profile)
	if e.Pair.Profile.Native == "" || chat == nil {
		return nil
	}
	var checks []certification.Check
	for number, each := range e.Pair.Contract.Cases {
		wire, ours, err := rendered(e.binding, number)
		if err != nil {
			continue // said by promptChecks
		}
		check := certification.Check{Name: "native", Case: each.Name}
		finding := e.compared(chat, number, wire, ours)
		check.Status, check.Reason, check.Detail, check.Cause = finding.status, finding.reason, oneLine(finding.detail), finding.cause
		if check.Status == certification.CheckNotVerified { // the server did answer, that it does not say
			check = e.unverified(check, true)
		}
		checks = append(checks, check)
	}
	return checks
}

// nativeFinding is how one comparison came out.
type nativeFinding struct {
	status                certification.CheckStatus
	reason, detail, cause string
}

func nativeFails(reason, format string, args ...any) nativeFinding {
	return nativeFinding{status: certification.CheckFailed, reason: reason, detail: fmt.Sprintf(format, args...)}
}

// nativeUnknown is a question that the server does not answer, or that got lost on the way.
func nativeUnknown(what string, why unsaid) nativeFinding {
	found := nativeFinding{certification.CheckNotVerified, string(prompt.NotVerified), what + ": " + why.words, why.cause}
	if why.cause != "" {
		found.status, found.reason = certification.CheckMissing, ReasonServerLost
	}
	return found
}

func (e Evidence) compared(chat *chattemplate.Chat, number int, wire []providers.Message, ours string) nativeFinding {
	first := firstQuestion + number*questionsOfCase
	which := first + askTokens
	if e.Pair.Profile.Native == providers.NativeLlamaCpp {
		body, why := e.told(first + askPrompt)
		if why.words != "" {
			return nativeUnknown("the server does not tell its prompt", why)
		}
		theirs, err := providers.ReadPrompt(body)
		if err != nil {
			return nativeUnknown("the server does not tell its prompt", unsaid{err.Error(), string(providers.ReasonMalformed)})
		}
		ours = e.Pair.Scrub.Text(ours) // as theirs is
		bare, begins := strings.CutPrefix(ours, e.Pair.Profile.BOSToken)
		switch {
		case theirs == ours:
		case begins && bare == theirs: // the server takes BOS off, because it adds it by itself
			which = first + askWithoutBOS
		default:
			return nativeFails(reasonRendering, "%s", difference(ours, theirs))
		}
	}
	body, why := e.told(which)
	if why.words != "" {
		return nativeUnknown("the server does not tell its tokens", why)
	}
	ids, err := providers.ReadTokens(body)
	if err != nil {
		return nativeUnknown("the server does not tell its tokens", unsaid{err.Error(), string(providers.ReasonMalformed)})
	}
	begins := e.serverBOS(ids)
	if begins.status == certification.CheckFailed {
		return begins
	}
	counts, counted, err := chat.Count(wire)
	if err != nil || !counted {
		return begins
	}
	if differ(e.Pair.Profile, len(ids), counts.Text) {
		return nativeFails(reasonServerCount, "the server counts %d tokens of the prompt, %s counts %d", len(ids), tokenizerOf(e.Pair.Profile), counts.Text)
	}
	return begins
}

// serverBOS counts the BOS tokens that a prompt really begins with. Which number BOS has the server said.
func (e Evidence) serverBOS(ids []int) nativeFinding {
	bos, passed := e.Pair.Profile.BOSToken, nativeFinding{status: certification.CheckPassed}
	if bos == "" {
		return passed
	}
	const untold = "the server does not tell which token BOS is"
	body, why := e.told(bosQuestion)
	if why.words != "" {
		return nativeUnknown(untold, why)
	}
	said, err := providers.ReadTokens(body)
	if err != nil {
		return nativeUnknown(untold, unsaid{err.Error(), string(providers.ReasonMalformed)})
	}
	if len(said) != 1 {
		return nativeUnknown(untold, unsaid{words: fmt.Sprintf("it makes %d tokens of %s", len(said), bos)})
	}
	n := 0
	for n < len(ids) && ids[n] == said[0] {
		n++
	}
	switch n {
	case 0:
		return nativeFails(string(prompt.MissingBOS), "the server's tokens begin without %s: neither its template nor it itself writes it", bos)
	case 1:
		return passed
	}
	return nativeFails(string(prompt.DoubleBOS), "the server's tokens begin with %d %s; take it out of the template, or have the server add none", n, bos)
}

// unsaid is why a question has no answer; without words it has one. cause: the call's own reason; "" = the server
// said that it does not know the question, or none could be asked.
type unsaid struct{ words, cause string }

// told is the answer to a question, or why there is none.
func (e Evidence) told(index int) ([]byte, unsaid) {
	sample, ok := e.Aside[index]
	if !ok {
		return nil, unsaid{"it was not asked", CauseNotMade}
	}
	if sample.Unrenderable != "" {
		return nil, unsaid{words: sample.Unrenderable}
	}
	switch read := sample.reading(e.Pair); {
	case read.answered():
		return sample.Seen.answered().Body, unsaid{}
	case read.trouble:
		return nil, unsaid{read.outcome.Detail, string(read.outcome.Reason)}
	default:
		return nil, unsaid{words: read.outcome.Detail}
	}
}

// unknowing are the statuses by which a server says that it does not know a question, whatever else it says;
// llama.cpp's says 501.
var unknowing = []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}

// asQuestion reads an exchange as the answer to a question, which is no completion. What is neither an answer
// nor such a status says nothing about the server.
func (s Seen) asQuestion(read reading) reading {
	if slices.Contains(unknowing, s.Status) {
		return reading{outcome: providers.Outcome{
			Verdict: providers.Failed, Reason: providers.ReasonRejected, Detail: fmt.Sprintf("status %d", s.Status),
		}}
	}
	if s.Status == http.StatusOK && s.Complete {
		body := s.answered().Body
		_, err := providers.ReadPrompt(body)
		_, err2 := providers.ReadTokens(body)
		if err == nil || err2 == nil {
			return reading{outcome: providers.Outcome{Verdict: providers.Succeeded}}
		}
		read.outcome.Detail = "status 200, and the answer holds neither a prompt nor tokens"
	}
	read.trouble = true
	return read
}

// difference shows where two prompts part.
func difference(ours, theirs string) string {
	at := 0
	for at < len(ours) && at < len(theirs) && ours[at] == theirs[at] {
		at++
	}
	return fmt.Sprintf("from byte %d on the server's prompt is %q, ours is %q", at, excerpt(theirs, at), excerpt(ours, at))
}

// excerpt is a little of a text from a byte on, or a little before it where that would split a character.
func excerpt(text string, at int) string {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	rest := text[at:]
	if len(rest) > 40 {
		rest = strings.ToValidUTF8(rest[:40], "") + "…"
	}
	return rest
}
