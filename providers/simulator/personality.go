package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
	Retuned      Kind = "retuned"
	Unauthorized Kind = "unauthorized"

	// Spellings of the answer, see bend.go.
	Footnote      Kind = "footnote"
	Thinking      Kind = "thinking"
	RawNewline    Kind = "raw-newline"
	NotANumber    Kind = "not-a-number"
	DuplicateKey  Kind = "duplicate-key"
	ByteOrderMark Kind = "byte-order-mark"
	LoneSurrogate Kind = "lone-surrogate"
	Looping       Kind = "looping"
	Babbling      Kind = "babbling"
	Shouting      Kind = "shouting"
	Filling       Kind = "filling"
	Escaping      Kind = "escaping"
	Decimal       Kind = "decimal"

	// What a model makes of an order to break its schema.
	Unenforcing Kind = "unenforcing"
	Complying   Kind = "complying"

	// What becomes of a prompt on a server of one's own, see hosting.go.
	Doubling      Kind = "doubling"
	Rewriting     Kind = "rewriting"
	Obeying       Kind = "obeying"
	Concatenating Kind = "concatenating"

	Picky    Kind = "picky"
	Cached   Kind = "cached"
	Counting Kind = "counting"
	Choking  Kind = "choking"
	Turning  Kind = "turning"
	Portal   Kind = "portal"
	Mute     Kind = "mute"

	Hesitating Kind = "hesitating"
	Anonymous  Kind = "anonymous"
)

const (
	holdWord        = "hold"
	defaultSlow     = 150 * time.Millisecond
	defaultLate     = 3 * time.Second
	defaultBackOff  = time.Second
	variantParses   = "parses" // truncating
	variantFiltered = "filter" // refusing
	variantPrompt   = "prompt" // refusing
	variantReset    = "reset"  // dropping
	workDone        = "executed"
	workUndone      = "unexecuted"
)

// worksUnseen are the kinds of which a client cannot tell whether they did the work, so that their text form says it.
var worksUnseen = []Kind{Silent, Dropping, Overloaded}

// Kinds are all ways to behave, in the order in which the documentation lists them.
func Kinds() []Kind {
	return []Kind{
		Faithful, ExtraKey, Deaf, Plausible, Fenced, Chatty, Truncating, Refusing, Flaky, Slow, Late, Silent,
		Dropping, HalfBody, RateLimited, Overloaded, Error200, EmptyChoices, Redirecting, Renamed, Retuned, Unauthorized,
		Footnote, Thinking, RawNewline, NotANumber, DuplicateKey, ByteOrderMark, LoneSurrogate, Looping, Babbling,
		Shouting, Filling, Escaping, Decimal, Unenforcing, Complying, Picky, Cached, Counting, Choking, Turning, Portal, Mute,
		Hesitating, Anonymous,
		Doubling, Rewriting, Obeying, Concatenating,
	}
}

// Personality is how a model behaves. The zero value is faithful. [ParsePersonality] reads its text form.
type Personality struct {
	Kind       Kind
	Hold       bool          // wait for a release first
	Delay      time.Duration // then wait so long
	RetryAfter time.Duration // rate-limited and overloaded: the header; 0 = none
	Status     int           // overloaded, redirecting and unauthorized: the status; 0 = 503, 307 and 401
	Variant    string        // truncating: parses; refusing: filter or prompt; dropping: reset; renamed: the model served; retuned: the fingerprint; picky: of what
	Count      int           // flaky, looping, counting, choking, turning, hesitating: how many; 0 = as documented
	Work       string        // silent, dropping, overloaded: executed or unexecuted; "" = as the kind does by itself
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
	first := p.firstArgument()
	if first == "" || p.Work == "" {
		return first + p.Work
	}
	return first + ":" + p.Work
}

func (p Personality) firstArgument() string {
	switch {
	case p.Kind == Slow || p.Kind == Late:
		return p.Delay.String()
	case p.RetryAfter > 0:
		return p.RetryAfter.String()
	case p.Status != 0:
		return strconv.Itoa(p.Status)
	case p.Count > 0:
		return strconv.Itoa(p.Count)
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

// executes says whether a request puts the model to work, whatever the client gets to see of it.
func (p Personality) executes() bool {
	if p.Work != "" {
		return p.Work == workDone
	}
	switch p.kind() {
	case Refusing:
		return p.Variant != variantPrompt
	case Silent, RateLimited, Overloaded, Unauthorized, Redirecting, Portal:
		return false
	}
	return true
}

// check refuses a personality built by hand that the server could not act out.
func (p Personality) check() error {
	if !slices.Contains(Kinds(), p.kind()) {
		return fmt.Errorf("personality %q is not known; want one of %v", p.Kind, Kinds())
	}
	if p.Delay < 0 || p.RetryAfter < 0 {
		return fmt.Errorf("personality %s: a duration is negative", p.Kind)
	}
	if p.Count < 0 {
		return fmt.Errorf("personality %s: a count is negative", p.Kind)
	}
	if p.Status != 0 && http.StatusText(p.Status) == "" {
		return fmt.Errorf("personality %s: status %d does not exist", p.Kind, p.Status)
	}
	if p.Work != "" && (!slices.Contains(worksUnseen, p.kind()) || (p.Work != workDone && p.Work != workUndone)) {
		return fmt.Errorf("personality %s: %q does not say whether the work is done", p.Kind, p.Work)
	}
	return nil
}
