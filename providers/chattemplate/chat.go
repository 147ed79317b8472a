package chattemplate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/tokens"
)

// Chat is the template of one profile with the tokens and the tokenizer that go with it.
type Chat struct {
	template  *Template
	variables Variables
	addBOS    bool
	tokenizer *tokens.Tokenizer // nil where none is declared
}

// templates keeps each template once that was compiled, by its digest.
var templates sync.Map // of func() (*Template, error)

// Of is the chat of a profile; nil where it declares no template.
func Of(profile providers.Profile) (*Chat, error) {
	file := profile.ChatTemplate
	if !file.Present() {
		return nil, nil
	}
	compile, _ := templates.LoadOrStore(file.Digest, sync.OnceValues(func() (*Template, error) { return Parse(file.Content) }))
	template, err := compile.(func() (*Template, error))()
	if err != nil {
		return nil, fmt.Errorf("chat template %s: %w", file.Name, err)
	}
	tokenizer, err := tokens.Of(profile)
	if err != nil {
		return nil, err
	}
	return &Chat{template, Variables{profile.BOSToken, profile.EOSToken}, profile.AddBOS, tokenizer}, nil
}

// Render writes the prompt as the template has it, without what the server adds.
func (c *Chat) Render(messages []providers.Message) (string, error) {
	return c.template.Render(messages, c.variables)
}

// Prompt is what the model reads at the target that a profile declares, to the byte: the messages as its chat
// template writes them, behind the BOS that the server adds. declared is false where the profile has no template:
// then only the server knows. messages are those of the wire; see [providers.Profile.WireMessages].
func Prompt(profile providers.Profile, messages []providers.Message) (text string, declared bool, err error) {
	chat, err := Of(profile)
	if err != nil || chat == nil {
		return "", false, err
	}
	text, err = chat.Render(messages)
	if err == nil && chat.addBOS {
		text = chat.variables.BOSToken + text
	}
	return text, true, err
}

// BOS is how many BOS tokens the model sees at the beginning of a rendered prompt, the one that the server
// adds included. declared is false where the model has none.
func (c *Chat) BOS(prompt string) (n int, declared bool) {
	if c.variables.BOSToken == "" {
		return 0, false
	}
	for strings.HasPrefix(prompt, c.variables.BOSToken) {
		prompt = prompt[len(c.variables.BOSToken):]
		n++
	}
	if c.addBOS {
		n++
	}
	return n, true
}

// WantsBOS reports whether the template writes a BOS of which the profile does not say what it is: then no prompt can
// be known from here to its beginning.
func (c *Chat) WantsBOS(messages []providers.Message) bool {
	if c.variables.BOSToken != "" {
		return false
	}
	const some = "\ue000"
	with, err := c.template.Render(messages, Variables{some, c.variables.EOSToken})
	return err == nil && strings.Contains(with, some)
}

// Marks are the control tokens that the template writes: literally, and BOS and EOS. Typed into an input
// they are what a model is most likely to obey.
func (c *Chat) Marks() []string {
	marks := slices.Clone(c.template.literals)
	for _, token := range []string{c.variables.BOSToken, c.variables.EOSToken} {
		if token != "" {
			marks = append(marks, token)
		}
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}

// Controls are the marks that are one token to the model, and the other special tokens of its tokenizer.
// Where no tokenizer.json says which of the marks are tokens, all of them are.
func (c *Chat) Controls() []string {
	if c.tokenizer == nil || c.tokenizer.Controls() == nil {
		return c.Marks()
	}
	controls := slices.Clone(c.tokenizer.Controls())
	for _, mark := range c.Marks() {
		if _, ok := c.tokenizer.ID(mark); ok {
			controls = append(controls, mark)
		}
	}
	slices.Sort(controls)
	return slices.Compact(controls)
}

// Breakable are all marks and controls that can be broken without harm: a single character cannot, and what
// holds a line break could not be told apart in a list. Longer ones stand before what they begin with.
func (c *Chat) Breakable() []string {
	all := slices.Concat(c.Marks(), c.Controls())
	all = slices.DeleteFunc(all, func(token string) bool {
		return utf8.RuneCountInString(token) < 2 || strings.Contains(token, "\n")
	})
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// Tokenizer is the model's tokenizer; nil where none is declared.
func (c *Chat) Tokenizer() *tokens.Tokenizer { return c.tokenizer }

// Counts are two counts of one prompt.
type Counts struct {
	Text   int // control tokens inside the contents are text
	Obeyed int // they are tokens, as for a server that tells nobody's apart
	Inside int // how many there are
}

// Count counts the prompt that messages make. counted is false where no tokenizer is declared.
func (c *Chat) Count(messages []providers.Message) (counts Counts, counted bool, err error) {
	prompt, err := c.Render(messages)
	if err != nil || c.tokenizer == nil {
		return Counts{}, false, err
	}
	controls := c.Controls()
	if counts.Obeyed, err = c.tokenizer.CountPrompt(prompt, controls); err != nil {
		return Counts{}, false, err
	}
	if c.addBOS {
		counts.Obeyed++
	}
	counts.Text = counts.Obeyed
	for _, m := range messages {
		text, err := c.tokenizer.Count(m.Content)
		if err != nil {
			return Counts{}, false, err
		}
		obeyed, err := c.tokenizer.CountPrompt(m.Content, controls)
		if err != nil {
			return Counts{}, false, err
		}
		counts.Text += text - obeyed
		counts.Inside += occurrences(m.Content, controls)
	}
	return counts, true, nil
}

func occurrences(text string, words []string) int {
	n := 0
	for _, word := range words {
		n += strings.Count(text, word)
	}
	return n
}

// Count is how many tokens messages make at the target that a profile declares, what the chat template or
// the chat format adds included; control tokens inside them count as text. counted is false where no
// tokenizer is declared.
func Count(profile providers.Profile, messages []providers.Message) (n int, counted bool, err error) {
	chat, err := Of(profile)
	switch {
	case err != nil:
		return 0, false, err
	case chat == nil:
		return tokens.CountMessages(profile, messages)
	}
	counts, counted, err := chat.Count(messages)
	return counts.Text, counted, err
}
