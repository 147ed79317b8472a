package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Answering names a way to answer questions about earlier requests; the package comment describes each.
type Answering string

const (
	Honest     Answering = "honest"
	Absent     Answering = "absent"
	Unfiltered Answering = "unfiltered"
	Failing    Answering = "failing"
	Slowly     Answering = "slow"
	Never      Answering = "silent"
	HangingUp  Answering = "dropping"
	Garbled    Answering = "garbled"
	Halfway    Answering = "half-body"
)

// Answerings are all ways to answer questions, in the order in which the documentation lists them.
func Answerings() []Answering {
	return []Answering{Honest, Absent, Unfiltered, Failing, Slowly, Never, HangingUp, Garbled, Halfway}
}

// Candour is how far a model's word about earlier requests can be trusted. The zero value is honest.
// [ParseCandour] reads its text form.
type Candour struct {
	Answering  Answering
	Times      int           // absent: for so many questions, then honest; 0 = until changed
	Status     int           // failing: the status; 0 = 500
	RetryAfter time.Duration // failing: the header; 0 = none
	Delay      time.Duration // slow
}

// ParseCandour reads NAME or NAME:ARGUMENT. The error names what would have been allowed.
func ParseCandour(text string) (Candour, error) {
	name, argument, given := strings.Cut(text, ":")
	c := Candour{Answering: Answering(name)}
	if !slices.Contains(Answerings(), c.Answering) {
		return Candour{}, fmt.Errorf("a way to answer questions is not called %q; want one of %v", name, Answerings())
	}
	if given && argument == "" {
		return Candour{}, fmt.Errorf("answering questions %q: nothing stands after the colon", text)
	}
	if err := c.setArgument(argument); err != nil {
		return Candour{}, fmt.Errorf("answering questions %q: %w", text, err)
	}
	return c, nil
}

func (c *Candour) setArgument(argument string) error {
	switch c.Answering {
	case Absent:
		return c.setTimes(argument)
	case Failing:
		status, retryAfter, _ := strings.Cut(argument, ":")
		if err := setStatus(&c.Status, status, 400, 599); err != nil {
			return err
		}
		return setDuration(&c.RetryAfter, retryAfter, 0)
	case Slowly:
		return setDuration(&c.Delay, argument, defaultLate)
	}
	if argument != "" {
		return fmt.Errorf("%s takes no argument", c.Answering)
	}
	return nil
}

func (c *Candour) setTimes(argument string) error {
	if argument == "" {
		return nil
	}
	n, err := strconv.Atoi(argument)
	if err != nil || n < 1 {
		return fmt.Errorf("want a number of questions, not %q", argument)
	}
	c.Times = n
	return nil
}

// String is the text form that [ParseCandour] reads.
func (c Candour) String() string {
	switch {
	case c.Answering == "":
		return string(Honest)
	case c.Answering == Absent && c.Times > 0:
		return fmt.Sprintf("%s:%d", c.Answering, c.Times)
	case c.Answering == Slowly:
		return fmt.Sprintf("%s:%s", c.Answering, c.Delay)
	case c.Answering == Failing && c.RetryAfter > 0:
		return fmt.Sprintf("%s:%d:%s", c.Answering, c.status(), c.RetryAfter)
	case c.Answering == Failing && c.Status != 0:
		return fmt.Sprintf("%s:%d", c.Answering, c.Status)
	}
	return string(c.Answering)
}

func (c Candour) status() int {
	if c.Status == 0 {
		return http.StatusInternalServerError
	}
	return c.Status
}

// check refuses a candour built by hand that the server could not act out.
func (c Candour) check() error {
	if c.Answering != "" && !slices.Contains(Answerings(), c.Answering) {
		return fmt.Errorf("a way to answer questions is not called %q; want one of %v", c.Answering, Answerings())
	}
	if c.Delay < 0 || c.RetryAfter < 0 || c.Times < 0 {
		return fmt.Errorf("answering questions %s: a duration or number is negative", c.Answering)
	}
	if c.Status != 0 && http.StatusText(c.Status) == "" {
		return fmt.Errorf("answering questions %s: status %d does not exist", c.Answering, c.Status)
	}
	return nil
}
