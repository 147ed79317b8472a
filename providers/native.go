package providers

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
)

// Native is a question to a self-hosted model's server about a prompt, by a path of the server's own
// ([Profile.Native]) that stands beside the wire format. It puts no model to work.
type Native struct {
	Path string
	Body []byte // JSON
}

// The paths of such servers, below the address without its version.
const (
	PathApplyTemplate = "/apply-template" // llama.cpp
	PathTokenize      = "/tokenize"       // llama.cpp and vLLM
)

type nativeMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func nativeMessages(messages []Message) []nativeMessage {
	written := make([]nativeMessage, len(messages))
	for i, m := range messages {
		written[i] = nativeMessage(m)
	}
	return written
}

// ApplyTemplateBody asks llama.cpp's server for the prompt that messages make. The model's name is for
// routers in front of several; the server itself takes no notice.
func ApplyTemplateBody(model string, messages []Message) ([]byte, error) {
	return json.Marshal(struct {
		Model    string          `json:"model"`
		Messages []nativeMessage `json:"messages"`
	}{model, nativeMessages(messages)})
}

// TokenizeBody asks llama.cpp's server for the tokens of a text. special says whether BOS is added as for
// any prompt; control tokens are read as tokens, as in every prompt.
func TokenizeBody(model, text string, special bool) ([]byte, error) {
	return json.Marshal(struct {
		Model        string `json:"model"`
		Content      string `json:"content"`
		AddSpecial   bool   `json:"add_special"`
		ParseSpecial bool   `json:"parse_special"`
	}{model, text, special, true})
}

// TokenizeChatBody asks vLLM for the tokens of messages, as its chat endpoint makes them.
func TokenizeChatBody(model string, messages []Message) ([]byte, error) {
	return json.Marshal(struct {
		Model               string          `json:"model"`
		Messages            []nativeMessage `json:"messages"`
		AddGenerationPrompt bool            `json:"add_generation_prompt"`
		AddSpecialTokens    bool            `json:"add_special_tokens"`
	}{model, nativeMessages(messages), true, false})
}

// TokenizePromptBody asks vLLM for the tokens of a text, without what it adds to a prompt.
func TokenizePromptBody(model, text string) ([]byte, error) {
	return json.Marshal(struct {
		Model            string `json:"model"`
		Prompt           string `json:"prompt"`
		AddSpecialTokens bool   `json:"add_special_tokens"`
	}{model, text, false})
}

// ReadPrompt reads the answer to ApplyTemplateBody.
func ReadPrompt(body []byte) (string, error) {
	var said struct {
		Prompt *string `json:"prompt"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return "", fmt.Errorf("the answer holds no prompt: %w", err)
	}
	if said.Prompt == nil {
		return "", errors.New("the answer holds no prompt")
	}
	return *said.Prompt, nil
}

// ReadTokens reads the answer to any of the others.
func ReadTokens(body []byte) ([]int, error) {
	var said struct {
		Tokens *[]int `json:"tokens"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, fmt.Errorf("the answer holds no tokens: %w", err)
	}
	if said.Tokens == nil {
		return nil, errors.New("the answer holds no tokens")
	}
	return *said.Tokens, nil
}
