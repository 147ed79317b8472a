package lint

import (
	"fmt"
	"slices"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/tokens"
)

// At lists what is wrong with a contract at one target, beyond what [Examine] finds whatever the target is: the
// roles that the target takes, the window, and what of the schema its strict mode may refuse. count is the
// target's own. What cannot be verified there is a warning, unless the contract requires it.
func At(c *contracts.Contract, target providers.Target, profile providers.Profile, count prompt.Counter) []Problem {
	l := &linter{c: c}
	path := "$.messages"
	if _, varies := c.Variants[target.String()]; varies {
		path = fmt.Sprintf("$.variants.'%s'", target)
	}
	everywhere := anywhere(c, target)
	here := slices.DeleteFunc(prompt.Judge(c, target, profile, count), func(f prompt.Finding) bool {
		return f.Fails() && slices.Contains(everywhere, f)
	})
	for _, f := range once(here) {
		switch {
		case f.Fails():
			l.at(path, Error, "at %s: %s", target, f.words())
		case c.Requires(contracts.RequireTokens):
			l.at(path, Error, "at %s: %s, and the contract requires it: declare it in the target's profile, or take tokens out of require", target, f.words())
		default:
			l.at(path, Warning, "at %s: not verified: %s", target, f.words())
		}
	}
	l.answersFit(target, profile)
	if c.Requires(contracts.RequireEnforcement) && profile.StructuredOutput != providers.StructuredJSONSchema {
		l.at("$.require", Error, "at %s: no schema is sent (structured_output: %s), and the contract requires it to be enforced: say structured_output: json_schema, or take enforcement out of require",
			target, profile.StructuredOutput)
	}
	if profile.StructuredOutput == providers.StructuredJSONSchema {
		if refused := strictWarnings(c.Schema); len(refused) > 0 {
			l.report(c.SchemaFile, 0, Warning, "at %s the schema is sent as strict, and %d of its features may be refused; first: %s", target, len(refused), refused[0])
		}
	}
	return l.problems
}

// answersFit holds the expected answers, as short as JSON can be, against the most that may be answered.
func (l *linter) answersFit(target providers.Target, profile providers.Profile) {
	tokenizer, err := tokens.Of(profile)
	limit := l.c.Sampling.MaxOutputTokens
	if err != nil || tokenizer == nil || limit == 0 {
		return
	}
	for _, each := range l.c.Cases {
		if each.Expected == nil {
			continue
		}
		if n, err := tokenizer.Count(string(value.Encode(each.Expected))); err == nil && n > limit {
			l.report(each.File, 0, Error, "at %s: the expected answer takes %d tokens, and max_output_tokens is %d: it would be cut", target, n, limit)
		}
	}
}

// Renders reports whether [Examine] finds nothing wrong with the prompts for a target.
func Renders(c *contracts.Contract, target providers.Target) bool {
	return !slices.ContainsFunc(anywhere(c, target), prompt.Finding.Fails)
}
