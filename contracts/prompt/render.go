package prompt

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
)

// maxRendered bounds one rendered message.
const maxRendered = 16 << 20

// Templates are the messages of one contract at one target, parsed. They are safe for concurrent use.
type Templates struct {
	messages []parsed
	used     usage
}

type parsed struct {
	role     string
	template *template.Template
}

// MissingError is a variable that a message needs and the input does not have.
type MissingError struct {
	Message  int // from 1
	Role     string
	Line     int
	Variable string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("message %d (%s), line %d: variable %q is missing from the input", e.Message, e.Role, e.Line, e.Variable)
}

// Parse reads the messages that target gets, its variant where it has one.
func Parse(c *contracts.Contract, target providers.Target) (*Templates, error) {
	templates := &Templates{used: newUsage()}
	for i, m := range c.MessagesFor(target) {
		name := fmt.Sprintf("message %d (%s)", i+1, m.Role)
		t, err := template.New(name).Option("missingkey=error").Funcs(functions).Parse(m.Content)
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
		}
		if len(t.Templates()) > 1 {
			return nil, fmt.Errorf("%s: define and block are not possible in a message", name)
		}
		if err := prepare(t.Tree, &templates.used); err != nil {
			return nil, err
		}
		templates.messages = append(templates.messages, parsed{m.Role, t})
	}
	return templates, nil
}

// Render is the prompt for one input: Parse and [Templates.Render] in one.
func Render(c *contracts.Contract, target providers.Target, input map[string]any) ([]providers.Message, error) {
	templates, err := Parse(c, target)
	if err != nil {
		return nil, err
	}
	return templates.Render(input)
}

// Render fills the messages with one input. Its error is a *[MissingError] where a variable is missing.
func (t *Templates) Render(input map[string]any) ([]providers.Message, error) {
	messages := make([]providers.Message, len(t.messages))
	for i, m := range t.messages {
		var text limited
		if err := m.template.Execute(&text, input); err != nil {
			return nil, explain(i+1, m.role, err)
		}
		messages[i] = providers.Message{Role: m.role, Content: text.String()}
	}
	return messages, nil
}

// limited is a buffer that refuses to grow without end.
type limited struct{ strings.Builder }

func (l *limited) Write(b []byte) (int, error) {
	if l.Len()+len(b) > maxRendered {
		return 0, fmt.Errorf("longer than %d MiB", maxRendered>>20)
	}
	return l.Builder.Write(b)
}

// The library tells a missing key only in its message; a test holds these two to it.
var (
	missingKey = regexp.MustCompile(`map has no entry for key "(.*)"$`)
	position   = regexp.MustCompile(`^template: .*?:(\d+):\d+: (?:executing ".*?" at )?`)
)

func explain(number int, role string, err error) error {
	text, line := err.Error(), 0
	if at := position.FindStringSubmatch(text); at != nil {
		line, _ = strconv.Atoi(at[1]) // digits, by the pattern
		text = strings.TrimPrefix(text, at[0])
	}
	if key := missingKey.FindStringSubmatch(text); key != nil {
		return &MissingError{Message: number, Role: role, Line: line, Variable: key[1]}
	}
	return fmt.Errorf("message %d (%s), line %d: %s", number, role, line, text)
}
