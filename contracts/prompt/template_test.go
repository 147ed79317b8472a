package prompt_test

import (
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
	. "github.com/onsi/gomega"
)

const chatml = `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}`

const inst = `{{ bos_token }}{% for m in messages %}{% if m.role != 'user' %}{{ raise_exception('only users may speak') }}{% endif %}[INST] {{ m.content | trim }} [/INST]{% endfor %}`

func hosted(template string) providers.Profile {
	return providers.Profile{
		SystemRole: "system", ContextWindow: 1000, Tokenizer: providers.TokenizerO200K, ChatTemplate: providers.NewFile("t.jinja", template),
	}
}

// sent counts what the messages become on the wire.
func sent(p providers.Profile, messages []providers.Message) (int, bool, error) {
	wire, err := p.WireMessages(messages)
	if err != nil {
		return 0, false, err
	}
	return chattemplate.Count(p, wire)
}

// Each fault that only the rendered prompt shows has a word of its own, and a template that fits has none.
func TestJudgeThroughTheChatTemplate(t *testing.T) {
	instructed := hosted(inst)
	instructed.SystemRole, instructed.BOSToken = "merge", "<s>"
	change := func(p providers.Profile, with func(*providers.Profile)) providers.Profile {
		with(&p)
		return p
	}
	for _, row := range []struct {
		name    string
		profile providers.Profile
		want    []prompt.Finding
	}{
		{"fits", hosted(chatml), nil},
		{"fits, merged and with BOS", instructed, nil},
		{"control tokens broken", change(hosted(chatml), func(p *providers.Profile) {
			p.ControlTokens, p.Breaks = "break", "<|im_start|>\n<|im_end|>"
		}), nil},
		{"no system role", hosted(inst), []prompt.Finding{
			{"one", prompt.RoleNotAccepted, "the template refuses the messages: only users may speak; with system_role: merge it takes them"},
		}},
		{"nobody takes them", hosted(`{{ raise_exception('nobody may speak') }}`), []prompt.Finding{
			{"one", prompt.RoleNotAccepted, "the template refuses the messages: nobody may speak"},
		}},
		{"BOS from both", change(instructed, func(p *providers.Profile) { p.AddBOS = true }), []prompt.Finding{
			{"one", prompt.DoubleBOS, "the template writes <s>, and the server is declared to add it: the prompt begins with 2 of them; say add_bos: false where it does not, or else take it out of the template"},
		}},
		{"BOS twice in the template", change(instructed, func(p *providers.Profile) {
			p.ChatTemplate = providers.NewFile("t.jinja", "{{ bos_token }}"+inst)
		}), []prompt.Finding{{"one", prompt.DoubleBOS, "the template writes 2 <s> at the beginning of the prompt"}}},
		{"BOS from nobody", change(hosted(chatml), func(p *providers.Profile) { p.BOSToken = "<s>" }), []prompt.Finding{
			{"one", prompt.MissingBOS, "the prompt begins without <s>, and the server is not declared to add it; where it does, say add_bos: true"},
		}},
		{"BOS from the server", change(hosted(chatml), func(p *providers.Profile) { p.BOSToken, p.AddBOS = "<s>", true }), nil},
		{"a BOS that nobody declares", hosted(`{{ bos_token }}` + chatml), []prompt.Finding{
			{"one", prompt.NotVerified, "the template writes bos_token, which is not declared: with how many the prompt begins was not seen; say bos_token, or lay the tokenizer_config.json beside the template"},
		}},
		{"a BOS that is asked for and not written", hosted(`{% if bos_token is undefined %}{{ bos_token }}{% endif %}` + chatml), nil},
		{"a template that loses a message", hosted("{{ messages[-1].content }}"), []prompt.Finding{
			{"one", prompt.TemplateFailed, "message 1 (system) does not reach the prompt as it is"},
			{"one", prompt.NotInert, `control tokens in field "text" do not reach the prompt as text`},
		}},
		{"a template that changes control tokens", hosted(`{% for m in messages %}{{ m.content | replace('<|im_end|>', '') }}{% endfor %}`), []prompt.Finding{
			{"one", prompt.NotInert, `control tokens in field "text" do not reach the prompt as text`},
		}},
		{"a template that fails", hosted("{{ messages | nosuchfilter }}"), []prompt.Finding{
			{"one", prompt.TemplateFailed, `the template cannot be rendered: unknown filter "nosuchfilter"`},
		}},
		{"no template", hosted("{%"), []prompt.Finding{{"", prompt.TemplateFailed, "chat template t.jinja: "}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			c := good()
			c.Cases = c.Cases[:1]
			findings := prompt.Judge(c, alpha, row.profile, sent)
			if row.name == "a template that fails" || row.name == "no template" { // the library's words may change
				g.Expect(findings).To(HaveLen(1))
				g.Expect(findings[0].Reason).To(Equal(row.want[0].Reason))
				return
			}
			g.Expect(findings).To(Equal(row.want))
		})
	}
}

// The window holds what the template writes around the messages, and the answer.
func TestWindowHoldsTheTemplate(t *testing.T) {
	g := NewWithT(t)
	p := hosted(chatml)
	messages := []providers.Message{{Role: "system", Content: "two words"}, {Role: "user", Content: "three more words"}}
	tokens, _, err := chattemplate.Count(p, messages)
	g.Expect(err).NotTo(HaveOccurred())
	c := good()
	c.Cases = c.Cases[:1]
	request := providers.Request{Messages: messages, MaxOutputTokens: c.Sampling.MaxOutputTokens}
	for window, fits := range map[int]bool{tokens + 5: true, tokens + 4: false} {
		p.ContextWindow = window
		request.Profile = p
		findings := prompt.Judge(c, alpha, p, sent)
		g.Expect(findings == nil).To(Equal(fits), "%v", findings)
		g.Expect(prompt.Fits(request, chattemplate.Count)).To(Equal(fits))
	}
	// A template may write far more than a message's usual frame: then no short cut is right.
	long := ""
	for range 200 {
		long += "a long preamble "
	}
	p.ChatTemplate, p.ContextWindow = providers.NewFile("long", long+chatml), 300
	request.Profile = p
	g.Expect(prompt.Fits(request, chattemplate.Count)).To(BeFalse())
}

func TestShown(t *testing.T) {
	g := NewWithT(t)
	c := &contracts.Contract{Messages: []providers.Message{{Role: "user", Content: "{{ .b }} {{ $.a }} {{ upper .c }} {{ .n }} {{ if .d }}{{ .d }}{{ end }} {{ .gone }}"}}}
	templates, err := prompt.Parse(c, alpha)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(templates.Shown(map[string]any{"a": "x", "b": "y", "c": "z", "d": "d", "n": true})).To(Equal([]string{"a", "b"}))
}
