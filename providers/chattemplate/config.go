package chattemplate

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ConfigName is the file beside a model's other files that says which tokens begin and end a text.
const ConfigName = "tokenizer_config.json"

// Config is what a tokenizer_config.json says of chats; what it does not say is "".
type Config struct{ Template, BOSToken, EOSToken string }

// ReadConfig reads a tokenizer_config.json. Of several templates the one named default counts.
func ReadConfig(content string) (Config, error) {
	var doc struct {
		Template jsontext.Value `json:"chat_template"`
		BOS      jsontext.Value `json:"bos_token"`
		EOS      jsontext.Value `json:"eos_token"`
	}
	if err := json.Unmarshal([]byte(content), &doc); err != nil {
		return Config{}, fmt.Errorf("not a %s: %w", ConfigName, err)
	}
	var read Config
	var err1, err2, err3 error
	read.Template, err1 = templateIn(doc.Template)
	read.BOSToken, err2 = tokenIn("bos_token", doc.BOS)
	read.EOSToken, err3 = tokenIn("eos_token", doc.EOS)
	return read, errors.Join(err1, err2, err3)
}

func templateIn(raw jsontext.Value) (string, error) {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return "", nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one, nil
	}
	var several []struct {
		Name     string `json:"name"`
		Template string `json:"template"`
	}
	if err := json.Unmarshal(raw, &several); err != nil {
		return "", fmt.Errorf("chat_template: neither a text nor a list of named ones: %w", err)
	}
	for _, each := range several {
		if each.Name == "default" {
			return each.Template, nil
		}
	}
	return "", errors.New("chat_template: none of them is named default")
}

// tokenIn reads both spellings of a token: its text, and an object with its content.
func tokenIn(name string, raw jsontext.Value) (string, error) {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var token struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal(raw, &token); err != nil {
		return "", fmt.Errorf("%s: neither a text nor a token: %w", name, err)
	}
	return token.Content, nil
}
