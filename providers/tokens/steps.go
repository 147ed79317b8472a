package tokens

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

// step is a normalizer or a pre-tokenizer of a tokenizer.json; each kind uses some of the fields.
type step struct {
	Type           string           `json:"type"`
	Normalizers    []jsontext.Value `json:"normalizers"`
	PreTokenizers  []jsontext.Value `json:"pretokenizers"`
	Pattern        stepPattern      `json:"pattern"`
	Content        string           `json:"content"`
	Prepend        string           `json:"prepend"`
	Behavior       string           `json:"behavior"`
	Invert         bool             `json:"invert"`
	AddPrefixSpace bool             `json:"add_prefix_space"`
	UseRegex       *bool            `json:"use_regex"`
	Replacement    string           `json:"replacement"`
	PrependScheme  string           `json:"prepend_scheme"`
	Split          *bool            `json:"split"`
}

type stepPattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

func stepOf(raw jsontext.Value, kind string) (step, error) {
	var s step
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("%s: %w", kind, err)
	}
	return s, nil
}

func absent(raw jsontext.Value) bool { return len(raw) == 0 || raw.Kind() == 'n' }

// normalizerOf reads what is done to a text before it is cut.
func normalizerOf(raw jsontext.Value) (func(string) string, error) {
	if absent(raw) {
		return func(text string) string { return text }, nil
	}
	s, err := stepOf(raw, "normalizer")
	if err != nil {
		return nil, err
	}
	switch {
	case s.Type == "NFC":
		return norm.NFC.String, nil
	case s.Type == "Prepend":
		return func(text string) string {
			if text == "" {
				return ""
			}
			return s.Prepend + text
		}, nil
	case s.Type == "Replace" && s.Pattern.String != nil:
		return func(text string) string { return strings.ReplaceAll(text, *s.Pattern.String, s.Content) }, nil
	case s.Type == "Sequence":
		return normalizersOf(s.Normalizers)
	}
	return nil, fmt.Errorf("normalizer %q is not supported; declare tokenizer none", s.Type)
}

func normalizersOf(all []jsontext.Value) (func(string) string, error) {
	var steps []func(string) string
	for _, raw := range all {
		one, err := normalizerOf(raw)
		if err != nil {
			return nil, err
		}
		steps = append(steps, one)
	}
	return func(text string) string {
		for _, one := range steps {
			text = one(text)
		}
		return text
	}, nil
}
