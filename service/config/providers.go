package config

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"github.com/fallproof/fallproof/providers"
)

// Defaults of a provider.
const (
	defaultTimeout      = 30 * time.Second
	defaultGiveUp       = 10 * time.Minute
	defaultQueueTimeout = time.Minute
	defaultConcurrency  = 16
	mostConcurrency     = 100_000
	defaultFailures     = 5
	mostFailures        = 1_000_000
	defaultCoolDown     = 30 * time.Second
	circuitOff          = "off"
)

var (
	providerName = regexp.MustCompile(`^[a-z0-9_-]+$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (r *reader) providers(f field) map[string]Provider {
	declared := map[string]Provider{}
	for _, entry := range r.entries(f) {
		if !providerName.MatchString(entry.key) {
			r.fail(entry.line, "provider name %q: want lower-case letters, digits, - and _", entry.key)
			continue
		}
		declared[entry.key] = r.provider(entry)
	}
	return declared
}

func (r *reader) provider(f field) Provider {
	s := r.mapping(f, "base_url", "api_key_env", "api_key_file", "source", "timeout", "give_up",
		"live_on_loopback", "queue_timeout", "concurrency", "server_errors", "reconcile", "reconcile_horizon", "idempotent", "circuit", "models")
	p := Provider{
		Name:         f.key,
		BaseURL:      r.baseURL(f, s["base_url"]),
		APIKeyEnv:    r.text(s["api_key_env"], ""),
		Source:       providers.Source(r.word(s["source"], string(providers.SourceLive), string(providers.SourceLive), string(providers.SourceSimulated))),
		Timeout:      r.duration(s["timeout"], defaultTimeout),
		GiveUp:       r.duration(s["give_up"], defaultGiveUp),
		QueueTimeout: r.duration(s["queue_timeout"], defaultQueueTimeout),
		Concurrency:  r.integer(s["concurrency"], defaultConcurrency, mostConcurrency),
		ServerErrors: r.word(s["server_errors"], "doubt", "doubt", "failed"),
		Reconcile:    r.word(s["reconcile"], providers.ReconcileNone, providers.ReconcileStoredCompletions, providers.ReconcileResponses),
		Idempotent:   r.text(s["idempotent"], ""),
		Circuit:      r.circuit(s["circuit"]),
		Prices:       map[string]Price{},
	}
	p.LiveOnLoopback = r.boolean(s["live_on_loopback"])
	if err := providers.ValidateIdempotencyHeader(p.Idempotent); err != nil {
		r.fail(s["idempotent"].line, "provider %s: idempotent: %v", p.Name, err)
	}
	p.ReconcileHorizon = r.duration(s["reconcile_horizon"], p.GiveUp)
	if s["reconcile_horizon"].present() && p.Reconcile == providers.ReconcileNone {
		r.fail(s["reconcile_horizon"].line, "provider %s: reconcile_horizon without reconcile: say how an attempt is found again", p.Name)
	}
	r.credentials(&p, s["api_key_env"], s["api_key_file"])
	r.deadlines(p, s["timeout"], s["give_up"])
	p.Models = r.models(f, s["models"], p)
	return p
}

func (r *reader) baseURL(provider, f field) string {
	if !f.present() {
		r.lacks(provider.line, "%s has no base_url", provider.name)
		return ""
	}
	url := r.text(f, "")
	if err := providers.ValidateBaseURL(url); err != nil {
		r.fail(f.line, "%s: %s", f.name, strings.TrimPrefix(err.Error(), "base_url: "))
	}
	return strings.TrimRight(url, "/")
}

// credentials says where a key is, and refuses what looks like the key itself. The message does not
// repeat what was written.
func (r *reader) credentials(p *Provider, env, file field) {
	if env.present() {
		p.keyLine = env.line
		if !variableName.MatchString(p.APIKeyEnv) {
			r.fail(env.line, "%s: want the name of an environment variable; a key itself never stands in this file", env.name)
		}
	}
	if file.present() {
		p.keyLine, p.APIKeyFile = file.line, r.path(file)
	}
	if env.present() && file.present() {
		r.fail(max(env.line, file.line), "provider %s: api_key_env and api_key_file exclude each other", p.Name)
	}
}

// circuit is when a target of the provider is left alone for a while.
func (r *reader) circuit(f field) Circuit {
	if node, ok := f.node.(*ast.StringNode); ok && node.Value == circuitOff {
		return Circuit{}
	}
	s := r.mapping(f, "failures", "cool_down")
	return Circuit{
		Failures: r.integer(s["failures"], defaultFailures, mostFailures),
		CoolDown: r.duration(s["cool_down"], defaultCoolDown),
	}
}

func (r *reader) deadlines(p Provider, timeout, giveUp field) {
	if p.Timeout < p.GiveUp || p.GiveUp <= 0 { // the latter is reported already
		return
	}
	line := giveUp.line
	if !giveUp.present() {
		line = timeout.line
	}
	r.fail(line, "provider %s: timeout (%s) must be shorter than give_up (%s)", p.Name, p.Timeout, p.GiveUp)
}

func (r *reader) models(provider, f field, p Provider) map[string]providers.Profile {
	models := map[string]providers.Profile{}
	for _, entry := range r.entries(f) {
		if strings.ContainsFunc(entry.key, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }) || entry.key == "" {
			r.fail(entry.line, "%s: a model's name has no white space", entry.name)
		}
		models[entry.key] = r.profile(entry, p)
	}
	if len(models) == 0 {
		line := f.line
		if !f.present() {
			line = provider.line
		}
		r.lacks(line, "%s declares no models", provider.name)
	}
	return models
}

func (r *reader) profile(f field, p Provider) providers.Profile {
	s := r.mapping(f, append([]string{
		"context_window", "tokenizer", "system_role", "temperature", "max_tokens_field", "structured_output", "price",
	}, hostingKeys...)...)
	profile := providers.Profile{
		BaseURL:          p.BaseURL,
		Model:            f.key,
		Source:           p.Source,
		ContextWindow:    r.integer(s["context_window"], 0, math.MaxInt32),
		Tokenizer:        r.text(s["tokenizer"], ""),
		SystemRole:       r.text(s["system_role"], ""),
		Temperature:      r.text(s["temperature"], ""),
		MaxTokensField:   r.text(s["max_tokens_field"], ""),
		StructuredOutput: r.text(s["structured_output"], ""),

		Reconcile:         p.Reconcile,
		IdempotencyHeader: p.Idempotent,
	}
	r.hosting(&profile, s)
	if s["price"].present() {
		p.Prices[f.key] = r.price(s["price"])
	}
	profile = profile.WithDefaults()
	if r.err == nil {
		r.blame(f, s, profile.Validate())
	}
	return profile
}

// blame puts each complaint about a profile at the line of the field that it begins with.
func (r *reader) blame(f field, fields map[string]field, err error) {
	if err == nil {
		return
	}
	complaints := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		complaints = joined.Unwrap()
	}
	for _, complaint := range complaints {
		line := f.line
		if name, _, ok := strings.Cut(complaint.Error(), ":"); ok && fields[name].present() {
			line = fields[name].line
		}
		r.fail(line, "%s.%v", f.name, complaint)
	}
}
