// Package binding joins a contract to one target: the requests that it sends there and the judgement
// of what comes back.
//
// It promises that the service and certification use one code path, so that what was certified is what
// runs. Everything is compiled once; a [Binding] is safe for concurrent use.
//
// It sends nothing and reads no clock: providers send, and providers.Classify calls the judgement.
package binding

import (
	"fmt"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/contracts/structure"
	"github.com/fallproof/fallproof/providers"
)

// Binding is one contract at one target.
type Binding struct {
	contract  *contracts.Contract
	target    providers.Target
	profile   providers.Profile
	templates *prompt.Templates
	checker   *structure.Checker
	program   *business.Program
	effective string
	proof     string
}

// Bind compiles messages, schema and checks. Its error says which of them is at fault.
func Bind(c *contracts.Contract, target providers.Target, profile providers.Profile) (*Binding, error) {
	checker, err := structure.Compile(c)
	if err != nil {
		return nil, fmt.Errorf("contract %s: %w", c.Name, err)
	}
	program, err := business.Compile(c)
	if err != nil {
		return nil, fmt.Errorf("contract %s: %w", c.Name, err)
	}
	return Join(c, checker, program, target, profile)
}

// Join is Bind of a contract whose schema and checks are compiled already, which they need be once for all targets.
func Join(c *contracts.Contract, checker *structure.Checker, program *business.Program, target providers.Target, profile providers.Profile) (*Binding, error) {
	templates, err := prompt.Parse(c, target)
	if err != nil {
		return nil, fmt.Errorf("contract %s at %s: %w", c.Name, target, err)
	}
	return &Binding{
		contract: c, target: target, profile: profile, templates: templates, checker: checker, program: program,
		effective: c.EffectiveDigest(target), proof: c.ProofDigest(target, profile),
	}, nil
}

// Contract is the contract that was bound.
func (b *Binding) Contract() *contracts.Contract { return b.contract }

// Target is the target that was bound.
func (b *Binding) Target() providers.Target { return b.target }

// Profile is the target's profile that was bound.
func (b *Binding) Profile() providers.Profile { return b.profile }

// ProofDigest names the proof that this binding needs; see [contracts.Contract.ProofDigest].
func (b *Binding) ProofDigest() string { return b.proof }

// EffectiveDigest is the contract's digest for this target, without the profile.
func (b *Binding) EffectiveDigest() string { return b.effective }

// Structure is the compiled schema, for who wants its findings one by one.
func (b *Binding) Structure() *structure.Checker { return b.checker }

// Business is the compiled checks.
func (b *Binding) Business() *business.Program { return b.program }

// Request is what the target is asked for one input. It errs where the messages cannot be rendered
// from it, with a *[prompt.MissingError] where a variable is missing. AttemptID is the caller's to set.
func (b *Binding) Request(input map[string]any) (providers.Request, error) {
	messages, err := b.templates.Render(input)
	if err != nil {
		return providers.Request{}, err
	}
	return providers.Request{
		Target: b.target, Profile: b.profile, Messages: messages,
		SchemaName: b.contract.SchemaName, Schema: b.contract.Schema,
		Temperature: b.contract.Sampling.Temperature, MaxOutputTokens: b.contract.Sampling.MaxOutputTokens,
	}, nil
}

// Unwrap is what of an answer's content is the answer, for [providers.Rules].
func (b *Binding) Unwrap(content string) string { return b.checker.Unwrap(content) }

// Judge is the check of one answer, for [providers.Rules]: structure first, and business where
// structure holds, because checks presume it. expected is nil where there is none.
func (b *Binding) Judge(input, expected any) func(content string) []providers.Violation {
	return func(content string) []providers.Violation {
		output, findings := b.checker.Judge(content)
		var violations []providers.Violation
		for _, f := range findings {
			violations = append(violations, providers.Violation{
				InstancePath: f.InstancePath, Detail: fmt.Sprintf("%s: %s", f.Reason, f.Detail),
			})
		}
		if len(violations) > 0 {
			return violations
		}
		for _, f := range b.program.Judge(input, output, expected) {
			violations = append(violations, providers.Violation{Detail: fmt.Sprintf("check %q %s", f.Check, f.Detail)})
		}
		return violations
	}
}
