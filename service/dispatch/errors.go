package dispatch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fallproof/fallproof/service/store"
)

// ErrShuttingDown says that this replica takes nothing in any more. Nothing was stored.
var ErrShuttingDown = errors.New("the service is shutting down")

// UnknownContract says that no contract of that name is served. Nothing was stored.
type UnknownContract struct{ Name string }

func (e *UnknownContract) Error() string { return fmt.Sprintf("no contract is named %q", e.Name) }

// UnknownTarget says that the target is not configured, or none was sent and the contract has no route. Nothing
// was stored.
type UnknownTarget struct {
	Target string // as sent; "" = none
	Detail string
}

func (e *UnknownTarget) Error() string { return e.Detail }

// InvalidInput says that what was sent does not fit the contract. Nothing was stored.
type InvalidInput struct {
	Pointers []string // where; may be empty
	Detail   string
}

func (e *InvalidInput) Error() string {
	if len(e.Pointers) == 0 {
		return e.Detail
	}
	return strings.Join(e.Pointers, ", ") + ": " + e.Detail
}

// final says whether err is the store's answer to a change of an existing attempt. Others of its own
// errors can then only concern the next step, which is decided anew when the change is repeated. Any
// other error may hide a transaction that did commit.
func final(err error) bool {
	var (
		illegal *store.IllegalTransition
		early   *store.NotYet
	)
	return err == nil || errors.As(err, &illegal) || errors.As(err, &early) || errors.Is(err, store.ErrNotFound)
}

// decided is final for the creation of a job.
func decided(err error) bool {
	var conflict *store.KeyConflict
	return final(err) || errors.As(err, &conflict)
}

// answered is final for an explicit attempt, and for what an owner does to a job.
func answered(err error) bool {
	var (
		blocked  *store.Blocked
		unproven *store.NotCertified
	)
	return decided(err) || errors.Is(err, store.ErrJobFinal) || errors.Is(err, store.ErrAttemptsExhausted) ||
		errors.As(err, &blocked) || errors.As(err, &unproven)
}
