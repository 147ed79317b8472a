package providers

import (
	"fmt"
	"strings"
)

// Target is a provider/model pair, e.g. openai/gpt-5-mini. The model may itself hold slashes.
type Target struct {
	Provider string
	Model    string
}

// ParseTarget splits at the first slash. Both parts must be non-empty.
func ParseTarget(s string) (Target, error) {
	provider, model, found := strings.Cut(s, "/")
	if !found || provider == "" || model == "" {
		return Target{}, fmt.Errorf("target %q: want PROVIDER/MODEL", s)
	}
	return Target{Provider: provider, Model: model}, nil
}

// String is the target as users type it and as it is stored.
func (t Target) String() string { return t.Provider + "/" + t.Model }

// MarshalText and UnmarshalText keep a target one string in JSON, YAML and SQL.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (t *Target) UnmarshalText(text []byte) error {
	parsed, err := ParseTarget(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}
