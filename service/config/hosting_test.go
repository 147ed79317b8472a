package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
)

const smallTokenizer = `{"added_tokens": [{"id": 9, "content": "<|end|>", "special": true}],
	"model": {"type": "BPE", "unk_token": "u", "vocab": {"u": 0}, "merges": []}}`

// folder writes files and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func hosted(dir, keys string) (providers.Profile, error) {
	text := "providers:\n  a:\n    base_url: https://a.example\n    models:\n      m: {" + keys + "}\n"
	c, err := config.Parse(filepath.Join(dir, "f.yaml"), []byte(text), environment())
	if err != nil {
		return providers.Profile{}, err
	}
	profile, _ := c.Profile(providers.Target{Provider: "a", Model: "m"})
	return profile, nil
}

func TestSelfHostedModels(t *testing.T) {
	g := gomega.NewWithT(t)
	dir := folder(t, map[string]string{"t.jinja": "{{ bos_token }}[INST]", "tokenizer.json": smallTokenizer})
	profile, err := hosted(dir, "tokenizer: file:tokenizer.json, chat_template: file:t.jinja, bos_token: <s>, eos_token: </s>,"+
		" add_bos: true, control_tokens: break, token_tolerance: 0.05, native: llama.cpp")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(profile.Tokenizer).To(gomega.Equal("file"))
	g.Expect(profile.TokenizerFile).To(gomega.Equal(providers.NewFile(filepath.Join(dir, "tokenizer.json"), smallTokenizer)))
	g.Expect(profile.ChatTemplate).To(gomega.Equal(providers.NewFile(filepath.Join(dir, "t.jinja"), "{{ bos_token }}[INST]")))
	g.Expect([]any{profile.BOSToken, profile.EOSToken, profile.AddBOS, profile.Native, profile.TokenTolerance}).
		To(gomega.Equal([]any{"<s>", "</s>", true, "llama.cpp", 0.05}))
	g.Expect(profile.Breaks).To(gomega.Equal("<|end|>\n[INST]\n</s>\n<s>"))

	elsewhere, err := hosted(folder(t, map[string]string{"t.jinja": "{{ bos_token }}[INST]"}), "chat_template: file:t.jinja, token_tolerance: 1")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	again, err := hosted(dir, "chat_template: file:"+filepath.Join(dir, "t.jinja")+", token_tolerance: 1")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(again.Digest()).To(gomega.Equal(elsewhere.Digest()), "content counts, not the place")
	g.Expect(os.WriteFile(filepath.Join(dir, "t.jinja"), []byte("{{ bos_token }}[INST] "), 0o600)).To(gomega.Succeed())
	edited, err := hosted(dir, "chat_template: file:t.jinja, token_tolerance: 1")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(edited.Digest()).NotTo(gomega.Equal(elsewhere.Digest()), "an edited template is another profile")
	g.Expect(edited.BOSToken).To(gomega.BeEmpty())
}

func TestTokensOfATokenizerConfig(t *testing.T) {
	g := gomega.NewWithT(t)
	dir := folder(t, map[string]string{
		"t.jinja": "{{ bos_token }}", "tokenizer_config.json": `{"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": "{{ eos_token }}"}`,
	})
	beside, err := hosted(dir, "chat_template: file:t.jinja, eos_token: <end>")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect([]string{beside.ChatTemplate.Content, beside.BOSToken, beside.EOSToken}).To(gomega.Equal([]string{"{{ bos_token }}", "<s>", "<end>"}))
	inside, err := hosted(dir, "chat_template: file:tokenizer_config.json")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect([]string{inside.ChatTemplate.Content, inside.BOSToken, inside.EOSToken}).To(gomega.Equal([]string{"{{ eos_token }}", "<s>", "</s>"}))
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	for name, row := range map[string]struct{ file, content, want string }{
		"template":         {"t.jinja", "{% for %}", "chat_template: chat template "},
		"empty template":   {"t.jinja", " ", "chat_template: chat template "},
		"no template":      {"tokenizer_config.json", `{"bos_token": "<s>"}`, "chat_template: chat template "},
		"no config":        {"tokenizer_config.json", `[]`, "tokenizer_config.json: not a tokenizer_config.json"},
		"broken bos_token": {"tokenizer_config.json", `{"bos_token": 1}`, "bos_token: neither a text nor a token"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, err := hosted(folder(t, map[string]string{row.file: row.content}), "chat_template: file:"+row.file)
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("f.yaml:5: providers.a.models.m.chat_template: ")))
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(row.want)))
			g.Expect(err.Error()).NotTo(gomega.ContainSubstring("\n"))
		})
	}
	g := gomega.NewWithT(t)
	unigram := `{"model": {"type": "Unigram", "vocab": []}}`
	_, err := hosted(folder(t, map[string]string{"tokenizer.json": unigram}), "tokenizer: file:tokenizer.json")
	g.Expect(err).To(gomega.MatchError(gomega.And(
		gomega.ContainSubstring("f.yaml:5: providers.a.models.m.tokenizer: "), gomega.ContainSubstring(`model "Unigram" is not supported`))))
	_, err = hosted(folder(t, map[string]string{"t.jinja": "x", "tokenizer_config.json": "{"}), "chat_template: file:t.jinja")
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("not a tokenizer_config.json")), "a file beside it that is broken is not passed over")
}
