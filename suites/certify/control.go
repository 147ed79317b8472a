package certify

import (
	"fmt"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
)

const (
	reasonControl       = "control_tokens_obeyed"     // control tokens that a user typed do not reach the model as text
	reasonControlUnseen = "control_tokens_unanswered" // whether they do could not be seen
)

// controlChecks judge the call with control tokens typed into an input, by the provider's own count of the
// prompt: as text each of them is several tokens, as a control token one, and where the model's server ends a
// message at the first, what follows is missing. Compared is with the same case without them, so that a
// count that differs for other reasons deceives nobody. Where the provider counts other prompts and one of these two counts
// got lost, it is missing; where it counts none, that is declared nowhere and neither passed nor failed.
func (e Evidence) controlChecks() []certification.Check {
	chat := chatOf(e.Pair.Profile)
	if chat == nil || len(chat.Marks()) == 0 {
		return nil
	}
	check := certification.Check{Name: "control tokens"}
	sample, sent := e.Aside[controlCall]
	read := sample.reading(e.Pair)
	with, without := usageOf(read), e.usageOfFirst()
	if sent && with > 0 && without > 0 {
		e.judgeControl(chat, &check, with-without)
		return []certification.Check{check}
	}
	const unseen = "whether control tokens in an input reach the model as text was not seen: "
	missing := func(cause, why string) []certification.Check {
		check.Status, check.Reason = certification.CheckMissing, reasonControlUnseen
		check.Cause, check.Detail = cause, oneLine(unseen+why)
		return []certification.Check{check}
	}
	check.Status, check.Reason = certification.CheckNotVerified, string(prompt.NotVerified)
	switch {
	case !sent:
		return missing(CauseNotMade, "the call was not made")
	case sample.Unrenderable != "":
		check.Detail = oneLine(unseen + sample.Unrenderable)
	case !read.answered():
		return missing(string(read.outcome.Reason), string(read.outcome.Reason)+": "+read.outcome.Detail)
	case with > 0:
		return missing(CauseUncounted, fmt.Sprintf("of %s as it is, which it would be compared with, the provider gave no count", e.firstCase()))
	case e.counted():
		return missing(CauseUncounted, "of other prompts the provider gave a count, of this one it did not")
	default:
		check.Detail = unseen + "the provider gave a count of no prompt"
	}
	return []certification.Check{e.unverified(check, true)}
}

// judgeControl takes the side that is nearer to what was counted.
func (e Evidence) judgeControl(chat *chattemplate.Chat, check *certification.Check, more int) {
	asText, obeyed := e.expected(chat)
	check.Status, check.Reason = certification.CheckPassed, ""
	if asText-obeyed < toleratedTokens {
		obeyed = 0 // to this tokenizer they are text anyway; what remains to be seen is whether they arrive
	}
	if more-obeyed > asText-more {
		return
	}
	check.Status, check.Reason, check.Must = certification.CheckFailed, reasonControl, true
	grown := fmt.Sprintf("%d tokens more", more)
	if more < 0 {
		grown = fmt.Sprintf("%d tokens fewer", -more)
	}
	check.Detail = oneLine(fmt.Sprintf("%s typed by a user: the prompt has %s by the provider's count; as text it would be about %d, as control tokens %d "+
		"(control_tokens: break keeps them text)", strings.Join(chat.Marks(), " "), grown, asText, obeyed))
}

// expected is by how much the typed text lengthens the prompt. Where nobody can count, a control token as
// text is taken for three tokens, which is the least that it can be.
func (e Evidence) expected(chat *chattemplate.Chat) (asText, obeyed int) {
	text := typed(chat)
	repeats := strings.Count(text, chat.Marks()[0]) * len(chat.Marks())
	typing, err := e.binding.ControlRequest(text)
	plain, err2 := e.binding.Request(e.Pair.Contract.Cases[0].Input)
	if err != nil || err2 != nil {
		return 3 * repeats, repeats
	}
	with, ok := e.counts(chat, typing.Messages)
	without, ok2 := e.counts(chat, plain.Messages)
	if !ok || !ok2 {
		return 3 * repeats, repeats
	}
	if with.Inside == without.Inside { // broken on the way: then only the text is left
		return with.Text - without.Text, repeats
	}
	return with.Text - without.Text, with.Obeyed - without.Obeyed
}

func (e Evidence) counts(chat *chattemplate.Chat, messages []providers.Message) (chattemplate.Counts, bool) {
	wire, err := e.Pair.Profile.WireMessages(messages)
	if err != nil {
		return chattemplate.Counts{}, false
	}
	counts, counted, err := chat.Count(wire)
	return counts, counted && err == nil
}

// firstCase is the one whose prompt the call's is made of.
func (e Evidence) firstCase() string { return e.Pair.Contract.Cases[0].Name }

// usageOfFirst is the provider's count of the first case as it is; 0 where none was seen.
func (e Evidence) usageOfFirst() int { return e.account.cases[e.firstCase()].usage }

// counted reports whether the provider counted any case's prompt.
func (e Evidence) counted() bool {
	for _, known := range e.account.cases {
		if known.usage > 0 {
			return true
		}
	}
	return false
}

func usageOf(read reading) int {
	if read.outcome.Usage == nil {
		return 0
	}
	return read.outcome.Usage.PromptTokens
}
