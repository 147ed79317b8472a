package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fallproof/fallproof/contracts"
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
	for _, f := range once(anywhere(l.c, target)) {
		if f.Fails() {
			l.at(path, Error, "%s%s", label, f.words())
		}
	}
}

// anywhere is what is wrong with the prompts for a target whatever its profile says.
func anywhere(c *contracts.Contract, target providers.Target) []prompt.Finding {
	return prompt.Judge(c, target, providers.Profile{SystemRole: "merge"}, uncounted)
}

func uncounted(providers.Profile, []providers.Message) (int, bool, error) { return 0, false, nil }

// repeated is a finding, and in how many further cases it was found too.
type repeated struct {
	prompt.Finding
	more int
}

// once names each finding once, by the first case that has it. What is too long for the window is one
// finding, however much too long each case is.
func once(findings []prompt.Finding) []repeated {
	var list []repeated
	for _, f := range findings {
		same := func(r repeated) bool {
			return r.Reason == f.Reason && (r.Detail == f.Detail || f.Reason == prompt.WindowExceeded)
		}
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i].more++
		} else {
			list = append(list, repeated{Finding: f})
		}
	}
	return list
}

func (r repeated) words() string {
	switch {
	case r.Case == "" || !r.Fails():
		return r.Detail
	case r.more == 0:
		return fmt.Sprintf("case %q: %s", r.Case, r.Detail)
	default:
		return fmt.Sprintf("case %q and %d more: %s", r.Case, r.more, r.Detail)
	}
}
