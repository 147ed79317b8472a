package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// APIKey reads the key of a provider: "" where none is declared. Where the declared variable or file is
// missing or empty, the error names it, and the line that declares it.
func (c *Config) APIKey(provider string) (string, error) {
	p, ok := c.Providers[provider]
	if !ok {
		return "", fmt.Errorf("provider %q is not declared", provider)
	}
	switch {
	case p.APIKeyEnv != "":
		key := strings.TrimSpace(c.getenv(p.APIKeyEnv))
		if key == "" {
			return "", c.fault(p.keyLine, "provider %s: environment variable %s is not set", p.Name, p.APIKeyEnv)
		}
		return key, nil
	case p.APIKeyFile != "":
		content, err := os.ReadFile(p.APIKeyFile)
		if err != nil {
			return "", c.fault(p.keyLine, "provider %s: API key file: %v", p.Name, err)
		}
		key := strings.TrimSpace(string(content))
		if key == "" {
			return "", c.fault(p.keyLine, "provider %s: API key file %s is empty", p.Name, p.APIKeyFile)
		}
		return key, nil
	default:
		return "", nil
	}
}

// CheckAPIKeys errs for the first of the named providers (all, where none is named) whose key is
// declared and missing, so that a service fails when it starts rather than at its first call.
func (c *Config) CheckAPIKeys(names ...string) error {
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(c.Providers))
	}
	for _, name := range names {
		if _, err := c.APIKey(name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) fault(line int, format string, args ...any) error {
	return &Error{File: c.Path, Line: line, Message: fmt.Sprintf(format, args...)}
}
