package job

// State is an attempt's state.
type State string

const (
	Starting   State = "starting"   // waits for its turn; moved on by its doorbell, by giving up, or by cancel
	Running    State = "running"    // may have been sent; moved on by the replica that holds its lease, or by the sweep
	Unknown    State = "unknown"    // in doubt; moved on by a late answer or by an external process
	Released   State = "released"   // nobody waits for it any more, yet it may still win
	Succeeded  State = "succeeded"  // holds the job's result
	Failed     State = "failed"     // a definite failure
	Cancelled  State = "cancelled"  // fenced by an external process; can never win
	Superseded State = "superseded" // another attempt holds the result, or nothing more can be heard of it
)

// States are all states of an attempt, in the order of a life.
var States = []State{Starting, Running, Unknown, Released, Succeeded, Failed, Cancelled, Superseded}

// Blocks says whether an attempt in this state forbids a new one under its job.
func (s State) Blocks() bool { return s == Starting || s == Running || s == Unknown }

// MayWin says whether an attempt in this state may still take the result slot.
func (s State) MayWin() bool { return s == Running || s == Unknown || s == Released }

// JobState is a job's state, always derived by [Derive].
type JobState string

const (
	JobPending   JobState = "pending"   // a step is due and no attempt stands for it yet
	JobRunning   JobState = "running"   // an attempt is starting or running
	JobUnknown   JobState = "unknown"   // an attempt is in doubt, or a released one is still heard
	JobSucceeded JobState = "succeeded" // final
	JobFailed    JobState = "failed"    // no automatic step is left; an explicit new attempt may reopen it
	JobCancelled JobState = "cancelled" // final
)

// JobStates are all states of a job.
var JobStates = []JobState{JobPending, JobRunning, JobUnknown, JobSucceeded, JobFailed, JobCancelled}

// Final says whether nothing can change the job's outcome any more.
func (s JobState) Final() bool { return s == JobSucceeded || s == JobCancelled }

// Derive is the one place where a job's state is decided. completed says whether the result slot is
// taken, cancelled whether the job was cancelled, stepDue whether an automatic step is still owed.
func Derive(completed, cancelled bool, attempts []Attempt, stepDue bool) JobState {
	if completed {
		return JobSucceeded
	}
	if cancelled {
		return JobCancelled
	}
	active, doubtful := false, false
	for _, attempt := range attempts {
		switch attempt.State {
		case Starting, Running:
			active = true
		case Unknown:
			doubtful = true
		case Released:
			doubtful = doubtful || attempt.Heard
		}
	}
	switch {
	case active:
		return JobRunning
	case doubtful:
		return JobUnknown
	case stepDue:
		return JobPending
	default:
		return JobFailed
	}
}
