package lint

import (
	"fmt"
	"strings"

	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/contracts/value"
)

// keys warns of checks that ask for what nothing has, be it that a key is misspelt. Where such an expression is reached
// it fails, and a right answer with it; behind || or has(), or in a branch that no case takes, it is silent and proves nothing.
func (l *linter) keys() {
	for i, check := range l.c.Checks {
		read, err := business.Places(check)
		if err != nil {
			continue // compiling has said so
		}
		told := ""
		for _, place := range read {
			why := l.absent(place)
			if why == "" || told != "" && strings.HasPrefix(place.Of+place.Path, told) {
				continue
			}
			told = place.Of + place.Path + "/"
			l.at(fmt.Sprintf("$.checks[%d]", i), Warning, "check %q reads %s: %s", check.Name, spelt(place), why)
		}
	}
}

// absent is why nothing is ever read at a place; "" where something may be.
func (l *linter) absent(place business.Place) string {
	if place.Of != "input" {
		if mutation.Excludes(l.c, place.Path) {
			return "no answer has such a key, by the schema"
		}
		return ""
	}
	for _, each := range l.c.Cases {
		if has(each.Input, strings.Split(place.Path, "/")[1:]) {
			return ""
		}
	}
	if len(l.c.Cases) == 0 {
		return ""
	}
	return "no case's input has that"
}

// has reports whether something is at a place of an input.
func has(v any, steps []string) bool {
	if len(steps) == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		inner, ok := v[value.Token(steps[0])]
		return ok && has(inner, steps[1:])
	case []any:
		for _, each := range v {
			if steps[0] == "*" && has(each, steps[1:]) {
				return true
			}
		}
	}
	return false
}

// spelt is a place as an expression has it.
func spelt(place business.Place) string {
	text := place.Of
	for _, step := range strings.Split(place.Path, "/")[1:] {
		if step == "*" {
			text += "[]"
			continue
		}
		text += "." + value.Token(step)
	}
	return text
}
