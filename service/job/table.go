package job

// Event is what happens to an attempt.
type Event string

const (
	EventCreatedToSend    Event = "created for sending at once"
	EventCreatedToWait    Event = "created to wait"
	EventTurn             Event = "its turn"
	EventNotSent          Event = "orphaned, given up waiting, or unsendable"
	EventAnswer           Event = "valid answer"
	EventFailure          Event = "definite failure"
	EventDoubt            Event = "soft deadline, connection lost, orphaned or shutdown"
	EventResolveFailed    Event = "resolved as failed"
	EventResolveSucceeded Event = "resolved as succeeded"
	EventRelease          Event = "released"
	EventResend           Event = "re-sent with its own key"
	EventCancel           Event = "cancelled"
	EventUnheard          Event = "nothing more can be heard"
)

// Condition is what a transition asks beyond the attempt's state.
type Condition string

const (
	Always    Condition = ""
	SlotFree  Condition = "result slot free" // and then taken by this very transition
	SlotTaken Condition = "result slot taken"
	JobFinal  Condition = "job final"
	HasOwnKey Condition = "sent with its own key"
)

// Facts are what the conditions of the table are about.
type Facts struct {
	SlotTaken bool // the job has its winner already
	Final     bool // the job is final
	HasOwnKey bool // the attempt carried a key that its provider honours: Settling.IdempotencyHeader
}

// Transition is one row of the attempt's lifecycle. From is empty for the rows that create one.
type Transition struct {
	From  State
	Event Event
	When  Condition
	To    State
}

// Table is the whole truth of the attempt machine: what it does not list cannot happen.
var Table = []Transition{
	{"", EventCreatedToSend, Always, Running},
	{"", EventCreatedToWait, Always, Starting},

	{Starting, EventTurn, Always, Running},
	{Starting, EventNotSent, Always, Failed},
	{Starting, EventCancel, Always, Cancelled},

	{Running, EventAnswer, SlotFree, Succeeded},
	{Running, EventAnswer, SlotTaken, Superseded},
	{Running, EventFailure, Always, Failed},
	{Running, EventDoubt, Always, Unknown},
	{Running, EventCancel, Always, Cancelled},
	{Running, EventUnheard, JobFinal, Superseded},

	{Unknown, EventAnswer, SlotFree, Succeeded},
	{Unknown, EventAnswer, SlotTaken, Superseded},
	{Unknown, EventFailure, Always, Failed},
	{Unknown, EventResolveFailed, Always, Failed},
	{Unknown, EventResolveSucceeded, SlotFree, Succeeded},
	{Unknown, EventResolveSucceeded, SlotTaken, Superseded},
	{Unknown, EventRelease, Always, Released},
	{Unknown, EventResend, HasOwnKey, Running},
	{Unknown, EventCancel, Always, Cancelled},
	{Unknown, EventUnheard, JobFinal, Superseded},

	{Released, EventAnswer, SlotFree, Succeeded},
	{Released, EventAnswer, SlotTaken, Superseded},
	{Released, EventFailure, Always, Failed},
	{Released, EventResolveFailed, Always, Failed},
	{Released, EventResolveSucceeded, SlotFree, Succeeded},
	{Released, EventResolveSucceeded, SlotTaken, Superseded},
	{Released, EventCancel, Always, Cancelled},
	{Released, EventUnheard, JobFinal, Superseded},
}

// Next looks a transition up. ok is false where the table has no such row: the event changes nothing.
func Next(from State, event Event, facts Facts) (to State, ok bool) {
	for _, row := range Table {
		if row.From == from && row.Event == event && row.When.holds(facts) {
			return row.To, true
		}
	}
	return "", false
}

func (c Condition) holds(facts Facts) bool {
	switch c {
	case SlotFree:
		return !facts.SlotTaken
	case SlotTaken:
		return facts.SlotTaken
	case JobFinal:
		return facts.Final
	case HasOwnKey:
		return facts.HasOwnKey
	default:
		return true
	}
}
