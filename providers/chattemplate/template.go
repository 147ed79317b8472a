package chattemplate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ardanlabs/jinja"

	"github.com/fallproof/fallproof/providers"
)

// Template is a chat template, compiled. It may be used concurrently.
type Template struct {
	compiled *jinja.Template
	literals []string // control tokens that stand in the template itself
}

// RefusedError is what a template raises about messages that its model was not made for, such as a system
// message where it has no such role.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return "the template refuses the messages: " + e.Message }

// Parse compiles a template.
func Parse(source string) (*Template, error) {
	if strings.TrimSpace(source) == "" {
		return nil, errors.New("the template is empty")
	}
	compiled, err := jinja.Compile(source)
	if err != nil {
		return nil, err
	}
	return &Template{compiled: compiled, literals: literalsIn(source)}, nil
}

// Variables are what a template is told beside the messages.
type Variables struct{ BOSToken, EOSToken string }

// Render writes the prompt up to where the answer begins. Its error is a *[RefusedError] where the template
// raised it.
func (t *Template) Render(messages []providers.Message, variables Variables) (string, error) {
	list := make([]jinja.Value, len(messages))
	for i, m := range messages {
		one := jinja.NewDict()
		one.AsDict().Set("role", jinja.NewString(m.Role))
		one.AsDict().Set("content", jinja.NewString(m.Content))
		list[i] = one
	}
	var refusal *RefusedError
	// The library's own raise_exception gives an error like any other.
	raise := func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
		refusal = &RefusedError{Message: "without a word"}
		switch {
		case len(args) > 0 && args[0].IsString():
			refusal.Message = args[0].AsString()
		case len(args) > 0:
			refusal.Message = args[0].String()
		}
		return jinja.Undefined(), refusal
	}
	text, err := t.compiled.RenderValues(map[string]jinja.Value{
		"messages":              jinja.NewList(list),
		"add_generation_prompt": jinja.NewBool(true),
		"tools":                 jinja.None(),
		"documents":             jinja.None(),
		"bos_token":             jinja.NewString(variables.BOSToken),
		"eos_token":             jinja.NewString(variables.EOSToken),
		"raise_exception":       jinja.NewCallable("raise_exception", raise),
	})
	switch {
	case refusal != nil:
		return "", refusal
	case err != nil:
		return "", fmt.Errorf("the template cannot be rendered: %w", err)
	}
	return text, nil
}

// The spellings of control tokens that templates write literally: <|im_end|>, <｜User｜>, <start_of_turn>,
// </s>, <<SYS>>, [INST].
var controlPattern = regexp.MustCompile(
	`<\|[^<>|\s]{1,64}\|>|<｜[^<>｜\s]{1,64}｜>|<<?/?[A-Za-z][A-Za-z0-9_]{0,63}>>?|\[/?[A-Z][A-Z_]{1,63}\]`)

func literalsIn(source string) []string {
	found := controlPattern.FindAllString(source, -1)
	slices.Sort(found)
	return slices.Compact(found)
}
