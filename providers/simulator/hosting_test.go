package simulator

import (
	"testing"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
)

const bracketed = `{{ bos_token }}{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}` +
	`{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}<|assistant|>`

var bracketHost = providers.Profile{
	ChatTemplate: providers.NewFile("bracketed", bracketed), Tokenizer: providers.TokenizerO200K, BOSToken: "<s>", ContextWindow: 4096,
}

func (f *far) ask(path, body string) (status int, prompt string, ids []int) {
	f.t.Helper()
	got := f.do(f.t.Context(), "POST", path, []byte(body), "an-id")
	var said struct {
		Prompt string `json:"prompt"`
		Tokens []int  `json:"tokens"`
	}
	if got.status == 200 {
		if err := json.Unmarshal(got.body, &said); err != nil {
			f.t.Fatal(err)
		}
	}
	return got.status, said.Prompt, said.Tokens
}

func leading(ids []int) (n int) {
	for n < len(ids) && ids[n] == bosID {
		n++
	}
	return n
}

func TestHostedModelsShowTheirPrompts(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	messages := `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]`
	status, _, _ := f.ask("/apply-template", `{"model":"faithful",`+messages+`}`)
	g.Expect(status).To(Equal(404), "a model without a template has no such path")

	f.Host("", bracketHost)
	want := "<s><|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>"
	_, prompt, _ := f.ask("/apply-template", `{"model":"faithful",`+messages+`}`)
	g.Expect(prompt).To(Equal(want))
	_, prompt, _ = f.ask("/apply-template", `{"model":"rewriting",`+messages+`}`)
	g.Expect(prompt).NotTo(Equal(want))
	g.Expect(prompt).To(ContainSubstring("Be brief."))

	local, _, err := chattemplate.Count(bracketHost, []providers.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Hi"}})
	g.Expect(err).NotTo(HaveOccurred())
	for model, row := range map[string]struct{ tokens, bos int }{
		"faithful": {local, 1}, "doubling": {local + 1, 2}, "counting": {3 * local, 1},
	} {
		_, _, chat := f.ask("/tokenize", `{"model":"`+model+`",`+messages+`}`)
		g.Expect(chat).To(HaveLen(row.tokens), model)
		g.Expect(leading(chat)).To(Equal(row.bos), model)
		_, _, text := f.ask("/tokenize", `{"model":"`+model+`","content":"`+want+`","add_special":true,"parse_special":true}`)
		g.Expect(text).To(Equal(chat), model)
	}
	_, _, bos := f.ask("/tokenize", `{"model":"doubling","prompt":"<s>"}`)
	g.Expect(bos).To(Equal([]int{bosID}))

	status, _, _ = f.ask("/apply-template", `{"model":"faithful","messages":[{"role":"tool","content":"x"}]}`)
	g.Expect(status).To(Equal(400), "what the template refuses is refused")
	status, _, _ = f.ask("/tokenize", `{"model":"rate-limited",`+messages+`}`)
	g.Expect(status).To(Equal(429))
	status, _, _ = f.ask("/tokenize", `{"model":"nobody",`+messages+`}`)
	g.Expect(status).To(Equal(404))
	status, _, _ = f.ask("/tokenize", `{"model":"faithful","model":"faithful"}`)
	g.Expect(status).To(Equal(400))
	g.Expect(f.Ledger()).To(BeEmpty(), "nothing was put to work")
	g.Expect(f.Questions(Filter{Model: "rate-limited"})).To(HaveLen(1))
}

func (f *far) promptTokens(model, content string) (status, tokens int, answer string) {
	f.t.Helper()
	body, err := json.Marshal(map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": content}}})
	if err != nil {
		f.t.Fatal(err)
	}
	got := f.chat(body, "")
	if got.status != 200 {
		return got.status, 0, ""
	}
	var said completion
	if err := json.Unmarshal(got.body, &said); err != nil {
		f.t.Fatal(err)
	}
	return got.status, said.Usage.PromptTokens, *said.Choices[0].Message.Content
}

// What becomes of control tokens that a user typed shows in the number of tokens.
func TestControlTokensInAMessage(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	f.Host("", bracketHost)
	chat, err := chattemplate.Of(bracketHost)
	g.Expect(err).NotTo(HaveOccurred())
	typed := "one two<|end|><|end|><|end|> three four five six seven"
	counts, _, err := chat.Count([]providers.Message{{Role: "user", Content: typed}})
	g.Expect(err).NotTo(HaveOccurred())
	cut, _, err := chat.Count([]providers.Message{{Role: "user", Content: "one two"}})
	g.Expect(err).NotTo(HaveOccurred())
	for model, want := range map[string]int{"faithful": counts.Text, "concatenating": counts.Obeyed, "obeying": cut.Text} {
		_, n, _ := f.promptTokens(model, typed)
		g.Expect(n).To(Equal(want), model)
	}
	_, _, whole := f.promptTokens("faithful", typed)
	_, _, lost := f.promptTokens("obeying", typed)
	g.Expect(whole).To(ContainSubstring("7 words"))
	g.Expect(lost).To(ContainSubstring("2 words"), "what stands behind the first is lost")
	status, _, _ := f.promptTokens("faithful", "")
	g.Expect(status).To(Equal(200))
}

func TestHostingByControl(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	hosted := Hosted{ChatTemplate: bracketed, Tokenizer: "o200k_base", BOSToken: "<s>"}
	wish, err := json.Marshal(map[string]any{"personality": "faithful", "hosted": hosted})
	g.Expect(err).NotTo(HaveOccurred())
	var state ModelState
	g.Expect(f.control("PUT", "/simulator/models/own", string(wish), &state)).To(Equal(200))
	g.Expect(state.Hosted).To(Equal(&hosted))
	status, prompt, _ := f.ask("/apply-template", `{"model":"own","messages":[{"role":"user","content":"x"}]}`)
	g.Expect(status).To(Equal(200))
	g.Expect(prompt).To(Equal("<s><|user|>x<|end|><|assistant|>"))
	g.Expect(f.control("PUT", "/simulator/models/own", `{"personality":"faithful","hosted":{"chat_template":"{%"}}`, nil)).To(Equal(400))
	g.Expect(f.control("PUT", "/simulator/models/own", `{"personality":"faithful"}`, &state)).To(Equal(200))
	status, _, _ = f.ask("/apply-template", `{"model":"own","messages":[]}`)
	g.Expect(status).To(Equal(404), "a PUT says all of a model")
	g.Expect(func() { f.Host("own", providers.Profile{ChatTemplate: providers.NewFile("x", "{%")}) }).To(Panic())
}
