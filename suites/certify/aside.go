package certify

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
)

// Of each case a server is asked up to three questions, one after the other from firstQuestion on.
const (
	askPrompt       = iota // the prompt that its messages make
	askTokens              // the tokens of that prompt, as we render it
	askWithoutBOS          // the same without its BOS, which some servers take off and add again
	questionsOfCase        // how many they are
)

// controlRepeats is how many control tokens are typed at least in the call that shows what becomes of them:
// so many that a count of them as tokens cannot be taken for a count as text.
const controlRepeats = 32

// chatOf is the chat template of a profile; nil where it has none, or none that can be used, which the prompt
// checks say.
func chatOf(profile providers.Profile) *chattemplate.Chat {
	chat, err := chattemplate.Of(profile)
	if err != nil {
		return nil
	}
	return chat
}

// asideOf lists the calls that only a self-hosted model calls for: one with control tokens typed into an
// input, and what its server can be asked about prompts.
func asideOf(p Pair) []slot {
	chat := chatOf(p.Profile)
	if chat == nil {
		return nil
	}
	var plan []slot
	if len(chat.Marks()) > 0 {
		plan = append(plan, slot{noCase, controlCall})
	}
	if p.Profile.Native == "" {
		return plan
	}
	if p.Profile.BOSToken != "" {
		plan = append(plan, slot{noCase, bosQuestion})
	}
	for i := range p.Contract.Cases {
		first := firstQuestion + i*questionsOfCase
		if p.Profile.Native == providers.NativeLlamaCpp {
			plan = append(plan, slot{noCase, first + askPrompt})
			if p.Profile.BOSToken != "" {
				plan = append(plan, slot{noCase, first + askWithoutBOS})
			}
		}
		plan = append(plan, slot{noCase, first + askTokens})
	}
	return plan
}

// asideTitle is such a call's name for people.
func asideTitle(index int) string {
	switch index {
	case controlCall:
		return "(control tokens)"
	case bosQuestion:
		return "(tokens of BOS)"
	}
	which := (index - firstQuestion) % questionsOfCase
	return fmt.Sprintf("(%s of case %d)", [questionsOfCase]string{"prompt", "tokens", "tokens without BOS"}[which], (index-firstQuestion)/questionsOfCase+1)
}

// isQuestion says whether a call asks the server about a prompt instead of the model for an answer.
func isQuestion(index int) bool { return index >= bosQuestion }

// asideRequest builds what such a call sends.
func asideRequest(b *binding.Binding, index int) (providers.Request, error) {
	if index == controlCall {
		return b.ControlRequest(typed(chatOf(b.Profile())))
	}
	native, err := question(b, index)
	return providers.Request{Target: b.Target(), Profile: b.Profile(), Native: native}, err
}

// typed is the text with control tokens that a user types.
func typed(chat *chattemplate.Chat) string {
	marks := chat.Marks()
	return strings.Repeat(strings.Join(marks, ""), (controlRepeats+len(marks)-1)/len(marks))
}

func question(b *binding.Binding, index int) (*providers.Native, error) {
	profile := b.Profile()
	model, llama := cmp.Or(profile.Model, b.Target().Model), profile.Native == providers.NativeLlamaCpp
	if index == bosQuestion {
		if llama {
			return asked(providers.PathTokenize)(providers.TokenizeBody(model, profile.BOSToken, false))
		}
		return asked(providers.PathTokenize)(providers.TokenizePromptBody(model, profile.BOSToken))
	}
	wire, prompt, err := rendered(b, (index-firstQuestion)/questionsOfCase)
	if err != nil {
		return nil, err
	}
	switch which := (index - firstQuestion) % questionsOfCase; {
	case which == askPrompt:
		return asked(providers.PathApplyTemplate)(providers.ApplyTemplateBody(model, wire))
	case !llama:
		return asked(providers.PathTokenize)(providers.TokenizeChatBody(model, wire))
	case which == askWithoutBOS:
		prompt = strings.TrimPrefix(prompt, profile.BOSToken)
	}
	return asked(providers.PathTokenize)(providers.TokenizeBody(model, prompt, true))
}

func asked(path string) func(body []byte, err error) (*providers.Native, error) {
	return func(body []byte, err error) (*providers.Native, error) {
		return &providers.Native{Path: path, Body: body}, err
	}
}

// rendered is what one case sends, and the prompt that it makes by our own rendering.
func rendered(b *binding.Binding, number int) (wire []providers.Message, prompt string, err error) {
	request, err := b.Request(b.Contract().Cases[number].Input)
	if err != nil {
		return nil, "", err
	}
	profile := b.Profile()
	if wire, err = profile.WireMessages(request.Messages); err != nil {
		return nil, "", err
	}
	prompt, err = chatOf(profile).Render(wire)
	return wire, prompt, err
}
