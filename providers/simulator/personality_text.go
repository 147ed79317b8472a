package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParsePersonality reads NAME or NAME:ARGUMENT. The error names what would have been allowed.
func ParsePersonality(text string) (Personality, error) {
	name, argument, given := strings.Cut(text, ":")
	if given && argument == "" {
		return Personality{}, fmt.Errorf("personality %q: nothing stands after the colon", text)
	}
	if name == holdWord {
		return parseHold(argument)
	}
	kind := Kind(name)
	if !slices.Contains(Kinds(), kind) {
		return Personality{}, fmt.Errorf("personality %q is not known; want hold or one of %v", name, Kinds())
	}
	p := Personality{Kind: kind}
	if err := p.setArgument(argument); err != nil {
		return Personality{}, fmt.Errorf("personality %q: %w", text, err)
	}
	return p, nil
}

func parseHold(rest string) (Personality, error) {
	if rest == "" {
		return Personality{Kind: Faithful, Hold: true}, nil
	}
	p, err := ParsePersonality(rest)
	if err != nil {
		return Personality{}, err
	}
	if p.Hold {
		return Personality{}, fmt.Errorf("personality hold:%s: held twice", rest)
	}
	p.Hold = true
	return p, nil
}

// setArgument applies what follows the colon, or the default where nothing does.
func (p *Personality) setArgument(argument string) error {
	argument = p.takeWork(argument)
	switch p.Kind {
	case Slow:
		return setDuration(&p.Delay, argument, defaultSlow)
	case Late:
		return setDuration(&p.Delay, argument, defaultLate)
	case RateLimited:
		return setDuration(&p.RetryAfter, argument, defaultBackOff)
	case Overloaded:
		return p.setOverload(argument)
	case Redirecting:
		return setStatus(&p.Status, argument, 300, 399)
	case Unauthorized:
		return setStatus(&p.Status, argument, 400, 403)
	case Truncating:
		return p.setVariant(argument, variantParses)
	case Refusing:
		return p.setVariant(argument, variantFiltered, variantPrompt)
	case Dropping:
		return p.setVariant(argument, variantReset)
	case Renamed, Retuned:
		p.Variant = argument
		return nil
	case Picky:
		return p.setDislike(argument)
	case Flaky, Looping, Counting, Choking, Turning, Hesitating:
		return setCount(&p.Count, argument)
	}
	if argument != "" {
		return fmt.Errorf("%s takes no argument", p.Kind)
	}
	return nil
}

// takeWork reads the last part of an argument where it says whether the work is done, and returns the rest.
func (p *Personality) takeWork(argument string) string {
	rest, last := "", argument
	if i := strings.LastIndexByte(argument, ':'); i > 0 {
		rest, last = argument[:i], argument[i+1:]
	}
	if !slices.Contains(worksUnseen, p.Kind) || (last != workDone && last != workUndone) {
		return argument
	}
	p.Work = last
	return rest
}

func (p *Personality) setOverload(argument string) error {
	if _, err := strconv.Atoi(argument); err == nil || argument == "" {
		return setStatus(&p.Status, argument, 500, 599)
	}
	return setDuration(&p.RetryAfter, argument, 0)
}

func (p *Personality) setVariant(argument string, allowed ...string) error {
	if argument != "" && !slices.Contains(allowed, argument) {
		return fmt.Errorf("want %s or nothing after the colon", strings.Join(allowed, ", "))
	}
	p.Variant = argument
	return nil
}

func (p *Personality) setDislike(argument string) error {
	argument = cmp.Or(argument, "temperature")
	if _, known := dislikes[argument]; !known {
		return fmt.Errorf("want one of %v after the colon", slices.Sorted(maps.Keys(dislikes)))
	}
	p.Variant = argument
	return nil
}

func setCount(target *int, argument string) error {
	if argument == "" {
		return nil
	}
	n, err := strconv.Atoi(argument)
	if err != nil || n < 1 {
		return fmt.Errorf("want a whole number from 1, not %q", argument)
	}
	*target = n
	return nil
}

func setDuration(target *time.Duration, argument string, otherwise time.Duration) error {
	*target = otherwise
	if argument == "" {
		return nil
	}
	d, err := time.ParseDuration(argument)
	if err != nil || d < 0 {
		return fmt.Errorf("want a duration such as 2s, not %q", argument)
	}
	*target = d
	return nil
}

func setStatus(target *int, argument string, low, high int) error {
	if argument == "" {
		return nil
	}
	status, err := strconv.Atoi(argument)
	if err != nil || status < low || status > high {
		return fmt.Errorf("want a status from %d to %d, not %q", low, high, argument)
	}
	*target = status
	return nil
}

// personalityInName finds the personality that a model's name is or ends in. The longest ending wins, so
// that a name of several words is not taken for its last one.
func personalityInName(model string) (Personality, bool) {
	for start := 0; start < len(model); start++ {
		if start > 0 && !strings.ContainsRune("-/._", rune(model[start-1])) {
			continue
		}
		if p, err := ParsePersonality(model[start:]); err == nil {
			return p, true
		}
	}
	return Personality{}, false
}
