package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind names a way to behave; the package comment describes each.
type Kind string

const (
	Faithful     Kind = "faithful"
	ExtraKey     Kind = "extra-key"
	Deaf         Kind = "deaf"
	Plausible    Kind = "plausible"
	Fenced       Kind = "fenced"
	Chatty       Kind = "chatty"
	Truncating   Kind = "truncating"
	Refusing     Kind = "refusing"
	Flaky        Kind = "flaky"
	Slow         Kind = "slow"
	Silent       Kind = "silent"
	Late         Kind = "late"
	Dropping     Kind = "dropping"
	HalfBody     Kind = "half-body"
	RateLimited  Kind = "rate-limited"
	Overloaded   Kind = "overloaded"
	Error200     Kind = "error-200"
	EmptyChoices Kind = "empty-choices"
	Redirecting  Kind = "redirecting"
	Renamed      Kind = "renamed"
	Unauthorized Kind = "unauthorized"
)

const (
	holdWord        = "hold"
	defaultSlow     = 150 * time.Millisecond
	defaultLate     = 3 * time.Second
	defaultBackOff  = time.Second
	variantParses   = "parses" // truncating
	variantFiltered = "filter" // refusing
	variantReset    = "reset"  // dropping
)

// Kinds are all ways to behave, in the order in which the documentation lists them.
func Kinds() []Kind {
	return []Kind{
		Faithful, ExtraKey, Deaf, Plausible, Fenced, Chatty, Truncating, Refusing, Flaky, Slow, Late, Silent,
		Dropping, HalfBody, RateLimited, Overloaded, Error200, EmptyChoices, Redirecting, Renamed, Unauthorized,
	}
}

// Personality is how a model behaves. The zero value is faithful. [ParsePersonality] reads its text form.
type Personality struct {
	Kind       Kind
	Hold       bool          // wait for a release first
	Delay      time.Duration // then wait so long
	RetryAfter time.Duration // rate-limited and overloaded: the header; 0 = none
	Status     int           // overloaded and redirecting: the status; 0 = 503 and 307
	Variant    string        // truncating: parses; refusing: filter; dropping: reset; renamed: the model served
}

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
	case Truncating:
		return p.setVariant(argument, variantParses)
	case Refusing:
		return p.setVariant(argument, variantFiltered)
	case Dropping:
		return p.setVariant(argument, variantReset)
	case Renamed:
		p.Variant = argument
		return nil
	}
	if argument != "" {
		return fmt.Errorf("%s takes no argument", p.Kind)
	}
	return nil
}

func (p *Personality) setOverload(argument string) error {
	if _, err := strconv.Atoi(argument); err == nil || argument == "" {
		return setStatus(&p.Status, argument, 500, 599)
	}
	return setDuration(&p.RetryAfter, argument, 0)
}

func (p *Personality) setVariant(argument, allowed string) error {
	if argument != "" && argument != allowed {
		return fmt.Errorf("want %s or nothing after the colon", allowed)
	}
	p.Variant = argument
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

// String is the text form that [ParsePersonality] reads. A delay that no argument can say is left out.
func (p Personality) String() string {
	text := string(p.kind())
	if argument := p.argument(); argument != "" {
		text += ":" + argument
	}
	if !p.Hold {
		return text
	}
	if text == string(Faithful) {
		return holdWord
	}
	return holdWord + ":" + text
}

func (p Personality) argument() string {
	switch {
	case p.Kind == Slow || p.Kind == Late:
		return p.Delay.String()
	case p.RetryAfter > 0:
		return p.RetryAfter.String()
	case p.Status != 0:
		return strconv.Itoa(p.Status)
	}
	return p.Variant
}

func (p Personality) kind() Kind {
	if p.Kind == "" {
		return Faithful
	}
	return p.Kind
}

func (p Personality) status(otherwise int) int {
	if p.Status == 0 {
		return otherwise
	}
	return p.Status
}

// check refuses a personality built by hand that the server could not act out.
func (p Personality) check() error {
	if !slices.Contains(Kinds(), p.kind()) {
		return fmt.Errorf("personality %q is not known; want one of %v", p.Kind, Kinds())
	}
	if p.Delay < 0 || p.RetryAfter < 0 {
		return fmt.Errorf("personality %s: a duration is negative", p.Kind)
	}
	if p.Status != 0 && http.StatusText(p.Status) == "" {
		return fmt.Errorf("personality %s: status %d does not exist", p.Kind, p.Status)
	}
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
