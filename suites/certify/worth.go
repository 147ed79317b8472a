package certify

import (
	"errors"
	"fmt"
	"sync"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/contracts/structure"
)

// FloorError says that a contract's checks let too many wrong answers pass for anything to be certified by
// them.
type FloorError struct {
	Contract string
	Words    string // the score
	Floor    float64
	Remedy   string // what to do, or the command that shows more
}

func (e *FloorError) Error() string {
	return fmt.Sprintf("contract %s can certify nothing: %s, below its mutation_floor %v; %s", e.Contract, e.Words, e.Floor, e.Remedy)
}

// worths are scores by a contract's digest: each contract is tried once in a process, however many targets
// it is certified at.
var worths sync.Map

type worth struct {
	mutation certification.Mutation
	cases    int // with an expected answer
	err      error
}

func worthOf(c *contracts.Contract) worth {
	once, _ := worths.LoadOrStore(c.Digest(), sync.OnceValue(func() worth { return try(c) }))
	return once.(func() worth)()
}

func try(c *contracts.Contract) worth {
	checker, err := structure.Compile(c)
	if err != nil {
		return worth{err: err}
	}
	program, err := business.Compile(c)
	if err != nil {
		return worth{err: err}
	}
	w := worth{mutation: certification.Mutation{Floor: c.MutationFloor}}
	w.mutation.Killed, w.mutation.Total = mutation.Score(c, checker, program)
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

// checkWorth refuses contracts below their floor, all of them at once.
func checkWorth(options Options) error {
	var faults []error
	asked := map[*contracts.Contract]bool{}
	for _, p := range options.Pairs {
		if asked[p.Contract] {
			continue
		}
		asked[p.Contract] = true
		w := worthOf(p.Contract)
		switch {
		case w.err != nil:
			faults = append(faults, fmt.Errorf("contract %s: %w", p.Contract.Name, w.err))
		case w.mutation.Score < w.mutation.Floor:
			words := mutation.Words(w.mutation.Killed, w.mutation.Total, w.cases)
			faults = append(faults, &FloorError{p.Contract.Name, words, w.mutation.Floor, w.remedy(p.Contract.Name, options.Command)})
		}
	}
	return errors.Join(faults...)
}
