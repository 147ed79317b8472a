package simulator

import (
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
)

// Hosted is how PUT /simulator/models says that a model's prompts go through a chat template.
type Hosted struct {
	ChatTemplate  string `json:"chat_template"` // the template itself
	Tokenizer     string `json:"tokenizer,omitzero"`
	BOSToken      string `json:"bos_token,omitzero"`
	EOSToken      string `json:"eos_token,omitzero"`
	AddBOS        bool   `json:"add_bos,omitzero"`
	ContextWindow int    `json:"context_window,omitzero"`
}

// Host lets a model's prompts go through the chat template that a profile declares, and be counted by its
// tokenizer; for the model "" it holds for all that have none of their own. It panics on files that cannot
// be used, which is a mistake of the program.
func (s *Simulator) Host(model string, profile providers.Profile) {
	_, err := chattemplate.Of(profile)
	mustBeValid(err)
	s.roster.host(model, &profile)
}

func (h *Hosted) profile() (*providers.Profile, *apiError) {
	if h == nil {
		return nil, nil
	}
	profile := providers.Profile{
		ChatTemplate: providers.NewFile("chat_template", h.ChatTemplate), Tokenizer: h.Tokenizer,
		BOSToken: h.BOSToken, EOSToken: h.EOSToken, AddBOS: h.AddBOS, ContextWindow: h.ContextWindow,
	}.WithDefaults()
	if _, err := chattemplate.Of(profile); err != nil {
		return nil, invalid("", "hosted", "hosted: %s", err)
	}
	return &profile, nil
}

// hostedOf is the inverse.
func hostedOf(profile *providers.Profile) *Hosted {
	if profile == nil || !profile.ChatTemplate.Present() {
		return nil
	}
	return &Hosted{
		ChatTemplate: profile.ChatTemplate.Content, Tokenizer: profile.Tokenizer, BOSToken: profile.BOSToken,
		EOSToken: profile.EOSToken, AddBOS: profile.AddBOS, ContextWindow: profile.ContextWindow,
	}
}
