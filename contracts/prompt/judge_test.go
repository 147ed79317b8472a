package prompt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	. "github.com/onsi/gomega"
)

// words counts words, which is enough to see that windows are compared.
func words(_ providers.Profile, messages []providers.Message) (int, bool, error) {
	n := 0
	for _, m := range messages {
		n += len(strings.Fields(m.Content))
	}
	return n, true, nil
}

func good() *contracts.Contract {
	return &contracts.Contract{
		Messages: []providers.Message{{Role: "system", Content: "two words"}, {Role: "user", Content: "{{ .text }}"}},
		Sampling: contracts.Sampling{MaxOutputTokens: 5},
		Cases: []contracts.Case{
			{Name: "one", Input: map[string]any{"text": "three more words"}},
			{Name: "two", Input: map[string]any{"text": "<|im_end|> {{ .gone }} {# x #}"}},
		},
	}
}

var profile = providers.Profile{SystemRole: "system", ContextWindow: 100, Tokenizer: "o200k_base"}

func TestJudgeHasNothingToSayOfAGoodContract(t *testing.T) {
	for _, role := range []string{"system", "developer", "merge"} {
		p := profile
		p.SystemRole = role
		NewWithT(t).Expect(prompt.Judge(good(), alpha, p, words)).To(BeEmpty())
	}
}

func TestJudge(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*contracts.Contract, *providers.Profile)
		count  prompt.Counter
		want   []prompt.Finding
		passes bool
	}{
		{"unparsable", func(c *contracts.Contract, _ *providers.Profile) { c.Messages[1].Content = "{{" }, words,
			[]prompt.Finding{{"", prompt.Unparsable, "message 2 (user):1: unclosed action"}}, false},
		{"missing variable in one case", func(c *contracts.Contract, _ *providers.Profile) { c.Cases[1].Input = map[string]any{} }, words,
			[]prompt.Finding{{"two", prompt.MissingVariable, `message 2 (user), line 1: variable "text" is missing from the input`}}, false},
		{"a value that the message cannot take", func(c *contracts.Contract, _ *providers.Profile) {
			c.Messages[1].Content = "{{ .text.inner }}"
			c.Cases = c.Cases[:1]
		}, words, []prompt.Finding{{"one", prompt.RenderFailed, "message 2 (user), line 1: <.text.inner>: can't evaluate field inner in type interface {}"}}, false},
		{"unused variable", func(c *contracts.Contract, _ *providers.Profile) { c.Cases[0].Input["extra"] = "x" }, words,
			[]prompt.Finding{{"one", prompt.UnusedVariable, `field "extra" is used by no message`}}, false},
		{"system message too late", func(c *contracts.Contract, _ *providers.Profile) {
			c.Messages[0], c.Messages[1] = c.Messages[1], c.Messages[0]
			c.Cases = c.Cases[:1]
		}, words, []prompt.Finding{{"one", prompt.RoleNotAccepted, "message 2: a system message after other messages"}}, false},
		{"no user message", func(c *contracts.Contract, _ *providers.Profile) {
			c.Messages[1].Role = "system"
			c.Cases = c.Cases[:1]
		}, words, []prompt.Finding{{"one", prompt.RoleNotAccepted, "no user message"}}, false},
		{"unknown role", func(c *contracts.Contract, _ *providers.Profile) {
			c.Messages = append(c.Messages, providers.Message{Role: "tool", Content: "x"})
			c.Cases = c.Cases[:1]
		}, words, []prompt.Finding{{"one", prompt.RoleNotAccepted, `message 3: role "tool"`}}, false},
		{"unknown way of sending", func(c *contracts.Contract, p *providers.Profile) {
			p.SystemRole = "shout"
			c.Cases = c.Cases[:1]
		}, words, []prompt.Finding{{"one", prompt.RoleNotAccepted, `the profile's system_role is "shout"`}}, false},
		{"window just large enough", func(_ *contracts.Contract, p *providers.Profile) { p.ContextWindow = 2 + 7 + 5 }, words, nil, true},
		{"window one too small", func(_ *contracts.Contract, p *providers.Profile) { p.ContextWindow = 2 + 7 + 4 }, words,
			[]prompt.Finding{{"two", prompt.WindowExceeded, "9 tokens and 5 for the answer: the window is 13; a shorter prompt or a lower max_output_tokens would fit, or correct context_window"}}, false},
		{"no room at all for an answer", func(c *contracts.Contract, p *providers.Profile) {
			c.Sampling.MaxOutputTokens, p.ContextWindow = 0, 9
		}, words, []prompt.Finding{{"two", prompt.WindowExceeded, "9 tokens and 1 for the answer: the window is 9; a shorter prompt or a lower max_output_tokens would fit, or correct context_window"}}, false},
		{"no tokenizer", func(c *contracts.Contract, _ *providers.Profile) { c.Cases = c.Cases[:1] },
			func(providers.Profile, []providers.Message) (int, bool, error) { return 0, false, nil },
			[]prompt.Finding{{"one", prompt.NotVerified, "no tokenizer is declared: the prompt was not counted"}}, true},
		{"no window", func(c *contracts.Contract, p *providers.Profile) { c.Cases, p.ContextWindow = c.Cases[:1], 0 }, words,
			[]prompt.Finding{{"one", prompt.NotVerified, "no context window is declared: whether the prompt fits was not seen"}}, true},
		{"tokenizer fails", func(c *contracts.Contract, _ *providers.Profile) { c.Cases = c.Cases[:1] },
			func(p providers.Profile, _ []providers.Message) (int, bool, error) {
				return 0, true, errors.New(p.Tokenizer + " is broken")
			},
			[]prompt.Finding{{"one", prompt.CountFailed, "o200k_base is broken"}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			c, p := good(), profile
			row.change(c, &p)
			findings := prompt.Judge(c, alpha, p, row.count)
			g.Expect(findings).To(Equal(row.want))
			for _, f := range findings {
				g.Expect(f.Fails()).To(Equal(!row.passes))
			}
		})
	}
}

// Fields that only steer a message, or stand in it changed, are not what the probe is for.
func TestJudgeProbesOnlyWhatStandsInAMessageAsItIs(t *testing.T) {
	for _, template := range []string{
		`{{ upper .text }}`, `{{ if eq .text "LOUD" }}LOUD{{ end }}`, `{{ if eq .text "LOUD" }}{{ .text }}{{ end }}`, `{{ len .text }}`, `{{ .text | json }}`,
	} {
		c := good()
		c.Cases = []contracts.Case{{Name: "one", Input: map[string]any{"text": "LOUD"}}}
		c.Messages[1].Content = template
		NewWithT(t).Expect(prompt.Judge(c, alpha, profile, words)).To(BeEmpty(), template)
	}
}
