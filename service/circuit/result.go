package circuit

import "github.com/fallproof/fallproof/providers"

// Result is what one send says about its target.
type Result int

// Results.
const (
	Neither Result = iota // says nothing about the next job
	Success
	Failure
)

func (r Result) String() string {
	switch r {
	case Success:
		return "success"
	case Failure:
		return "failure"
	default:
		return "neither"
	}
}

// results is the table of the package's documentation.
var results = map[providers.Reason]Result{
	providers.ReasonTruncated:         Success,
	providers.ReasonRefused:           Success,
	providers.ReasonContractViolation: Success,
	providers.ReasonNotSent:           Failure,
	providers.ReasonTimeout:           Failure,
	providers.ReasonConnectionLost:    Failure,
	providers.ReasonGatewayTimeout:    Failure,
	providers.ReasonServerError:       Failure,
	providers.ReasonRateLimited:       Failure,
	providers.ReasonMalformed:         Failure,
	providers.ReasonRedirect:          Failure,
	providers.ReasonUnauthorized:      Failure,
	providers.ReasonRejected:          Neither,
	providers.ReasonUnmappable:        Neither,
}

// ResultOf reads an outcome by the table of the package's documentation.
func ResultOf(outcome providers.Outcome) Result {
	if outcome.Verdict == providers.Succeeded {
		return Success
	}
	if result, ok := results[outcome.Reason]; ok {
		return result
	}
	if outcome.Verdict == providers.InDoubt {
		return Failure
	}
	return Neither
}
