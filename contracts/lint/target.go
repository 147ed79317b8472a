package lint

import (
	"fmt"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
)

// At lists what is wrong with a contract at one target: its variant, the roles that the target takes, the
// window, and what of the schema its strict mode may refuse. count is the target's own. What cannot be
// verified there is a warning, unless the contract requires it.
func At(c *contracts.Contract, target providers.Target, profile providers.Profile, count prompt.Counter) []Problem {
	l := &linter{c: c}
	path := "$.messages"
	if _, varies := c.Variants[target.String()]; varies {
		path = fmt.Sprintf("$.variants.'%s'", target)
	}
	unverified := map[string]bool{}
	for _, f := range prompt.Judge(c, target, profile, count) {
		words := f.Detail
		if f.Case != "" && f.Fails() {
			words = fmt.Sprintf("case %q: %s", f.Case, f.Detail)
		}
		switch {
		case f.Fails() || c.Requires(contracts.RequireTokens):
			l.at(path, Error, "at %s: %s", target, words)
		case !unverified[f.Detail]:
			unverified[f.Detail] = true
			l.at(path, Warning, "at %s: not verified: %s", target, words)
		}
	}
	if profile.StructuredOutput == providers.StructuredJSONSchema {
		if refused := strictWarnings(c.Schema); len(refused) > 0 {
			l.report(c.SchemaFile, 0, Warning, "at %s the schema is sent as strict, and %d of its features may be refused; first: %s", target, len(refused), refused[0])
		}
	}
	return l.problems
}
