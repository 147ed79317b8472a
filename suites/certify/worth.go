package certify

import (
	"fmt"
	"strings"
	"sync"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/lint"
	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/contracts/structure"
	"github.com/fallproof/fallproof/providers"
)

// Unfit is a contract by which nothing can be certified, with the targets at which it was to be run. Nobody was
// called for it, and it has no record.
type Unfit struct {
	Contract string   `json:"contract"`
	Targets  []string `json:"targets"` // PROVIDER/MODEL
	Why      string   `json:"why"`     // and what to do, or the command that shows more
}

func (u Unfit) String() string {
	return fmt.Sprintf("contract %s can certify nothing: %s", u.Contract, u.Why)
}

// notRun is the same of a run that did without it.
func (u Unfit) notRun() string {
	return fmt.Sprintf("not run at %s: %s", strings.Join(u.Targets, ", "), u)
}

// UnfitError says that a run is left with nothing to certify.
type UnfitError struct{ Contracts []Unfit }

func (e *UnfitError) Error() string {
	var lines []string
	for _, u := range e.Contracts {
		lines = append(lines, u.String())
	}
	return strings.Join(lines, "\n")
}

// once has what is found of a contract by its digest, as it is without a target's variant: however many targets it is
// certified at, it is compiled and tried once in a process.
type once struct{ found sync.Map }

var compilations, worths once

func of[T any](o *once, c *contracts.Contract, find func(*contracts.Contract) T) T {
	first, _ := o.found.LoadOrStore(c.EffectiveDigest(providers.Target{}), sync.OnceValue(func() T { return find(c) }))
	return first.(func() T)()
}

// compilation is a contract's schema and checks, nil where they do not compile, and what makes it certify nothing.
type compilation struct {
	faults  []lint.Problem
	checker *structure.Checker
	program *business.Program
}

func compile(c *contracts.Contract) compilation {
	return of(&compilations, c, func(c *contracts.Contract) (found compilation) {
		found.faults, found.checker, found.program = lint.Faults(c)
		return found
	})
}

// bind joins the pair's contract to its target.
func (p Pair) bind() (*binding.Binding, error) {
	found := compile(p.Contract)
	if found.checker == nil || found.program == nil {
		return binding.Bind(p.Contract, p.Target, p.Profile) // its error says why not
	}
	return binding.Join(p.Contract, found.checker, found.program, p.Target, p.Profile)
}

type worth struct {
	mutation certification.Mutation
	cases    int // with an expected answer
	faults   []lint.Problem
}

func worthOf(c *contracts.Contract) worth { return of(&worths, c, try) }

func try(c *contracts.Contract) worth {
	found := compile(c)
	if found.checker == nil || found.program == nil {
		return worth{faults: found.faults}
	}
	w := worth{faults: found.faults, mutation: certification.Mutation{Floor: c.MutationFloor}}
	w.mutation.Killed, w.mutation.Total = mutation.Score(c, found.checker, found.program)
	if w.mutation.Total > 0 {
		w.mutation.Score = float64(w.mutation.Killed) / float64(w.mutation.Total)
	}
	for _, each := range c.Cases {
		if each.Expected != nil {
			w.cases++
		}
	}
	return w
}

// unfit is why nothing can be certified by a contract: it has a fault of its own, which no target could make good, or its
// checks let too many wrong answers pass; "" where something can.
func (w worth) unfit(c *contracts.Contract, command func(string) string) string {
	switch {
	case len(w.faults) == 1:
		return w.faults[0].String()
	case len(w.faults) > 1:
		return fmt.Sprintf("%s; %#q lists that and %d more", w.faults[0], command("contracts lint "+c.Name), len(w.faults)-1)
	case w.mutation.Score >= w.mutation.Floor:
		return ""
	}
	words := mutation.Words(w.mutation.Killed, w.mutation.Total, w.cases)
	return fmt.Sprintf("%s, below its mutation_floor %v; %s", words, w.mutation.Floor, w.remedy(c.Name, command))
}

// remedy is what a contract below its floor lacks. Only where wrong answers were tried are there some to list.
func (w worth) remedy(contract string, command func(string) string) string {
	switch {
	case w.cases == 0:
		return "give its cases their expected answers"
	case w.mutation.Total == 0:
		return "give its cases expected answers in which something can be wrong, or say mutation_floor: 0 where nothing can"
	}
	return fmt.Sprintf("%#q lists those that pass", command("contracts lint "+contract))
}

// WhyUnfit is why nothing can be certified by a contract, and what to do about it; "" where something can.
func WhyUnfit(c *contracts.Contract, command func(rest string) string) string {
	return worthOf(c).unfit(c, command)
}

// fit parts the pairs that can be certified from the contracts by which nothing can.
func (o Options) fit() (pairs []Pair, unfit []Unfit) {
	place := map[*contracts.Contract]int{}
	for _, p := range o.Pairs {
		if i, known := place[p.Contract]; known {
			unfit[i].Targets = append(unfit[i].Targets, p.Target.String())
			continue
		}
		why := WhyUnfit(p.Contract, o.Command)
		if why == "" {
			pairs = append(pairs, p)
			continue
		}
		place[p.Contract] = len(unfit)
		unfit = append(unfit, Unfit{p.Contract.Name, []string{p.Target.String()}, why})
	}
	return pairs, unfit
}
