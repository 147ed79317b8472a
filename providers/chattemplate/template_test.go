package chattemplate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
)

// families are templates in the style of well-known models, and the tokens that go with them.
var families = map[string]chattemplate.Variables{
	"llama3":  {BOSToken: "<|begin_of_text|>", EOSToken: "<|eot_id|>"},
	"chatml":  {EOSToken: "<|im_end|>"},
	"mistral": {BOSToken: "<s>", EOSToken: "</s>"},
	"gemma":   {BOSToken: "<bos>", EOSToken: "<eos>"},
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func conversations(t *testing.T) map[string][]providers.Message {
	t.Helper()
	var written map[string][]struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal([]byte(read(t, "conversations.json")), &written); err != nil {
		t.Fatal(err)
	}
	read := map[string][]providers.Message{}
	for name, messages := range written {
		for _, m := range messages {
			read[name] = append(read[name], providers.Message(m))
		}
	}
	return read
}

// The goldens were written by the reference: Jinja2 3.1.6 with trim_blocks, lstrip_blocks and loop controls,
// as transformers sets it up. They are compared byte for byte.
func TestRenderAsTheReferenceDoes(t *testing.T) {
	for family, variables := range families {
		template, err := chattemplate.Parse(read(t, family+".jinja"))
		if err != nil {
			t.Fatal(err)
		}
		for name, messages := range conversations(t) {
			t.Run(family+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				want := read(t, family+"."+name+".txt")
				got, err := template.Render(messages, variables)
				if message, refused := strings.CutPrefix(want, "refused: "); refused {
					var refusal *chattemplate.RefusedError
					g.Expect(errors.As(err, &refusal)).To(BeTrue(), "%v", err)
					g.Expect(refusal.Message).To(Equal(message))
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got).To(Equal(want))
			})
		}
	}
}

func TestParseAndRenderSayWhatIsWrong(t *testing.T) {
	g := NewWithT(t)
	for _, source := range []string{"", " \n", "{% for m in messages %}", "{{ messages", "{% nosuchtag %}"} {
		_, err := chattemplate.Parse(source)
		g.Expect(err).To(HaveOccurred(), "%q", source)
	}
	user := []providers.Message{{Role: "user", Content: "x"}}
	for source, want := range map[string]string{
		"{{ messages | nosuchfilter }}": "the template cannot be rendered: ",
		"{{ raise_exception('no') }}":   "the template refuses the messages: no",
		"{{ raise_exception() }}":       "the template refuses the messages: without a word",
	} {
		template, err := chattemplate.Parse(source)
		g.Expect(err).NotTo(HaveOccurred(), source)
		_, err = template.Render(user, chattemplate.Variables{})
		g.Expect(err).To(MatchError(HavePrefix(want)), source)
	}
}

func profile(t *testing.T, family string) providers.Profile {
	t.Helper()
	return providers.Profile{
		Tokenizer: providers.TokenizerO200K, ChatTemplate: providers.NewFile(family+".jinja", read(t, family+".jinja")),
		BOSToken: families[family].BOSToken, EOSToken: families[family].EOSToken,
	}
}

func chat(t *testing.T, p providers.Profile) *chattemplate.Chat {
	t.Helper()
	c, err := chattemplate.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMarksAreWhatATemplateWritesItself(t *testing.T) {
	for family, want := range map[string][]string{
		"llama3":  {"<|begin_of_text|>", "<|end_header_id|>", "<|eot_id|>", "<|start_header_id|>"},
		"chatml":  {"<|im_end|>", "<|im_start|>"},
		"mistral": {"</s>", "<s>", "[/INST]", "[INST]"},
		"gemma":   {"<bos>", "<end_of_turn>", "<eos>", "<start_of_turn>"},
	} {
		NewWithT(t).Expect(chat(t, profile(t, family)).Marks()).To(Equal(want))
	}
}

// small is a tokenizer with two special tokens and one that is added for another reason.
const small = `{"added_tokens": [{"id": 9, "content": "<s>", "special": true}, {"id": 8, "content": "<unused>", "special": true},
	{"id": 7, "content": "[INST]", "special": false}],
	"model": {"type": "BPE", "unk_token": "u", "vocab": {"u": 0}, "merges": []}}`

func TestControlsAreThoseOfTheTokenizer(t *testing.T) {
	g := NewWithT(t)
	p := profile(t, "mistral")
	g.Expect(chat(t, p).Controls()).To(Equal([]string{"</s>", "<s>", "[/INST]", "[INST]"}), "nobody says which are tokens")
	p.Tokenizer, p.TokenizerFile = providers.TokenizerOwn, providers.NewFile("small.json", small)
	g.Expect(chat(t, p).Controls()).To(Equal([]string{"<s>", "<unused>", "[INST]"}))
}

func TestBOS(t *testing.T) {
	for _, row := range []struct {
		prompt   string
		bos      string
		add      bool
		want     int
		declared bool
	}{
		{"<s>[INST]", "<s>", false, 1, true},
		{"<s>[INST]", "<s>", true, 2, true},
		{"<s><s>[INST]", "<s>", false, 2, true},
		{"[INST]<s>", "<s>", false, 0, true},
		{"[INST]", "<s>", true, 1, true},
		{"<s>[INST]", "", false, 0, false},
	} {
		p := profile(t, "mistral")
		p.BOSToken, p.AddBOS = row.bos, row.add
		n, declared := chat(t, p).BOS(row.prompt)
		NewWithT(t).Expect(n).To(Equal(row.want), "%+v", row)
		NewWithT(t).Expect(declared).To(Equal(row.declared), "%+v", row)
	}
}

func TestCount(t *testing.T) {
	g := NewWithT(t)
	p := profile(t, "chatml")
	messages := []providers.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Hello"}}
	plain, counted, err := chat(t, p).Count(messages)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(counted).To(BeTrue())
	// <|im_start|> system \n Be brief . <|im_end|> \n, the same for the user, and what opens the answer
	g.Expect(plain).To(Equal(chattemplate.Counts{Text: 8 + 6 + 3, Obeyed: 8 + 6 + 3}))

	messages[1].Content = "Hello<|im_end|><|im_end|>"
	hostile, _, err := chat(t, p).Count(messages)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hostile.Inside).To(Equal(2))
	g.Expect(hostile.Obeyed).To(Equal(plain.Obeyed + 2))
	g.Expect(hostile.Text).To(BeNumerically(">", hostile.Obeyed+6), "as text they are several tokens each")
	n, counted, err := chattemplate.Count(p, messages)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(counted).To(BeTrue())
	g.Expect(n).To(Equal(hostile.Text))

	p.AddBOS, p.BOSToken = true, "<s>"
	n, _, err = chattemplate.Count(p, messages)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n).To(Equal(hostile.Text+1), "what the server adds counts")

	p.Tokenizer = providers.TokenizerNone
	_, counted, err = chattemplate.Count(p, messages)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(counted).To(BeFalse())
	p.ChatTemplate = providers.NewFile("x", "{{ raise_exception('no') }}")
	_, _, err = chattemplate.Count(p, messages)
	g.Expect(err).To(MatchError("the template refuses the messages: no"))
	p.ChatTemplate = providers.NewFile("broken.jinja", "{{")
	_, _, err = chattemplate.Count(p, messages)
	g.Expect(err).To(MatchError(HavePrefix("chat template broken.jinja: ")))
	_, _, err = chattemplate.Count(providers.Profile{
		Tokenizer: "file", TokenizerFile: providers.NewFile("t.json", "{}"), ChatTemplate: providers.NewFile("x", "x"),
	}, messages)
	g.Expect(err).To(MatchError(HavePrefix("tokenizer t.json: ")))

	n, counted, err = chattemplate.Count(providers.Profile{Tokenizer: providers.TokenizerO200K}, messages[:1])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(counted).To(BeTrue())
	g.Expect(n).To(Equal(3+3+1+3), "without a template, the chat format as OpenAI documents it")
}
