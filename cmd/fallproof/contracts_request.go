package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
	"github.com/fallproof/fallproof/providers/openai"
	"github.com/fallproof/fallproof/providers/secrets"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/suites/certify"
)

// previewedAttempt stands where a request bears the id of its attempt.
const previewedAttempt = "00000000-0000-0000-0000-000000000000"

// shownRequest is a request as scripts read it.
type shownRequest struct {
	Contract      string            `json:"contract"`
	Case          string            `json:"case"`
	Target        string            `json:"target"`
	Method        string            `json:"method"`
	URL           string            `json:"url"`
	Header        map[string]string `json:"header"`
	Body          string            `json:"body"`       // byte for byte as it would be sent, but for keys
	Rendered      *string           `json:"rendered"`   // what the model reads, BOS included; null where no chat template is declared, or it fails
	Problems      []string          `json:"problems"`   // for which certification would fail the prompt
	Unverified    []string          `json:"unverified"` // what cannot be known of it from here
	InputTokens   *int              `json:"input_tokens"`
	Tokenizer     string            `json:"tokenizer"`
	OutputTokens  *int              `json:"output_tokens"` // at most
	ContextWindow int               `json:"context_window,omitzero"`
	Price         *float64          `json:"price"` // at most, for this one call
}

func (p *program) showRequest(c *config.Config, contract *contracts.Contract, name, target string, asJSON bool) error {
	each, ok := contract.CaseNamed(name)
	if !ok {
		names := make([]string, len(contract.Cases))
		for i, known := range contract.Cases {
			names[i] = fmt.Sprintf("%q", known.Name)
		}
		return usagef("contract %s has no case %q; there are %s", contract.Name, name, strings.Join(names, ", "))
	}
	pairs, err := pairsOf(c, contract, target)
	if err != nil {
		return err
	}
	if len(pairs) == 0 {
		return usagef("contract %s has no route in the configuration: name a target with --target PROVIDER/MODEL", contract.Name)
	}
	shown, err := preview(c, pairs[0], each)
	if err != nil {
		return failed(err)
	}
	if asJSON {
		return p.printJSON(shown)
	}
	text, err := shown.text(p)
	if err != nil {
		return failed(err)
	}
	return p.print(text)
}

// preview builds the request as certification and service do, by the client that would send it.
func preview(c *config.Config, pair certify.Pair, each contracts.Case) (shownRequest, error) {
	shown := shownRequest{
		Contract: pair.Contract.Name, Case: each.Name, Target: pair.Target.String(), Method: http.MethodPost,
		Header: map[string]string{}, Tokenizer: pair.Profile.Tokenizer, ContextWindow: pair.Profile.ContextWindow,
	}
	bound, err := binding.Bind(pair.Contract, pair.Target, pair.Profile)
	if err != nil {
		return shown, err
	}
	request, err := bound.Request(each.Input)
	if err != nil {
		return shown, err
	}
	request.AttemptID = previewedAttempt
	provider, _ := c.Provider(pair.Target.Provider)
	client := openai.New(openai.Config{BaseURL: provider.BaseURL, APIKey: keyStandIn(provider)})
	defer client.Close()
	address, header, body, err := client.Preview(request)
	if err != nil {
		return shown, err
	}
	hidden := c.Scrubber() // a base_url or an input may hold a key
	shown.URL, shown.Body = hidden.Text(address), hidden.Text(string(body))
	for name := range header {
		shown.Header[name] = header.Get(name)
	}
	if err := shown.read(pair, each, request, hidden); err != nil {
		return shown, err
	}
	tokens, counted, err := certify.Count(request.Profile, request.Messages)
	if err != nil { // which is among the problems
		counted = false
	}
	known := costsOf(c, pair, certify.Forecast{Calls: 1, InputTokens: tokens, Counted: counted, OutputTokens: request.MaxOutputTokens})
	shown.InputTokens, shown.OutputTokens, shown.Price = known.InputTokens, known.OutputTokens, known.Price
	return shown, nil
}

// read fills in what the model reads of a request, and what is wrong with it.
func (s *shownRequest) read(pair certify.Pair, each contracts.Case, request providers.Request, hidden secrets.Scrubber) error {
	wire, err := request.Profile.WireMessages(request.Messages)
	if err != nil {
		return err
	}
	alone := *pair.Contract
	alone.Cases = []contracts.Case{each}
	s.Problems, s.Unverified = []string{}, []string{}
	for _, f := range prompt.Judge(&alone, pair.Target, pair.Profile, certify.Count) {
		if f.Fails() {
			s.Problems = append(s.Problems, hidden.Text(fmt.Sprintf("%s: %s", f.Reason, f.Detail)))
		} else {
			s.Unverified = append(s.Unverified, hidden.Text(f.Detail))
		}
	}
	if rendered, declared, err := chattemplate.Prompt(request.Profile, wire); declared && err == nil {
		rendered = hidden.Text(rendered)
		s.Rendered = &rendered
	}
	return nil
}

// keyStandIn is in place of a key, which need not be there to see what is sent with it.
func keyStandIn(provider config.Provider) string {
	if cmp.Or(provider.APIKeyEnv, provider.APIKeyFile) == "" {
		return ""
	}
	return "not-shown"
}

func (s shownRequest) text(p *program) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", s.Method, s.URL)
	for _, name := range slices.Sorted(maps.Keys(s.Header)) {
		fmt.Fprintf(&b, "%s: %s\n", p.paint(strong, name), s.Header[name])
	}
	body := jsontext.Value(bytes.Clone([]byte(s.Body)))
	if err := body.Indent(jsontext.WithIndent("  ")); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "\n%s\n\n", printable(string(body)))
	if s.Rendered != nil {
		fmt.Fprintf(&b, "%s\n\n%s\n\n", p.paint(strong, "as the model reads it, by its chat template and with the BOS that the server adds:"), printable(*s.Rendered))
	}
	for _, problem := range s.Problems {
		fmt.Fprintf(&b, "%s: %s\n", p.paint(bad, "error"), visible(problem))
	}
	for _, unverified := range s.Unverified {
		fmt.Fprintf(&b, "%s: %s\n", p.paint(doubt, "not verified"), visible(unverified))
	}
	words := "not counted"
	switch {
	case s.InputTokens == nil && s.Tokenizer != providers.TokenizerNone:
		words = "not counted: the prompt cannot be rendered"
	case s.InputTokens != nil:
		words = fmt.Sprintf("%d tokens in by %s", *s.InputTokens, s.Tokenizer)
	}
	if s.OutputTokens != nil {
		words += fmt.Sprintf(", at most %d out", *s.OutputTokens)
	}
	if s.ContextWindow > 0 {
		words += fmt.Sprintf(", of a window of %d", s.ContextWindow)
	}
	if s.Price != nil {
		words += ", at most " + money(*s.Price)
	}
	fmt.Fprintf(&b, "%s; %d bytes, sent without the white space shown here\n", words, len(s.Body))
	return b.String(), nil
}

// printable is visible for a text of several lines.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	return strings.Join(lines, "\n")
}
