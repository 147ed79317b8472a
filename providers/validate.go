package providers

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// WithDefaults fills every field that was left empty and has a default. The digest of a profile is
// taken after it, so that spelling a default out changes no proof.
func (p Profile) WithDefaults() Profile {
	for _, f := range p.enums() {
		if *f.value == "" {
			*f.value = f.fallback
		}
	}
	// Both defaults are kept as absent, so that they are no part of the digest.
	if p.TokenTolerance == DefaultTokenTolerance {
		p.TokenTolerance = 0
	}
	if p.ControlTokens == ControlTokensKeep {
		p.ControlTokens = ""
	}
	return p
}

// Validate reports everything that is wrong with the profile, joined: each enumerated field's error
// lists what is allowed. It expects a profile that went through [Profile.WithDefaults].
func (p Profile) Validate() error {
	var errs []error
	if err := ValidateBaseURL(p.BaseURL); err != nil {
		errs = append(errs, err)
	}
	if p.Model == "" {
		errs = append(errs, errors.New("model: must not be empty"))
	}
	if p.ContextWindow < 0 {
		errs = append(errs, fmt.Errorf("context_window: %d is negative; leave it out if it is not known", p.ContextWindow))
	}
	sources := []string{string(SourceLive), string(SourceReplay), string(SourceSimulated)}
	if !slices.Contains(sources, string(p.Source)) {
		errs = append(errs, notAllowed("source", string(p.Source), sources))
	}
	for _, f := range p.enums() {
		if !slices.Contains(f.allowed, *f.value) {
			errs = append(errs, notAllowed(f.name, *f.value, f.allowed))
		}
	}
	reconciles := []string{ReconcileStoredCompletions, ReconcileResponses}
	if p.Reconcile != ReconcileNone && !slices.Contains(reconciles, p.Reconcile) {
		errs = append(errs, notAllowed("reconcile", p.Reconcile, reconciles))
	}
	if err := ValidateIdempotencyHeader(p.IdempotencyHeader); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, p.validateHosting()...)
	return errors.Join(errs...)
}

// validateHosting is about what only self-hosted models declare.
func (p Profile) validateHosting() []error {
	var errs []error
	if own := p.Tokenizer == TokenizerOwn; own != p.TokenizerFile.Present() {
		errs = append(errs, fmt.Errorf("tokenizer: %q and a tokenizer file go together", TokenizerOwn))
	}
	natives := []string{NativeLlamaCpp, NativeVLLM}
	if p.Native != "" && !slices.Contains(natives, p.Native) {
		errs = append(errs, notAllowed("native", p.Native, natives))
	}
	breaks := []string{ControlTokensKeep, ControlTokensBreak}
	if p.ControlTokens != "" && !slices.Contains(breaks, p.ControlTokens) {
		errs = append(errs, notAllowed("control_tokens", p.ControlTokens, breaks))
	}
	if !(p.TokenTolerance >= 0 && p.TokenTolerance <= 1) {
		errs = append(errs, fmt.Errorf("token_tolerance: %v is not a share; want 0.01 to 1", p.TokenTolerance))
	}
	if p.AddBOS && p.BOSToken == "" {
		errs = append(errs, errors.New("add_bos: without bos_token nobody can tell what is added"))
	}
	return errs
}

// ValidateBaseURL accepts an absolute http or https URL without user, query or fragment. A base URL is
// kept in records and shown to people, so it must not be a place where a secret can stand.
func ValidateBaseURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil: // url.Error repeats the text, which may hold a secret
		return errors.New("base_url: not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("base_url: want an absolute http or https URL, e.g. https://api.example/v1")
	case u.User != nil:
		return errors.New("base_url: must not hold a user or password; use api_key_env or api_key_file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("base_url: must not hold a query or fragment")
	}
	return nil
}

// enumerated is one enumerated field of a profile.
type enumerated struct {
	name     string
	value    *string
	allowed  []string
	fallback string
}

func (p *Profile) enums() []enumerated {
	return []enumerated{
		{"tokenizer", &p.Tokenizer, []string{TokenizerO200K, TokenizerCL100K, TokenizerNone, TokenizerOwn}, TokenizerNone},
		{"system_role", &p.SystemRole, []string{RoleSystem, RoleDeveloper, RoleMerge}, RoleSystem},
		{"temperature", &p.Temperature, []string{TemperatureFree, TemperatureOmit}, TemperatureFree},
		{"max_tokens_field", &p.MaxTokensField, []string{MaxCompletionTokens, MaxTokens}, MaxCompletionTokens},
		{"structured_output", &p.StructuredOutput, []string{StructuredJSONSchema, StructuredJSONObject, StructuredNone}, StructuredJSONSchema},
	}
}

func notAllowed(field, value string, allowed []string) error {
	return fmt.Errorf("%s: %q is not allowed; want one of %s", field, value, strings.Join(allowed, ", "))
}
