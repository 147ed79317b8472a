package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/secrets"
)

// APIKey reads the key of a provider: "" where none is declared. White space around it is no part of it. Where
// the declared variable or file is missing or empty, or holds what [providers.ValidateAPIKey] refuses, the error
// names it, and the line that declares it.
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
		return c.sendable(p, "environment variable "+p.APIKeyEnv, key)
	case p.APIKeyFile != "":
		content, err := os.ReadFile(p.APIKeyFile)
		if err != nil {
			return "", c.fault(p.keyLine, "provider %s: API key file: %v", p.Name, err)
		}
		key := strings.TrimSpace(string(content))
		if key == "" {
			return "", c.fault(p.keyLine, "provider %s: API key file %s is empty", p.Name, p.APIKeyFile)
		}
		return c.sendable(p, "API key file "+p.APIKeyFile, key)
	default:
		return "", nil
	}
}

// sendable is a key that was found, unless it is none that can be sent.
func (c *Config) sendable(p Provider, where, key string) (string, error) {
	if err := providers.ValidateAPIKey(key); err != nil {
		return "", c.fault(p.keyLine, "provider %s: the key in %s: %v", p.Name, where, err)
	}
	return key, nil
}

// CheckAPIKeys errs for the first of the named providers (all, where none is named) whose key is
// declared, and missing or malformed, so that a service fails when it starts rather than at its first call.
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

// Scrubber knows the key of every provider by the provider's name, so that nobody's key is kept wherever it turns
// up: one provider's may stand in a prompt for another. A key that cannot be read, or could not be sent, is not
// known; that is an error only where it is needed.
func (c *Config) Scrubber() secrets.Scrubber {
	keys := map[string]string{}
	for name := range c.Providers {
		if key, err := c.APIKey(name); err == nil {
			keys[name] = key
		}
	}
	return secrets.Named(keys)
}

func (c *Config) fault(line int, format string, args ...any) error {
	return &Error{File: c.Path, Line: line, Message: fmt.Sprintf(format, args...)}
}
