package store

import (
	"time"

	"github.com/fallproof/fallproof/service/job"
)

// TurnArgs is the doorbell of a waiting attempt: a River job, inserted with the attempt, that says its
// turn may have come. It decides nothing; a turn whose attempt is no longer starting does nothing.
type TurnArgs struct {
	Ref       job.Ref `json:"ref"`
	AttemptID string  `json:"attempt_id"`

	// Until is the attempt's next ring as its row has it, for a bell that rings again: that one replaces
	// this one. It is zero for the first bell.
	Until time.Time `json:"until,omitzero"`
}

// Again says whether a bell was heard before, by a replica that is gone or has no slot free.
func (a TurnArgs) Again() bool { return !a.Until.IsZero() }

// Kind names the doorbell to River.
func (TurnArgs) Kind() string { return "attempt_turn" }

// DueArgs is the doorbell of an automatic step about an attempt in doubt. It decides nothing either.
type DueArgs struct {
	Ref       job.Ref     `json:"ref"`
	AttemptID string      `json:"attempt_id"`
	Step      job.DueStep `json:"step"`
	At        time.Time   `json:"at"` // as the attempt's row had it: a step that was put off has a bell of its own
}

// Kind names the doorbell to River.
func (DueArgs) Kind() string { return "attempt_due" }

// QueueName is the River queue of a provider. Provider names are limited to what River accepts.
func QueueName(provider string) string { return "provider_" + provider }
