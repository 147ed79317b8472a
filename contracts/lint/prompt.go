package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
)

// messages judges every case's prompt, for the contract's own messages and for each variant, by the
// rules that certification uses; only tokens are nobody's to count here.
func (l *linter) messages() {
	l.prompts(providers.Target{}, "$.messages", "")
	for _, name := range slices.Sorted(maps.Keys(l.c.Variants)) {
		target, err := providers.ParseTarget(name)
		if err != nil { // unreachable: the loader has parsed it
			continue
		}
		l.prompts(target, fmt.Sprintf("$.variants.'%s'", name), "variant "+name+": ")
	}
}

func (l *linter) prompts(target providers.Target, path, label string) {
	for _, f := range prompt.Judge(l.c, target, providers.Profile{SystemRole: "merge"}, uncounted) {
		switch {
		case !f.Fails():
		case f.Case == "":
			l.at(path, Error, "%s%s", label, f.Detail)
		default:
			l.at(path, Error, "%scase %q: %s", label, f.Case, f.Detail)
		}
	}
}

func uncounted(providers.Profile, []providers.Message) (int, bool, error) { return 0, false, nil }
