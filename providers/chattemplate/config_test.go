package chattemplate_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/chattemplate"
)

func TestReadConfig(t *testing.T) {
	for content, want := range map[string]chattemplate.Config{
		`{}`: {},
		`{"chat_template": null, "bos_token": null, "add_bos_token": true, "model_max_length": 8192}`:                        {},
		`{"chat_template": "{{ x }}", "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}}`:                {Template: "{{ x }}", BOSToken: "<s>", EOSToken: "</s>"},
		`{"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}], "eos_token": "e"}`: {Template: "d", EOSToken: "e"},
	} {
		NewWithT(t).Expect(chattemplate.ReadConfig(content)).To(Equal(want), content)
	}
	for content, want := range map[string]string{
		``:                                     "not a tokenizer_config.json",
		`{"bos_token": "a", "bos_token": "b"}`: "not a tokenizer_config.json",
		`{"chat_template": 1}`:                 "chat_template: neither a text nor a list",
		`{"chat_template": [{"name": "tool_use"}]}`: "none of them is named default",
		`{"bos_token": 1}`:                          "bos_token: neither a text nor a token",
		`{"eos_token": [1]}`:                        "eos_token: neither a text nor a token",
	} {
		_, err := chattemplate.ReadConfig(content)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)), content)
	}
}
