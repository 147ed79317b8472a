package certification

import (
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
)

// wireForm is how a wire format spells what is compared.
type wireForm struct {
	messages  string   // the member that holds them
	limit     string   // the name under which the profile has the limit sent
	limits    []string // every name that a limit may be found under
	format    string   // where the output format stands
	responses bool
}

// formOf is the wire format that a profile declares: responses where they are to be fetched, else chat
// completions.
func formOf(profile providers.Profile) wireForm {
	form := wireForm{
		messages: "messages", limit: profile.MaxTokensField, format: "response_format",
		limits: []string{providers.MaxCompletionTokens, providers.MaxTokens},
	}
	if profile.Reconcile == providers.ReconcileResponses {
		const limit = "max_output_tokens" // whatever the profile calls it: responses have one name for it
		form.messages, form.limit, form.format, form.responses = "input", limit, "text.format", true
		form.limits = append(form.limits, limit)
	}
	return form
}

func (f wireForm) formatIn(sent map[string]any) (format any, present bool) {
	if !f.responses {
		format, present = sent["response_format"]
		return format, present
	}
	text, _ := sent["text"].(map[string]any)
	format, present = text["format"]
	return format, present
}

// schemaIn is the object within an output format that holds the schema.
func (f wireForm) schemaIn(format map[string]any) map[string]any {
	if f.responses {
		return format
	}
	wrapper, _ := format["json_schema"].(map[string]any)
	return wrapper
}

// messagesIn reads the messages of a request. A response's instructions are a system message before all
// others, and an input that is a text is what a user says. A content that is not text is given as JSON.
func (f wireForm) messagesIn(sent map[string]any) []providers.Message {
	var messages []providers.Message
	if instructions, ok := sent["instructions"].(string); ok && f.responses {
		messages = append(messages, providers.Message{Role: providers.RoleSystem, Content: instructions})
	}
	switch said := sent[f.messages].(type) {
	case string:
		messages = append(messages, providers.Message{Role: "user", Content: said})
	case []any:
		for _, item := range said {
			message, _ := item.(map[string]any)
			role, _ := message["role"].(string)
			content, isText := message["content"].(string)
			if !isText {
				content = string(value.Encode(message["content"]))
			}
			messages = append(messages, providers.Message{Role: role, Content: content})
		}
	}
	return messages
}
