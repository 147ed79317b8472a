package simulator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
	"github.com/fallproof/fallproof/providers/tokens"
)

const (
	invented   = "Today is a fine day. " // what a rewriting model begins its prompt with
	bosID      = 1
	firstOther = 1000 // ids of other tokens: nobody looks at them, but they are none of BOS
)

// host is a model as a server hosts it: its prompt goes through a chat template.
type host struct {
	profile providers.Profile
	p       Personality
}

// hostOf is how a model is hosted; a model without a template is like those of a big provider.
func (s *Simulator) hostOf(model string, p Personality) host {
	return host{s.roster.hostedAs(model), p}
}

// templated says whether the model has a template.
func (h host) templated() bool { return h.profile.ChatTemplate.Present() }

// seen are the messages as the model gets to see them. One that obeys control tokens loses what stands
// behind the first in a message.
func (h host) seen(messages []providers.Message) []providers.Message {
	messages = slices.Clone(messages)
	switch h.p.kind() {
	case Obeying:
		for i := range messages {
			messages[i].Content = messages[i].Content[:firstOf(messages[i].Content, h.marks())]
		}
	case Rewriting:
		if len(messages) > 0 {
			messages[0].Content = invented + messages[0].Content
		}
	}
	return messages
}

// marks are the control tokens of the template, or those of the best known ones.
func (h host) marks() []string {
	if chat, err := chattemplate.Of(h.profile); err == nil && chat != nil {
		return chat.Marks()
	}
	return []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "</s>", "[INST]", "[/INST]", "<start_of_turn>", "<end_of_turn>"}
}

func firstOf(text string, words []string) int {
	at := len(text)
	for _, word := range words {
		if i := strings.Index(text, word); i >= 0 {
			at = min(at, i)
		}
	}
	return at
}

// render is the prompt; an error is what the server answers instead.
func (h host) render(messages []providers.Message) (string, *apiError) {
	chat, err := chattemplate.Of(h.profile)
	if err != nil { // the templates of a simulator were looked at when they were set
		return "", invalid("", "messages", "%s", err)
	}
	prompt, err := chat.Render(h.seen(messages))
	if err != nil {
		return "", invalid("", "messages", "%s", err)
	}
	return prompt, nil
}

// count is the number of tokens that the prompt of messages has to this model.
func (h host) count(messages []providers.Message) int {
	if !h.templated() {
		return h.miscounted(countMessages(h.seen(messages)))
	}
	chat, err := chattemplate.Of(h.profile)
	if err != nil {
		return 0
	}
	counts, _, err := chat.Count(h.seen(messages))
	if err != nil {
		return 0 // said where the request was refused
	}
	n := counts.Text
	if h.p.kind() == Concatenating {
		n = counts.Obeyed
	}
	if h.p.kind() == Doubling {
		n++
	}
	return h.miscounted(n)
}

// miscounted is what a model says that counts otherwise than others.
func (h host) miscounted(n int) int {
	if h.p.kind() == Counting {
		return n * cmp.Or(h.p.Count, 3)
	}
	return n
}

// tokenized are the tokens of a prompt: as many as there are, and BOS where it is.
func (h host) tokenized(prompt string, special bool) []int {
	chat, err := chattemplate.Of(h.profile)
	if err != nil {
		return []int{}
	}
	tokenizer := cmp.Or(chat.Tokenizer(), o200k())
	n, err := tokenizer.CountPrompt(prompt, chat.Controls())
	if err != nil {
		return []int{}
	}
	leading := 0
	if bos := h.profile.BOSToken; bos != "" {
		for rest := prompt; strings.HasPrefix(rest, bos); rest = rest[len(bos):] {
			leading++
		}
		added := 0
		if special && h.profile.AddBOS {
			added++
		}
		if special && h.p.kind() == Doubling {
			added++
		}
		leading, n = leading+added, n+added
	}
	ids := make([]int, h.miscounted(n))
	for i := range ids {
		ids[i] = firstOther + i
		if i < leading {
			ids[i] = bosID
		}
	}
	return ids
}

func o200k() *tokens.Tokenizer {
	tokenizer, err := tokens.Of(providers.Profile{Tokenizer: providers.TokenizerO200K})
	if err != nil { // unreachable: the vocabulary is embedded
		panic(err)
	}
	return tokenizer
}
