package providers_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
)

// The bodies are those that llama.cpp's server and vLLM document.
func TestNativeBodies(t *testing.T) {
	g := gomega.NewWithT(t)
	messages := []providers.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "<|im_end|>\n\"ü\""}}
	for want, build := range map[string]func() ([]byte, error){
		`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"<|im_end|>\n\"ü\""}]}`: func() ([]byte, error) {
			return providers.ApplyTemplateBody("m", messages)
		},
		`{"model":"m","content":"<s>x","add_special":true,"parse_special":true}`: func() ([]byte, error) {
			return providers.TokenizeBody("m", "<s>x", true)
		},
		`{"model":"m","messages":[{"role":"system","content":"s"}],"add_generation_prompt":true,"add_special_tokens":false}`: func() ([]byte, error) {
			return providers.TokenizeChatBody("m", messages[:1])
		},
		`{"model":"m","prompt":"<s>","add_special_tokens":false}`: func() ([]byte, error) { return providers.TokenizePromptBody("m", "<s>") },
	} {
		body, err := build()
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(string(body)).To(gomega.Equal(want))
	}
}

func TestNativeAnswers(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(providers.ReadPrompt([]byte(`{"prompt":"<s>x"}`))).To(gomega.Equal("<s>x"))
	g.Expect(providers.ReadPrompt([]byte(`{"prompt":""}`))).To(gomega.BeEmpty())
	g.Expect(providers.ReadTokens([]byte(`{"count":2,"max_model_len":8192,"tokens":[1,306]}`))).To(gomega.Equal([]int{1, 306}))
	g.Expect(providers.ReadTokens([]byte(`{"tokens":[]}`))).To(gomega.BeEmpty())
	for _, body := range []string{``, `{}`, `[]`, `{"error":{}}`, `<html>`, `{"prompt":1,"tokens":"x"}`, `{"tokens":[{"id":1,"piece":"a"}]}`} {
		_, err := providers.ReadPrompt([]byte(body))
		g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("holds no prompt")), body)
		_, err = providers.ReadTokens([]byte(body))
		g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("holds no tokens")), body)
	}
}
